// Side questions, and messages that are added without a model call.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { accessible, ask, browser, drawn, look, open, said, serve, shot } from "../harness.mjs";

let chrome;
let daemon;
before(async () => {
	[chrome, daemon] = await Promise.all([browser(), serve()]);
});

test("a side question during a turn: answered, kept, dismissed, and nothing is recorded", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, "Which is later, March or May? [[sim: pace=0 thinking=5 text=20]]");
	await page.fill("#in", "Count slowly. [[sim: thinking=4000 pace=5]]");
	await page.press("#in", "Enter");
	await page.locator(".step.think.live").waitFor();

	await page.fill("#in", "What is before May? [[sim: pace=0 thinking=30 text=60]]");
	await page.press("#in", "Alt+Enter");
	const card = page.locator(".aside");
	await card.getByRole("button", { name: "Keep in a fork" }).waitFor();
	assert.equal(await page.inputValue("#in"), "", "the text was taken");
	assert.equal(await page.evaluate(() => document.activeElement.id), "in", "the focus stays in the composer");
	assert.match(await drawn(card), /Side question[\s\S]*What is before May\?[\s\S]*Thought[\s\S]*not recorded[\s\S]*% of the input was cached/);
	assert.ok((await drawn(card.locator(".answer"))).length > 20, "the answer");
	assert.ok(await page.locator("#stop").isVisible(), "the turn still runs");
	assert.equal(await page.innerText("#say"), "Side question answered");
	await card.locator("summary").click();
	await card.locator(".thought .line").first().waitFor();
	await look(page, "aside");

	// Kept: asked again in a fork of the turns that have ended.
	const session = new URL(page.url()).hash;
	await card.getByRole("button", { name: "Keep in a fork" }).click();
	const fork = card.getByRole("button", { name: "Open the fork" });
	await fork.waitFor();
	await fork.click();
	await page.waitForFunction((hash) => location.hash !== hash, session);
	await page.locator(".foot:visible").nth(1).waitFor();
	assert.deepEqual((await said(page)).map((t) => t.said.replace(/ *\[\[.*/, "")), ["You: Which is later, March or May?", "You: What is before May?"]);
	assert.ok(await page.locator("#asides").isHidden(), "the fork has no side question");

	// Back in the session it is still there. Dismissed from the keyboard, it is gone, and a reload finds nothing of it.
	await page.goBack();
	await fork.waitFor();
	await fork.focus();
	await page.keyboard.press("Escape");
	await page.locator("#asides").waitFor({ state: "hidden" });
	assert.equal(await page.evaluate(() => document.activeElement.id), "in", "the focus goes to the composer");
	assert.ok(await page.locator("#stop").isVisible(), "Escape in the card does not stop the turn");
	await page.reload();
	await page.locator(".step.think.live").waitFor();
	assert.ok(!(await page.innerText("#turns")).includes("What is before May?"), "it is not recorded");
	page.check();
	await page.context().close();
});

test("side questions: stopped, refused, one after another", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, "Which is later, June or July? [[sim: pace=0]]");
	const side = async (text) => {
		await page.fill("#in", text);
		await page.press("#in", "Alt+Enter");
	};
	await side("Slowly? [[sim: pace=5 thinking=0 text=4000]]");
	const first = page.locator(".aside").first();
	await first.locator(".answer .tail:not(:empty)").waitFor();
	await shot(page, "aside-live");
	await accessible(page, "a side question that is answered");
	await first.getByRole("button", { name: "Stop" }).click();
	await first.getByText("stopped").waitFor();
	assert.equal(await page.evaluate(() => document.activeElement.textContent), "Ask again", "the focus stays in the card");
	assert.ok((await drawn(first.locator(".answer"))).length > 0, "what came stays");

	await side("Refused? [[sim: fault=overloaded times=1]]");
	const second = page.locator(".aside").nth(1);
	await second.getByRole("button", { name: "Ask again" }).waitFor();
	assert.match(await drawn(second.locator(".warnline")), /./, "the reason");
	await shot(page, "aside-refused");
	await second.getByRole("button", { name: "Ask again" }).click();
	await second.getByRole("button", { name: "Ask again" }).waitFor({ state: "hidden" });
	await second.getByText("not recorded").waitFor();
	await second.getByRole("button", { name: "Dismiss this side question" }).click();
	await first.getByRole("button", { name: "Dismiss this side question" }).click();
	await page.locator("#asides").waitFor({ state: "hidden" });
	page.check();
	await page.context().close();
});

test("a message without an answer, from the keyboard: at once, and behind a turn", async () => {
	const page = await open(chrome, daemon.url);
	const add = async (text) => {
		await page.fill("#in", text);
		await page.focus("#ways");
		await page.keyboard.press("Enter");
		await page.locator(".ways .opt").first().waitFor();
		const at = await page.locator(".ways .opt").evaluateAll((all) => all.findIndex((way) => way.textContent.startsWith("Add without an answer")));
		for (let n = 0; n < at; n++) await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Enter");
	};
	await add("The tests are in cart_test.go.");
	await page.locator(".turn", { hasText: "The tests are in cart_test.go." }).getByText("Added. The next prompt sends it.").waitFor();
	assert.equal(await page.evaluate(() => document.activeElement.id), "in", "the focus is in the composer");
	assert.equal(await page.locator(".by:visible").count(), 0, "no model was called");

	await page.fill("#in", "Run them. [[sim: thinking=4000 pace=5]]");
	await page.press("#in", "Enter");
	await page.locator(".step.think.live").waitFor();
	await page.fill("#in", "Not the slow ones.");
	await page.click("#ways");
	await look(page, "ways");
	await page.keyboard.press("Escape");
	assert.equal(await page.evaluate(() => document.activeElement.id), "ways", "the focus goes back");
	await add("Not the slow ones.");
	await page.locator("#queue li", { hasText: "Not the slow ones." }).waitFor();
	await page.click("#stop");
	await page.locator(".turn", { hasText: "Not the slow ones." }).getByText("Added. The next prompt sends it.").waitFor();
	page.check();
	await page.context().close();
});

test("a prompt that steers is a part of its turn, and not an added message", async () => {
	const page = await open(chrome, daemon.url);
	await page.click("#try-tool");
	await page.locator(".card.ask").waitFor();
	await page.fill("#in", "Be brief.");
	await page.press("#in", "Control+Enter");
	await page.locator("#queue li", { hasText: "Be brief." }).waitFor();
	await page.locator(".card.ask:not(.fresh)").waitFor();
	await page.getByRole("button", { name: "Allow once", exact: true }).click();
	await page.locator(".foot:visible").waitFor();
	assert.equal(await page.locator(".turn:visible").count(), 1, "one turn");
	await page.locator(".turn:visible").getByText("Be brief.", { exact: true }).first().waitFor();
	assert.equal(await page.getByText("Added. The next prompt sends it.").count(), 0);
	await page.reload();
	await page.getByText("Be brief.", { exact: true }).first().waitFor();
	assert.equal(await page.getByText("Added. The next prompt sends it.").count(), 0, "after a reload");
	assert.equal(await page.locator(".turn:visible").count(), 1, "one turn after a reload");
	await page.locator(".turn:visible .said.steered").waitFor();
	page.check();
	await page.context().close();
});
