// The page's access to the daemon. Without TLS the browser keeps the token for this origin and port. Over TLS the daemon gives a cookie in
// exchange, which no script can read, and the browser only remembers that it has one.
import { keep, kept, onKept } from "./store.js";

const name = "token";
const inCookie = "cookie";
const secure = location.protocol === "https:";

/** What the client connects with; undefined: the page has no access. Without a token the browser sends its cookie. */
export function access(): { token?: string } | undefined {
	const token = kept(name);
	if (token === undefined) return undefined;
	return token === inCookie ? {} : { token };
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

let loggingOut: Promise<unknown> = Promise.resolve();

/** Ends the access of all tabs of this browser. */
export async function logOut(): Promise<void> {
	if (kept(name) === inCookie) await (loggingOut = fetch("/logout", { method: "POST" }));
	keep(name, undefined);
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
