// Who gets in: the tabs of a browser, a wrong token, a lost one, and the way out.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { ask, browser, connected, look, open, overTLS, serve } from "../harness.mjs";

let chrome;
let daemon;
before(async () => {
	[chrome, daemon] = await Promise.all([browser(), serve()]);
});

const refusal = /status of 401|status of 405|WebSocket connection/; // what the browser itself says of a refusal
const token = () => new URLSearchParams(new URL(daemon.url).hash.slice(1)).get("token");

test("a second tab and a bookmark work without the token, and logging out ends both", async () => {
	const first = await open(chrome, daemon.url);
	await ask(first, "Which is later, March or May? [[sim: pace=0]]");
	const bookmark = first.url();
	assert.doesNotMatch(bookmark, /token/);
	const second = await open(chrome, bookmark, { context: first.context() });
	await second.locator(".turn .answer").waitFor();
	await second.goto(`${daemon.origin}/#/settings`);
	await second.getByRole("button", { name: "Log out" }).click();
	for (const page of [first, second]) {
		await page.locator("#locked").waitFor();
		assert.equal(await page.locator("#in").isVisible(), false, "no field swallows text");
		assert.equal(await page.textContent("#line-state"), "No access");
		assert.deepEqual(await page.evaluate(() => Object.keys(localStorage).filter((k) => k.endsWith("token"))), []);
	}
	await look(first, "locked");
	first.check();
	second.check();
	await first.context().close();
});

test("a click before the token is exchanged is not lost", async () => {
	const page = await open(chrome, "about:blank", { viewport: { width: 390, height: 844 } });
	const asked = new Promise((resolve) => void page.route("**/readyz", resolve));
	await page.goto(daemon.url);
	const route = await asked;
	assert.equal(await page.evaluate(() => document.body.inert), true);
	const clicked = page.getByRole("button", { name: "Sessions", exact: true }).click();
	await route.continue();
	await clicked;
	await page.locator("#find").waitFor();
	page.check();
	await page.context().close();
});

test("a token can be pasted, also with its address; a wrong one is refused with the reason", async () => {
	const page = await open(chrome, `${daemon.origin}/`);
	await page.fill("#unlock-token", "wrong");
	await page.keyboard.press("Enter");
	await page.locator("#unlock-why", { hasText: "the token is missing or wrong" }).waitFor();
	await page.fill("#unlock-token", daemon.url);
	await page.keyboard.press("Enter");
	await connected(page);
	await page.reload();
	await connected(page);

	// The printed address, opened in the tab that is locked: the browser does not load the page again for another fragment.
	await page.evaluate(() => localStorage.removeItem("thinkd.token"));
	await page.goto(`${daemon.origin}/#/`);
	await page.reload();
	await page.locator("#locked").waitFor();
	await page.evaluate((url) => (location.href = url) && undefined, daemon.url);
	await connected(page);
	assert.doesNotMatch(page.url(), /token/);
	page.check(refusal);
	await page.context().close();
});

test("a token that was replaced locks the page, which says so", async () => {
	const page = await open(chrome, daemon.url);
	await connected(page);
	await page.evaluate(() => localStorage.setItem("thinkd.token", "b2xk"));
	await page.reload();
	await page.locator("#unlock-why", { hasText: "not valid any more" }).waitFor();
	await page.fill("#unlock-token", token());
	await page.keyboard.press("Enter");
	await connected(page);
	page.check(refusal);
	await page.context().close();
});

/** Waits until a list is empty: a browser removes a cookie a moment after the response that says so. */
async function expectNone(list) {
	const until = Date.now() + 60_000;
	while ((await list()).length > 0) {
		assert.ok(Date.now() < until, "the list does not become empty");
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
}

/** Holds the responses to a method until release() is called. */
async function hold(context, method) {
	let release;
	const released = new Promise((resolve) => (release = resolve));
	await context.routeWebSocket(/\/rpc$/, (socket) => {
		const server = socket.connectToServer();
		const held = new Set();
		socket.onMessage((text) => {
			for (const call of [JSON.parse(text)].flat()) if (call.method === method) held.add(call.id);
			server.send(text);
		});
		server.onMessage(async (text) => {
			if ([JSON.parse(text)].flat().some((m) => held.has(m.id))) await released;
			socket.send(text);
		});
	});
	return release;
}

test("what is done while the page starts is not lost", async () => {
	const context = await chrome.newContext({ viewport: { width: 1280, height: 800 } });
	const release = await hold(context, "models/list");
	const page = await open(chrome, daemon.url, { context });
	await page.locator("#in[disabled]").waitFor(); // it takes no text before it is known whose draft that would be
	await connected(page);
	await page.click("#keys");
	await page.locator(".keylist").waitFor();
	release();
	await page.locator("#hello").waitFor();
	await page.locator("#in:enabled").waitFor();
	assert.equal(await page.locator(".keylist").isVisible(), true, "the end of the start closes nothing");
	page.check();
	await context.close();
});

test("a page that is loaded again before the daemon has answered keeps its token", async () => {
	const context = await chrome.newContext({ viewport: { width: 1280, height: 800 } });
	let come;
	const called = new Promise((resolve) => (come = resolve));
	await context.route("**/readyz", () => come(), { times: 1 }); // and it never answers
	const page = await open(chrome, "about:blank", { context });
	await page.goto(daemon.url);
	await called;
	await page.reload();
	await connected(page);
	assert.doesNotMatch(page.url(), /token/);
	page.check();
	await context.close();
});

test("after a key is stored nothing says that there is none", async () => {
	const page = await open(chrome, daemon.url);
	await page.getByText("There is no key yet").waitFor();
	await page.click("#add-key");
	const row = page.locator(".keylist li", { hasText: "anthropic" }).first();
	await row.getByRole("button").click();
	await page.getByLabel("Key for anthropic").fill("sk-ant-of-the-test");
	await page.keyboard.press("Enter");
	await row.getByText("ready").waitFor();
	await page.locator("#keys-state", { hasText: "1 ready" }).waitFor();
	await page.getByText("There is no key yet").waitFor({ state: "hidden" });
	await page.keyboard.press("Escape");
	assert.match(await page.innerText("#model-now"), /Claude/, "and the default model is one of the key's");
	page.check();
	await page.context().close();
});

test("over TLS the browser has a cookie that no script can read, until it logs out", async () => {
	const secure = await serve({ config: overTLS() });
	const page = await open(chrome, secure.url, { ignoreHTTPSErrors: true });
	await connected(page);
	const cookies = () => page.context().cookies();
	const [cookie, ...more] = await cookies();
	assert.deepEqual(more, []);
	const { name, httpOnly, secure: onlyTLS, sameSite, path, domain } = cookie;
	assert.deepEqual({ name, httpOnly, onlyTLS, sameSite, path, domain }, { name: "__Host-thinkd", httpOnly: true, onlyTLS: true, sameSite: "Strict", path: "/", domain: "127.0.0.1" });
	assert.equal(await page.evaluate(() => document.cookie), "");
	const given = new URLSearchParams(new URL(secure.url).hash.slice(1)).get("token");
	assert.ok(!cookie.value.includes(given) && !(await page.evaluate(() => JSON.stringify(localStorage))).includes(given), "neither the cookie nor the storage has the token");

	// A second tab and a restart of the daemon need no token; another browser does.
	const second = await open(chrome, `${secure.origin}/`, { context: page.context() });
	await connected(second);
	await ask(second, "Which is later? [[sim: pace=0]]");
	await secure.restart();
	for (const tab of [page, second]) {
		await tab.locator("#banner-text", { hasText: "Connected." }).waitFor();
		await connected(tab);
	}
	const stranger = await open(chrome, `${secure.origin}/`, { ignoreHTTPSErrors: true });
	await stranger.locator("#locked").waitFor();

	await page.goto(`${secure.origin}/#/settings`);
	// The other tab may forget its access before the answer arrives. The answer still removes the cookie.
	await page.evaluate(() => (window.noticed = new Promise((resolve) => addEventListener("storage", () => resolve(), { once: true }))) && undefined);
	await page.route("**/logout", async (route) => {
		await second.evaluate(() => localStorage.removeItem("thinkd.token"));
		await page.evaluate(() => window.noticed);
		for (let i = 0; i < 20; i++) await page.evaluate(() => fetch("/readyz").then((r) => r.text())); // a page that reloads now fails here
		await route.continue();
	});
	await page.getByRole("button", { name: "Log out" }).click();
	for (const tab of [page, second]) await tab.locator("#locked").waitFor();
	await expectNone(cookies);
	// The cookie is of no use any more, also to somebody who has a copy.
	await second.close(); // it would notice the refusal first
	await page.context().addCookies([cookie]);
	await page.evaluate(() => localStorage.setItem("thinkd.token", "cookie"));
	await page.reload();
	await page.locator("#unlock-why", { hasText: "not valid any more" }).waitFor();
	for (const tab of [page, second, stranger]) tab.check(/status of 401|WebSocket connection|ERR_CONNECTION/);
	await page.context().close();
	await stranger.context().close();
});
