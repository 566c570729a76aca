// The page's access to the daemon. Without TLS the browser keeps the token for this origin and port. Over TLS the daemon gives a cookie in
// exchange, which no script can read, and the browser only remembers that it has one. A person who signs in at the daemon's OpenID provider
// has such a cookie as well. It has to be renewed.
import { keep, kept, onKept } from "./store.js";

const name = "token";
const inCookie = "cookie";
const signedIn = "signed-in"; // in a cookie, too
const secure = location.protocol === "https:";

/** What the client connects with; undefined: the page has no access. Without a token the browser sends its cookie. */
export function access(): { token?: string } | undefined {
	const token = kept(name);
	if (token === undefined) return undefined;
	return token === inCookie || token === signedIn ? {} : { token };
}

/** The token in the page's address. */
export function givenToken(): string | undefined {
	return new URLSearchParams(location.hash.slice(1)).get("token") ?? undefined;
}

/** Removes the token from the page's address. Until the daemon has answered it stays there: a page that is loaded again needs it. */
export function hideToken(): void {
	if (!givenToken()) return; // the person has gone elsewhere meanwhile
	history.replaceState(null, "", "#/");
}

/** Lets this browser in with a token. Rejects with the daemon's reason. */
export async function logIn(token: string): Promise<void> {
	const headers = { Authorization: `Bearer ${token}` };
	const response = await fetch(secure ? "/login" : "/readyz", secure ? { method: "POST", headers } : { headers });
	if (response.status === 401 || response.status === 429) throw new Error((await response.text()).trim());
	keep(name, secure && response.ok ? inCookie : token);
}

/** Whether people can sign in on this page. */
export async function maySignIn(): Promise<boolean> {
	if (!secure) return false; // no cookie without TLS
	const response = await fetch("/oidc");
	return response.ok && ((await response.json()) as { sign_in?: boolean }).sign_in === true;
}

const attempt = "thinkd.sign-in"; // of this tab: where it was before

/** Leads this tab to the OpenID provider. Rejects with the daemon's reason. */
export async function signIn(): Promise<void> {
	const response = await fetch("/signin", { method: "POST" });
	if (!response.ok) throw new Error((await response.text()).trim());
	sessionStorage.setItem(attempt, location.hash.startsWith("#/") ? location.hash : "#/");
	location.assign(((await response.json()) as { url: string }).url);
}

const failures: Record<string, string> = {
	stale: "The sign-in was not begun in this tab, or took too long. Try again.",
	refused: "The sign-in was refused. The operator finds the reason in the daemon’s log.",
	unavailable: "Signing in is not possible at the moment. Try again. If that does not help, the operator finds the reason in the daemon’s log.",
};

/**
 * Notes what the daemon says in the page's address after a sign-in, and goes back to where the tab was. Returns why the sign-in failed. What
 * the address says counts only if this tab has begun a sign-in: anybody can make a link.
 */
export function afterSignIn(): string | undefined {
	const said = new URLSearchParams(location.hash.slice(1));
	const failed = said.get("sign-in");
	if (failed === null && !said.has("signed-in")) return undefined;
	const before = sessionStorage.getItem(attempt);
	sessionStorage.removeItem(attempt);
	history.replaceState(null, "", before ?? "#/");
	if (failed !== null) return failures[failed] ?? failures["refused"];
	if (before !== null) keep(name, signedIn);
	return undefined;
}

/** Whether this browser's access is a sign-in. */
export function isSignIn(): boolean {
	return kept(name) === signedIn;
}

/** Renews the sign-in if it is time. Returns for how many milliseconds it lasts; undefined: it is over. Rejects if the daemon cannot say. */
export async function renew(): Promise<number | undefined> {
	const response = await fetch("/signin/renew", { method: "POST" });
	if (response.status === 401) return undefined;
	if (!response.ok) throw new Error((await response.text()).trim());
	return ((await response.json()) as { expires_in_ms: number }).expires_in_ms;
}

let loggingOut: Promise<unknown> = Promise.resolve();

/** Ends the access of all tabs of this browser, and leads this tab on: where the person logs out at the OpenID provider too, if that is possible. */
export async function logOut(): Promise<void> {
	let there: string | undefined;
	if (kept(name) === inCookie || kept(name) === signedIn) {
		const ended = fetch("/logout", { method: "POST" });
		loggingOut = ended;
		const response = await ended;
		if (response.status === 200) there = ((await response.json()) as { url: string }).url;
	}
	keep(name, undefined);
	if (there) location.assign(there);
	else location.reload();
}

/** Forgets an access that the daemon refuses. */
export function forget(): void {
	keep(name, undefined);
}

/**
 * Calls back when another tab has logged out, or in. The connections of all tabs end before the one that logs out has the answer, which
 * removes the cookie: it calls back after that, because a page that reloads gives its requests up.
 */
export function onAccess(changed: () => void): void {
	onKept(name, () => void loggingOut.then(changed, changed));
}

/** Whether the daemon refuses this access, and not only the connection: a browser hides from a page why a WebSocket failed. */
export async function refused(): Promise<boolean> {
	const has = access();
	if (!has) return true;
	const { status } = await fetch("/rpc", { method: "POST", ...(has.token && { headers: { Authorization: `Bearer ${has.token}` } }) });
	return status === 401; // otherwise the daemon would say that this is no WebSocket
}
