// People sign in at the daemon's OpenID provider: the way there and back, the renewal, the end, and what goes wrong.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { ask, browser, connected, look, open, overTLS, provider, serve } from "../harness.mjs";

let chrome;
let issuer;
let daemon;
before(async () => {
	[chrome, issuer] = await Promise.all([browser(), provider({ people: ["ann", "bob"], secret: "s3cret" })]);
	daemon = await serve({ config: overTLS() + issuer.config });
});

const refusal = /status of 401|WebSocket connection/; // what the browser itself says of a refusal
const visit = (path = "/", options = {}) => open(chrome, daemon.origin + path, { ignoreHTTPSErrors: true, ...options });
const failure = (page, text) => page.locator("#unlock-why", { hasText: text }).waitFor();

async function signIn(page, user = "ann") {
	await page.locator("#sign-in").click();
	await page.getByRole("button", { name: user, exact: true }).click();
}

test("ann signs in and comes back to where she was, in all tabs; logging out ends that", async () => {
	const page = await visit("/#/settings");
	await page.locator("#sign-in").waitFor();
	assert.equal(await page.evaluate(() => document.activeElement.id), "sign-in");
	await look(page, "sign-in");
	await signIn(page);
	await connected(page);
	assert.equal(new URL(page.url()).hash, "#/settings");
	assert.ok(!/code|state|token/.test(page.url()), page.url());
	const [cookie, ...more] = await page.context().cookies(daemon.origin);
	assert.deepEqual([more, cookie.name, cookie.httpOnly, cookie.sameSite, cookie.secure], [[], "__Host-thinkd", true, "Strict", true]);
	assert.deepEqual(await page.evaluate(() => [document.cookie, localStorage.getItem("thinkd.token"), sessionStorage.length]), ["", "signed-in", 0], "no script sees a token");

	const second = await visit("/", { context: page.context() });
	await connected(second);
	await ask(second, "Which is later, March or May? [[sim: pace=0]]");
	await page.getByRole("button", { name: "Log out" }).click();
	await page.waitForURL(`${daemon.origin}/`); // the provider leads back; before, the page was locked
	for (const tab of [page, second]) await tab.locator("#sign-in").waitFor();
	assert.deepEqual([issuer.revoked, issuer.logouts], [["ann"], ["thinkd"]], "she is logged out at the provider");
	second.check(refusal);
	await second.close(); // it would notice the refusal first
	await page.context().addCookies([cookie]); // a copy of it is of no use
	await page.evaluate(() => localStorage.setItem("thinkd.token", "signed-in"));
	await page.reload();
	await failure(page, "Your sign-in has ended");
	page.check(refusal);
	await page.context().close();
});

test("a restart of the daemon ends no sign-in; bob does not see what ann has", async () => {
	const page = await visit();
	await signIn(page);
	await connected(page);
	await ask(page, "Of ann. [[sim: pace=0]]");
	await daemon.restart();
	await page.locator("#banner-text", { hasText: "Connected." }).waitFor();
	const other = await visit();
	await signIn(other, "bob");
	await connected(other);
	assert.equal(await other.locator("#sessions a").count(), 0);
	for (const tab of [page, other]) tab.check(/status of 401|WebSocket connection|ERR_CONNECTION/);
	await page.context().close();
	await other.context().close();
});

test("a sign-in is renewed in time, so that the connection stays; when the provider renews no more, the page says so", async () => {
	issuer.set({ lasts: -48 }); // with the minute that clocks may differ: 12 s. The page renews it after 6.5 s, and a busy machine may be late
	const page = await visit();
	await signIn(page);
	await connected(page);
	await page.evaluate(() => {
		window.states = [];
		new MutationObserver(() => window.states.push(document.getElementById("line-state").textContent)).observe(document.getElementById("line-state"), { childList: true, characterData: true, subtree: true });
	});
	for (let i = 0; i < 2; i++) await issuer.renewal();
	assert.deepEqual(await page.evaluate(() => window.states.filter((s) => s !== "Connected")), [], "it was connected all the time");

	// The next one is refused: the daemon closes the connection with 4001 when the sign-in ends, and the page asks to sign in again.
	issuer.set({ refuses: true });
	await failure(page, "Your sign-in has ended. Sign in again.");
	issuer.set({ refuses: false, lasts: 3600 });
	await signIn(page);
	await connected(page);
	page.check(refusal);
	await page.context().close();
});

test("whoever cancels, or follows somebody's link, gets no access, and stays on this page", async () => {
	const page = await visit();
	await page.locator("#sign-in").click();
	await page.getByRole("button", { name: "Cancel" }).click();
	await failure(page, "The sign-in was refused.");
	await look(page, "sign-in-refused");
	for (const path of ["/signin/callback?code=c&state=s&redirect_uri=https://evil.example/&next=//evil.example", "/#signed-in"]) {
		await page.goto(daemon.origin + path);
		await page.locator("#sign-in").waitFor();
		assert.equal(new URL(page.url()).origin, daemon.origin);
		assert.equal(await page.evaluate(() => localStorage.getItem("thinkd.token")), null);
	}
	// The provider's answer to somebody else's attempt.
	const other = await visit();
	issuer.set({ asks: true });
	await signIn(other);
	const theirs = await other.getByRole("link", { name: "Continue" }).getAttribute("href");
	issuer.set({ asks: false });
	await page.goto(theirs);
	await failure(page, "was not begun in this tab");
	// In the browser that began it, it counts, once.
	await other.getByRole("link", { name: "Continue" }).click();
	await connected(other);
	const again = await other.context().request.get(theirs, { maxRedirects: 0, ignoreHTTPSErrors: true });
	assert.equal(again.headers()["location"], "/#sign-in=stale");
	page.check(refusal);
	other.check(refusal);
	await page.context().close();
	await other.context().close();
});

test("ann shares a session with bob, who sees whose it is, and takes it back", async () => {
	const ann = await visit();
	await signIn(ann);
	await connected(ann);
	await ann.fill("#in", "The shared question. [[sim: pace=0]]");
	await ann.press("#in", "Enter");
	await ann.locator(".foot:visible").first().waitFor();
	const bob = await visit();
	await signIn(bob, "bob");
	await connected(bob);
	assert.equal(await bob.locator("#sessions a").count(), 0);

	await ann.click("#menu-session");
	await ann.getByRole("button", { name: "Share…" }).click();
	await ann.getByText("Nobody yet").waitFor();
	await ann.getByLabel("User", { exact: true }).fill("ann");
	await ann.keyboard.press("Enter");
	await ann.locator(".pop [role=alert]:visible").waitFor(); // not with oneself
	await ann.getByLabel("User", { exact: true }).fill("bob");
	await ann.getByLabel("Access").selectOption("write");
	await ann.keyboard.press("Tab");
	await ann.getByRole("button", { name: "Share", exact: true }).click();
	await ann.locator(".granted", { hasText: "bob can read and write" }).waitFor();
	await look(ann, "share");

	const row = bob.locator("#sessions a", { hasText: "ann" });
	await row.waitFor(); // without a reload
	await look(bob, "shared");
	await row.click();
	await bob.locator(".answer").first().waitFor();
	await bob.click("#menu-session");
	await bob.getByText("Of ann, who shares it with you").waitFor();
	assert.equal(await bob.getByRole("button", { name: "Delete…" }).count(), 0);
	await bob.keyboard.press("Escape");
	const offered = async (...names) => {
		const all = ["#pick-model", "#pick-level", "#setup", "#in", "#ways", ".turn .foot [aria-label='Fork from here']", ".turn .foot [aria-label='Edit the prompt']", ".turn .foot [aria-label='Ask again']", ".turn .foot [aria-label='Copy answer']"];
		for (const name of all) await bob.locator(name).first().waitFor({ state: names.includes(name) ? "visible" : "hidden" });
	};
	await bob.locator("#guest", { hasText: "ann shares this session with you. Turns count as theirs." }).waitFor();
	await offered("#in", "#ways", ".turn .foot [aria-label='Ask again']", ".turn .foot [aria-label='Copy answer']");
	await look(bob, "shared-write");
	await bob.fill("#in", "A prompt of bob. [[sim: pace=0]]");
	await bob.press("#in", "Enter");
	await ann.locator(".said", { hasText: "A prompt of bob." }).waitFor();

	// She lets him read only: his page changes without a reload.
	await ann.getByLabel("User", { exact: true }).fill("bob");
	await ann.getByLabel("Access").selectOption("read");
	await ann.getByRole("button", { name: "Share", exact: true }).click();
	await bob.locator("#guest", { hasText: "for reading" }).waitFor();
	await offered(".turn .foot [aria-label='Copy answer']");
	await look(bob, "shared-read");
	await bob.goto(`${daemon.origin}/`);
	await connected(bob);
	await bob.locator("#pick-model").waitFor(); // of a new session of his own
	await bob.locator("#guest").waitFor({ state: "hidden" });

	await ann.getByRole("button", { name: "End", exact: true }).click();
	await ann.getByText("Nobody yet").waitFor();
	await row.waitFor({ state: "detached" });
	ann.check(refusal);
	bob.check(/status of 401|WebSocket connection|not found|no such session/);
	await ann.context().close();
	await bob.context().close();
});
