// The line is cut, the daemon is killed, two windows look at one session.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { ask, between, browser, connected, hold, newSession, open, said, serve, vendor, wire } from "../harness.mjs";

let chrome;
let daemon;
let cable;
let model;
let held = {}; // a long answer stops in front of these words
const words = (n, word) => Array.from({ length: n }, (_, i) => `${word}${i} `);
const say = (words) => words.flatMap((word) => (word in held ? [held[word].until, word] : [word]));
before(async () => {
	cable = await wire();
	model = await vendor((prompt) => (prompt.includes("long") ? { thinking: say(words(400, "t")), text: say(words(400, "a")) } : { thinking: ["Hm."], text: ["Yes."] }));
	[chrome, daemon] = await Promise.all([browser(), serve({ config: `[serve]\nhosts = ["${cable.host}"]\n`, env: model.env })]);
});

const cutLine = /WebSocket connection|net::ERR_/; // what the browser itself says of a cut

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
	held = { "t100 ": hold(), "t200 ": hold(), "t300 ": hold() };
	const page = await open(chrome, cable.to(daemon.url));
	await page.fill("#in", "A long one");
	await page.press("#in", "Enter");
	await page.locator(".step.think.live .line").first().waitFor();
	// The nodes that are there stay: a flicker would be other nodes in their place.
	await page.evaluate(() => (window.kept = document.querySelector(".step.think")));
	for (const word of Object.values(held)) {
		cable.cut();
		word.go(); // while nobody is connected
		await page.waitForFunction(() => document.getElementById("line-state").textContent !== "Connected");
		await page.locator("#banner").waitFor();
		cable.mend();
		await page.click("#retry", { timeout: 300 }).catch(() => {}); // unless it came back by itself
		await connected(page);
	}
	assert.equal(await page.evaluate(() => window.kept.isConnected), true, "nothing was drawn anew");
	await whole(page);
	page.check(cutLine);
	await page.context().close();
});

test("a prompt without a connection is shown as sending, sent after the next one, and is a draft again after a reload", async () => {
	const page = await open(chrome, cable.to(daemon.url));
	await ask(page, "Before");
	const id = new URL(page.url()).hash.slice(2);
	const place = () => page.evaluate(() => document.querySelector(".said").getBoundingClientRect().top);
	const before = await place();
	cable.cut();
	await page.locator("#banner").waitFor();
	assert.equal(await place(), before, "what the reader may be about to click stays where it is");
	await page.fill("#in", "Typed without a connection");
	await page.press("#in", "Enter");
	await page.locator("#queue li", { hasText: "sending" }).getByText("Typed without a connection").waitFor();
	assert.equal(await page.evaluate((id) => localStorage.getItem(`thinkd.sending.${id}`), id), "Typed without a connection");
	cable.mend();
	await page.click("#retry", { timeout: 300 }).catch(() => {}); // unless it came back by itself
	await page.locator(".foot:visible").nth(1).waitFor();
	await page.locator("#queue").waitFor({ state: "hidden" });
	assert.equal((await said(page)).at(-1).said, "You: Typed without a connection");
	assert.equal(await page.evaluate((id) => localStorage.getItem(`thinkd.sending.${id}`), id), null);

	// As a page leaves it that ends before the daemon acknowledges.
	await page.evaluate((id) => localStorage.setItem(`thinkd.sending.${id}`, "Not acknowledged"), id);
	await page.reload();
	await page.waitForFunction(() => document.getElementById("in").value === "Not acknowledged");
	await page.reload();
	await page.waitForFunction(() => document.getElementById("in").value === "Not acknowledged");
	assert.equal(await page.evaluate((id) => localStorage.getItem(`thinkd.sending.${id}`), id), null);
	page.check(cutLine);
	await page.context().close();
});

test("a text that one tab still sends is no draft in another tab, until the first one ends", async () => {
	const page = await open(chrome, daemon.url);
	const line = await between(page, "session/prompt");
	await page.reload();
	await ask(page, "Before");
	const called = line.stop();
	await page.fill("#in", "On its way");
	await page.press("#in", "Enter");
	await called;
	const second = await open(chrome, page.url(), { context: page.context() });
	await second.locator(".foot:visible").waitFor();
	assert.equal(await second.inputValue("#in"), "");
	line.go();
	await second.locator(".foot:visible").nth(1).waitFor();
	assert.equal(await second.inputValue("#in"), "", "the first tab has sent it");

	// A tab that ends sends nothing more: now the text is a draft.
	await page.locator(".foot:visible").nth(1).waitFor();
	const again = line.stop();
	await page.fill("#in", "Not acknowledged");
	await page.press("#in", "Enter");
	await again;
	await second.reload();
	await second.locator(".foot:visible").nth(1).waitFor();
	assert.equal(await second.inputValue("#in"), "");
	page.check();
	await page.close();
	await second.waitForFunction(() => document.getElementById("in").value === "Not acknowledged");
	second.check();
	await second.context().close();
});

test("Enter while a prompt is on its way sends the next one after it", async () => {
	const page = await open(chrome, daemon.url);
	const line = await between(page, "session/prompt");
	await page.reload();
	await ask(page, "Before");
	const called = line.stop();
	await page.fill("#in", "First");
	await page.press("#in", "Enter");
	await called;
	await page.fill("#in", "Second");
	await page.press("#in", "Enter");
	assert.equal(await page.inputValue("#in"), "Second");
	line.go();
	await page.locator(".foot:visible").nth(2).waitFor();
	assert.deepEqual((await said(page)).map((turn) => turn.said), ["You: Before", "You: First", "You: Second"]);
	page.check();
	await page.context().close();
});

test("a page whose first connection fails works when the next one is open", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, "Before");
	let tries = 0;
	await page.routeWebSocket(/\/rpc$/, (socket) => {
		if (tries++ === 0) socket.close({ code: 1011 });
		else socket.connectToServer();
	});
	await page.reload();
	await page.locator(".foot:visible").waitFor();
	await ask(page, "After");
	assert.equal(tries, 2);
	page.check(/WebSocket connection|status of 426/); // the page asks whether its token is refused
	await page.context().close();
});

test("a prompt that is sent while another session opens goes to that one", async () => {
	const page = await open(chrome, cable.to(daemon.url));
	await ask(page, "In the first");
	await newSession(page);
	await ask(page, "In the second");
	cable.cut();
	await page.locator("#banner").waitFor();
	await page.locator("#sessions a", { hasText: "In the first" }).click();
	await page.fill("#in", "Where to?");
	await page.press("#in", "Enter");
	await page.locator("#queue li", { hasText: "sending" }).waitFor();
	cable.mend();
	await page.click("#retry", { timeout: 300 }).catch(() => {}); // unless it came back by itself
	await page.locator(".said", { hasText: "Where to?" }).waitFor();
	assert.deepEqual((await said(page)).map((t) => t.said), ["You: In the first", "You: Where to?"]);
	page.check(cutLine);
	await page.context().close();
});

test("two windows see the same, and the one that is loaded in mid-thought too", async () => {
	held = { "t200 ": hold() };
	const first = await open(chrome, daemon.url);
	const context = first.context();
	await first.fill("#in", "Another long one");
	await first.press("#in", "Enter");
	await first.locator(".step.think.live .line").first().waitFor();
	const token = new URLSearchParams(new URL(daemon.url).hash.slice(1)).get("token");
	const second = await open(chrome, `${daemon.origin}/#token=${token}`, { context });
	await second.locator("#sessions a.row", { hasText: "Another long one" }).first().click();
	await second.locator(".step.think.live .line").first().waitFor();
	held["t200 "].go();
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
	held = { "a200 ": hold() };
	const page = await open(chrome, daemon.url);
	await page.fill("#in", "A long one to kill");
	await page.press("#in", "Enter");
	await page.locator(".answer").waitFor();
	await daemon.restart();
	await connected(page);
	await page.locator(".foot .end", { hasText: "interrupted" }).waitFor();
	assert.equal(await page.locator(".turn:visible").count(), 1, "nothing is doubled");
	await page.fill("#in", "Are you there?");
	await page.press("#in", "Enter");
	await page.locator(".answer", { hasText: "Yes." }).waitFor();
	page.check(cutLine);
	await page.context().close();
});
