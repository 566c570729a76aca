// A long thought, a long answer, a long session: the page stays quick and small. The figures are printed. ALONE=1, where nothing
// runs in parallel, makes both several times as long and judges what takes time.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { browser, frame, open, serve, vendor } from "./harness.mjs";
import { frames, measures, typing } from "./measure.mjs";

const alone = process.env.ALONE === "1";
const deltas = alone ? 50_000 : 10_000;
const turns = alone ? 1000 : 250; // two messages each

let chrome;
let daemon;
let model;
before(async () => {
	const half = (word) => Array.from({ length: deltas / 2 }, (_, i) => `${word}${i}${i % 40 === 39 ? "\n\n" : " "}`);
	model = await vendor((prompt) => (prompt.includes("thousands of words")
		? { thinking: half("t"), text: half("a"), every: 100, pause: 16 }
		: { thinking: ["Hm."], text: ["It is *so*."] }));
	[chrome, daemon] = await Promise.all([browser(), serve({ env: model.env })]);
});

test("many deltas in one turn", async () => {
	const page = await open(chrome, daemon.url);
	await page.fill("#in", "Say thousands of words");
	const before = await measures(page);
	const began = Date.now();
	await page.press("#in", "Enter");
	await page.locator(".step.think.live").waitFor();
	const keys = await typing(page, () => page.locator(".foot:visible").count());
	const seconds = (Date.now() - began) / 1000;
	const after = await measures(page);
	await frame(page);
	const text = await page.evaluate(() => [...document.querySelectorAll(".answer")].map((a) => a.textContent).join(""));
	assert.ok(text.includes(`a${deltas / 2 - 1}`), "the answer is whole");
	const rate = await frames(page);
	console.log(`${deltas} deltas in ${seconds.toFixed(1)} s: ${keys.text}; heap ${before.heap.toFixed(1)} to ${after.heap.toFixed(1)} MiB, ${before.nodes} to ${after.nodes} nodes; idle ${rate.toFixed(0)} frames a second`);
	if (alone) assert.equal(keys.share, 0, keys.text);
	if (alone) assert.ok(rate > 55, `${rate} frames a second`);
	assert.ok(after.heap < 64, `${after.heap} MiB of heap`);
	page.check();
	await page.context().close();
});

test("a session of many messages", async () => {
	const rpc = await daemon.rpc();
	const { session_id } = await rpc.call("session/new", { title: "A long session" });
	for (let i = 0; i < turns; i++) {
		const { turn_id } = await rpc.call("session/prompt", { session_id, text: `Question ${i}` });
		await rpc.call("turn/wait", { session_id, turn_id });
	}
	await rpc.close();
	const page = await open(chrome, daemon.url);
	const began = Date.now();
	await page.locator("#sessions a.row", { hasText: "A long session" }).click();
	await page.locator(".said", { hasText: `Question ${turns - 1}` }).waitFor();
	const shown = Date.now() - began;
	const first = await measures(page);
	// Up to the very first question, as a reader would go.
	await page.waitForFunction((turns) => {
		document.getElementById("scroll").scrollTop = 0;
		return document.querySelectorAll(".turn").length >= turns;
	}, turns, { polling: 20 });
	const all = await measures(page);
	const order = await page.evaluate(() => [...document.querySelectorAll(".said p")].map((p) => Number(p.textContent.split(" ")[1])));
	assert.deepEqual(order, Array.from({ length: turns }, (_, i) => i), "every question once, in order");
	const rate = await frames(page);
	let strokes = 0;
	const keys = await typing(page, async () => strokes++ > 10);
	console.log(`${2 * turns} messages: shown after ${shown} ms; heap ${first.heap.toFixed(1)} MiB for the newest, ${all.heap.toFixed(1)} for all, ${all.nodes} nodes; idle ${rate.toFixed(0)} frames a second; ${keys.text}`);
	if (alone) assert.ok(rate > 55, `${rate} frames a second`);
	if (alone) assert.equal(keys.share, 0, keys.text);
	assert.ok(all.heap < 96, `${all.heap} MiB of heap`);
	page.check();
	await page.context().close();
});
