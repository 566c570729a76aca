// The line is cut, the daemon is killed, two windows look at one session.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { browser, open, serve, said, vendor, wire } from "./harness.mjs";

let chrome;
let daemon;
let cable;
let model;
const words = (n, word) => Array.from({ length: n }, (_, i) => `${word}${i} `);
before(async () => {
	cable = await wire();
	model = await vendor((prompt) => (prompt.includes("long")
		? { thinking: words(400, "t"), text: words(400, "a"), every: 4, pause: prompt.includes("slow") ? 80 : 10 }
		: { thinking: ["Hm."], text: ["Yes."] }));
	[chrome, daemon] = await Promise.all([browser(), serve({ config: `[serve]\nhosts = ["${cable.host}"]\n`, env: model.env })]);
});
after(async () => {
	await chrome.close();
	await daemon.close();
	await model.close();
	await cable.close();
});

const cutLine = /WebSocket connection|ERR_CONNECTION/; // what the browser itself says of a cut

async function whole(page) {
	await page.locator(".foot:visible").last().waitFor();
	await page.waitForFunction(() => ![...document.querySelectorAll(".step.think")].at(-1).open); // it folds a moment after its end
	await page.locator(".step.think summary").last().click();
	await page.waitForFunction(() => document.querySelector(".step.think:last-of-type .thought")?.textContent.includes("t399"));
	const thought = await page.evaluate(() => [...document.querySelectorAll(".thought")].at(-1).textContent);
	assert.equal(thought.trim(), words(400, "t").join("").trim(), "the thought is whole, nothing twice");
	const { answer } = (await said(page)).at(-1);
	assert.equal(answer.trim().replace(/\s+/g, " "), words(400, "a").join("").trim(), "and so is the answer");
}

test("the socket is cut in mid-thought, and nothing is lost or doubled", async () => {
	const page = await open(chrome, cable.to(daemon.url));
	await page.fill("#in", "A long one");
	await page.press("#in", "Enter");
	await page.locator(".step.think.live .line").first().waitFor();
	// The nodes that are there stay: a flicker would be other nodes in their place.
	await page.evaluate(() => (window.kept = document.querySelector(".step.think")));
	for (let i = 0; i < 3; i++) {
		cable.cut();
		await page.locator("#banner").waitFor();
		await page.waitForTimeout(100);
		await page.click("#retry", { timeout: 300 }).catch(() => {}); // unless it came back by itself
		await page.waitForFunction(() => document.getElementById("line-state").textContent === "Connected");
		await page.waitForTimeout(150);
	}
	assert.equal(await page.evaluate(() => window.kept.isConnected), true, "nothing was drawn anew");
	await whole(page);
	page.check(cutLine);
	await page.context().close();
});

test("two windows see the same, and the one that is loaded in mid-thought too", async () => {
	const first = await open(chrome, daemon.url);
	const context = first.context();
	await first.fill("#in", "Another long one, slowly");
	await first.press("#in", "Enter");
	await first.locator(".step.think.live .line").first().waitFor();
	const token = new URLSearchParams(new URL(daemon.url).hash.slice(1)).get("token");
	const second = await open(chrome, `${daemon.origin}/#token=${token}`, { context });
	await second.locator("#sessions a.row", { hasText: "Another long one" }).first().click();
	await second.locator(".step.think.live .line").first().waitFor();
	await Promise.all([whole(first), whole(second)]);
	await second.fill("#in", "From the other window");
	await second.press("#in", "Enter");
	await first.locator(".said", { hasText: "From the other window" }).waitFor();
	for (const page of [first, second]) await page.locator(".turn:nth-child(2) .answer", { hasText: "Yes." }).waitFor();
	assert.deepEqual(await said(first), await said(second));
	first.check();
	second.check();
	await context.close();
});

test("the daemon is killed in mid-answer: what was sealed is there, the turn is interrupted, the page goes on", async () => {
	const page = await open(chrome, daemon.url);
	await page.fill("#in", "A long one to kill, slowly");
	await page.press("#in", "Enter");
	await page.locator(".answer").waitFor();
	await daemon.restart();
	await page.waitForFunction(() => document.getElementById("line-state").textContent === "Connected", null);
	await page.locator(".foot .end", { hasText: "interrupted" }).waitFor();
	assert.equal(await page.locator(".turn:visible").count(), 1, "nothing is doubled");
	await page.fill("#in", "Are you there?");
	await page.press("#in", "Enter");
	await page.locator(".answer", { hasText: "Yes." }).waitFor();
	page.check(cutLine);
	await page.context().close();
});
