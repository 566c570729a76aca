// What a user notices of a page that is not visible: a badge in its title, and notifications once they are allowed.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { ask, browser, look, newSession, open, serve } from "../harness.mjs";

let chrome;
let daemon;
before(async () => {
	[chrome, daemon] = await Promise.all([browser(), serve()]);
});

/** Opens the page with a Notification that only records, and with a switch for whether the page is visible. */
async function watched() {
	const context = await chrome.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light" });
	await context.addInitScript(() => {
		window.notified = [];
		window.answer = "granted";
		window.Notification = class {
			static permission = localStorage.permission ?? "default";
			static async requestPermission() {
				return (localStorage.permission = this.permission = window.answer);
			}
			constructor(title, { body, tag }) {
				window.notified.push({ title, body, tag, notification: this });
			}
			close() {
				this.closed = true;
			}
		};
		let hidden = false;
		Object.defineProperty(document, "hidden", { get: () => hidden });
		window.hide = (now) => {
			hidden = now;
			document.dispatchEvent(new Event("visibilitychange"));
		};
	});
	const page = await open(chrome, daemon.url, { context });
	await page.locator("#hello").waitFor();
	return page;
}
const notified = (page) => page.evaluate(() => window.notified.map(({ title, body }) => ({ title, body })));

test("a turn that ends while the page is hidden is counted in the title, and notified only when the user wants it", async () => {
	const page = await watched();
	await ask(page, "One? [[sim: pace=0]]");
	await page.evaluate(() => window.hide(true));
	await page.fill("#in", "Two? [[sim: pace=0]]");
	await page.press("#in", "Enter");
	await page.waitForFunction(() => document.title.startsWith("(1) "));
	assert.deepEqual(await notified(page), [], "nobody has allowed them");
	await page.evaluate(() => window.hide(false));
	await page.waitForFunction(() => !document.title.startsWith("("));

	// A browser that refuses leaves the switch off.
	await page.click("#to-settings");
	const bell = page.getByLabel("Notifications");
	await page.evaluate(() => (window.answer = "default"));
	await bell.click();
	await page.waitForFunction(() => !document.querySelector("[aria-label=Notifications]").checked);
	await page.evaluate(() => (window.answer = "granted"));
	await bell.click();
	await page.waitForFunction(() => localStorage.permission === "granted");
	await look(page, "notifications");
	await page.reload();
	await bell.waitFor();
	assert.ok(await bell.isChecked(), "after a reload too");

	await newSession(page);
	await ask(page, "Three? [[sim: pace=0]]");
	assert.deepEqual(await notified(page), [], "the page was visible");
	await page.evaluate(() => window.hide(true));
	await page.fill("#in", "Four? [[sim: pace=0]]");
	await page.press("#in", "Enter");
	await page.waitForFunction(() => window.notified.length === 1);
	const [{ title, body }] = await notified(page);
	assert.match(title, /^Three\?/);
	assert.notEqual(body, "");
	assert.ok(await page.evaluate(() => (window.notified[0].notification.onclick(), window.notified[0].notification.closed)), "a click closes it");
	page.check();
	await page.context().close();
});

test("a question that waits is notified", async () => {
	const page = await watched();
	await page.click("#to-settings");
	await page.getByLabel("Notifications").click();
	await page.waitForFunction(() => localStorage.permission === "granted");
	await newSession(page);
	await page.evaluate(() => window.hide(true));
	await page.click("#try-tool");
	await page.waitForFunction(() => window.notified.length === 1);
	assert.equal((await notified(page))[0].body, "A question waits for you");
	await page.waitForFunction(() => document.title.startsWith("(1) Asks you: "));
	page.check();
	await page.context().close();
});
