// Who gets in: the tabs of a browser, a wrong token, a lost one, and the way out.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { ask, browser, look, open, serve } from "./harness.mjs";

let chrome;
let daemon;
before(async () => {
	[chrome, daemon] = await Promise.all([browser(), serve()]);
});
after(async () => {
	await chrome.close();
	await daemon.close();
});

const refusal = /status of 401|status of 405|WebSocket connection/; // what the browser itself says of a refusal
const connected = (page) => page.waitForFunction(() => document.getElementById("line-state").textContent === "Connected");
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
		assert.deepEqual(await page.evaluate(() => Object.keys(localStorage).filter((k) => k.endsWith("token"))), []);
	}
	await look(first, "locked", true);
	first.check();
	second.check();
	await first.context().close();
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
