// What the model gets of a long conversation, and what the next prompt costs: summaries that open, pins, undo, the quote.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { before, test } from "node:test";

import { ask, browser, drawn, look, open, serve, vendor } from "../harness.mjs";

let chrome;
let daemon;
let model;
before(async () => {
	model = await vendor((prompt) => ({ text: [prompt.includes("ummar") ? "Goal: compare dates." : `${"The second. ".repeat(200)}`] }));
	[chrome, daemon] = await Promise.all([browser(), serve({ env: model.env })]);
});

test("a summary opens: its text, what it covers, a pin, undo, and a fork before it", async () => {
	const page = await open(chrome, daemon.url);
	for (const month of ["March", "April", "May", "June"]) await ask(page, `Which is later, ${month} or July? ${"Think well. ".repeat(300)}`);
	const pin = page.locator(".turn").first().getByRole("button", { name: "Pin the prompt" });
	await pin.click();
	await page.waitForFunction(() => document.querySelector(".turn .foot button[aria-pressed=true]"));
	await page.click("#menu-session");
	await page.getByRole("button", { name: "Summarise earlier turns" }).click();
	const line = page.locator(".divider");
	await line.waitFor();
	assert.match(await drawn(line), /^Compacted[\s\S]*tok[\s\S]*\d+ messages/);
	await line.locator("summary").press("Enter"); // a click can miss while the page scrolls to its end
	await line.getByText(/messages are covered by this summary\. Written by Claude Opus 5\.5 for \$/).waitFor();
	await line.locator(".covers li", { hasText: "March or July" }).getByText("pinned: kept as it is").waitFor();
	await line.getByRole("button", { name: "Pin this message", exact: true }).first().click();
	await line.locator(".covers [aria-pressed=true]").nth(1).waitFor();
	await look(page, "summary");
	await page.reload();
	await line.waitFor();
	await line.locator("summary").press("Enter");
	await line.getByRole("button", { name: "Undo" }).click();
	await line.getByText("Compacted, undone").waitFor();
	assert.equal(await line.getByRole("button", { name: "Undo" }).count(), 0);
	const here = page.url();
	await line.getByRole("button", { name: "Fork before it" }).click();
	await page.waitForFunction((url) => location.href !== url, here);
	await line.waitFor({ state: "detached" }); // the fork has no summary; until it is drawn, the session before is there
	await page.locator(".turn").nth(3).waitFor();
	page.check();
	await page.context().close();
});

test("an expensive prompt says what it costs before it is sent", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, `Which is later, May or July? ${"Think well. ".repeat(2000)}`);
	await page.evaluate(() => localStorage.setItem("thinkd.ask_above", "0.001"));
	const line = page.locator("#quote");
	await page.fill("#in", "And August?");
	await line.waitFor();
	assert.match(await drawn(line), /: \$[\d.]+( to \$[\d.]+)?\./);
	await line.getByRole("button", { name: "Details" }).click();
	const box = page.locator(".pop", { hasText: "What the next prompt costs" });
	assert.match(await drawn(box), /Conversation, tokens\s+[\d,]+[\s\S]*Likely cost of the turn\s+\$/);
	await look(page, "quote");
	await page.keyboard.press("Escape");
	await page.fill("#in", "");
	await line.waitFor({ state: "hidden" });
	page.check();
	await page.context().close();
});

test("a turn that goes on with another model says from where, to where, and at what price", async () => {
	let calls = 0;
	const refusing = createServer((_, response) => {
		calls++;
		response.writeHead(401, { "Content-Type": "application/json" });
		response.end('{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}');
	});
	refusing.listen(0, "127.0.0.1");
	await once(refusing, "listening");
	const other = await serve({ config: 'fallbacks = [{ model = "sim/gpt" }]\n', env: { ANTHROPIC_API_KEY: "sk-void", ANTHROPIC_BASE_URL: `http://127.0.0.1:${refusing.address().port}` } });
	const page = await open(chrome, other.url);
	await ask(page, "Which is later, May or June? [[sim: pace=0 thinking=5 text=20]]");
	const step = page.locator(".step", { hasText: "Fell back" });
	await step.waitFor();
	assert.match(await drawn(step), /Fell back[\s\S]*From, to\s+Claude Opus 5\.5, \w+ → .*GPT.*, \w+[\s\S]*Return/);
	await page.locator(".by", { hasText: "not Claude Opus 5.5" }).waitFor();
	await page.reload();
	await step.waitFor();
	await page.locator(".foot:visible").waitFor(); // the turn is drawn to its end
	await page.locator(".by", { hasText: "not Claude Opus 5.5" }).waitFor();
	assert.equal(await step.getAttribute("open"), null, "news no more");
	await step.locator("summary").click();
	await step.getByText("From, to").waitFor();
	assert.match(await drawn(step), /^Fell back[\s\S]*invalid x-api-key[\s\S]*From, to\s+Claude Opus 5\.5, \w+ → .*GPT.*, \w+\s+Return/);
	assert.equal(await step.count(), 1);
	await page.locator(".by", { hasText: "not Claude Opus 5.5" }).waitFor();
	await look(page, "fell-back");
	assert.equal(await page.locator(".turn .step, .turn .answer").first().getAttribute("class"), "step warn", "in front of the answer");

	// The session stays with the fallback, until a person says that the first choice is to be asked again.
	await ask(page, "Two [[sim: pace=0]]");
	const before = calls;
	await step.first().getByRole("button", { name: "Go back now" }).click();
	assert.match(await page.innerText("#model-now"), /^Next turn: Claude Opus 5\.5/);
	await ask(page, "Three [[sim: pace=0]]");
	assert.equal(calls, before + 1);
	await page.locator(".step.bad", { hasText: "invalid x-api-key" }).last().waitFor();
	page.check();
	await page.context().close();
	await other.close();
	refusing.closeAllConnections();
	refusing.close();
});
