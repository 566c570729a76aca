// Turns that wait: for a provider, for an answer, and what a person can do about it.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { ask, browser, drawn, look, open, serve, shot } from "../harness.mjs";

let chrome;
let daemon;
before(async () => {
	[chrome, daemon] = await Promise.all([browser(), serve({ config: '[limits]\npark = "12h"\n\n[tools]\nconfirm_time = "park"\n' })]);
});

const refused = (text, more = "") => `${text} [[sim: fault=rate_limit retry_after=3600 times=1 pace=0 thinking=5 text=20 ${more}]]`;
const card = (page) => page.locator('.card[aria-label="Parked turn"]');

/** Sends a prompt that the simulator refuses for an hour. */
async function park(page, text) {
	await page.fill("#in", refused(text));
	await page.press("#in", "Enter");
	await card(page).waitFor();
}

test("a turn that waits for quota: why, until when, over a reload, resumed", async () => {
	const page = await open(chrome, daemon.url);
	await park(page, "Which is later, March or May?");
	assert.match(await drawn(card(page)), /Waiting for quota at sim until (\d+ \w+, )?\d\d:\d\d[\s\S]*rate_limit_error[\s\S]*left\. The turn then resumes by itself\. What it has finished is stored\. No tool is running\./);
	assert.match(await page.innerText("#say"), /^Parked\. Waiting for quota at sim until/);
	assert.match(await drawn(card(page).locator("[aria-hidden=true]")), /(1 h 0\d min|\d+ min \d\d s) left/, "the countdown is not read aloud");
	await page.locator("#sessions .tag", { hasText: "parked" }).waitFor();

	await page.fill("#in", "Then this. [[sim: pace=0]]");
	await page.press("#in", "Enter");
	await page.locator("#queue li", { hasText: "held" }).waitFor();
	await look(page, "parked");
	await page.reload();
	await card(page).waitFor();
	await page.locator("#queue li", { hasText: "held" }).waitFor();
	await page.focus("#in");
	await page.keyboard.press("Escape"); // ends no turn that waits
	assert.ok(await page.locator("#send").isVisible() && !(await page.locator("#stop").isVisible()));

	await card(page).getByRole("button", { name: "Resume now" }).focus();
	await page.keyboard.press("Enter");
	await page.locator(".foot:visible").nth(1).waitFor();
	assert.match(await page.evaluate(() => document.activeElement.textContent), /^Parked/, "the focus stays in the turn");
	assert.equal(await card(page).count(), 0);
	const line = page.locator(".step", { hasText: "Parked" });
	const past = await drawn(line);
	assert.match(past, /^Parked\s+from .* to .*, resumed by a client\s+quota$/);
	await page.reload();
	await line.waitFor();
	assert.equal(await drawn(line), past, "the same line after a reload");
	assert.equal(await drawn(page.locator(".turn").first().locator(".step, .answer").first()), past, "in front of the answer");
	assert.match(await drawn(page.locator(".step", { hasText: "Parked" })), /from .*\d\d:\d\d to .*\d\d:\d\d, resumed by a client/);
	assert.equal(await page.locator("#queue li").count(), 0, "the pending prompt ran after it");
	page.check();
	await page.context().close();
});

test("a turn that waits resumes with another model, or ends", async () => {
	const page = await open(chrome, daemon.url);
	await park(page, "Which is later, June or July?");
	await card(page).getByRole("button", { name: "Change model…" }).click();
	await page.keyboard.type("thinking budget");
	await shot(page, "parked-model");
	await page.keyboard.press("Enter");
	await page.locator(".turn:visible").nth(1).locator(".by h2", { hasText: "thinking budget" }).waitFor();
	await page.locator(".turn:visible").nth(1).locator(".foot:visible").waitFor();
	assert.match(await drawn(page.locator(".turn:visible").first()), /the turn ended[\s\S]*cancelled/);

	await park(page, "Which is later, April or May?");
	await card(page).getByRole("button", { name: "End the turn" }).click();
	await card(page).waitFor({ state: "detached" });
	await ask(page, "Another? [[sim: pace=0]]");
	page.check();
	await page.context().close();
});

test("a question without a time limit", async () => {
	const page = await open(chrome, daemon.url);
	await page.click("#try-tool");
	const question = page.locator(".card.ask");
	await question.waitFor();
	assert.match(await drawn(question), /waits until somebody answers/);
	assert.match(await drawn(card(page)), /Waiting for your answer\s+Your answer to the question resumes the turn\. There is no time limit\./);
	assert.equal(await card(page).getByRole("button", { name: "Resume now" }).count(), 0, "only an answer resumes it");
	await look(page, "parked-approval");
	await page.reload();
	const allow = question.getByRole("button", { name: "Allow once", exact: true });
	await allow.waitFor();
	await page.locator(".card.ask:not(.fresh)").waitFor();
	await allow.click();
	await page.locator(".foot:visible").waitFor();
	assert.match(await drawn(page.locator(".step", { hasText: "Parked" })), /resumed by an answer/);
	page.check();
	await page.context().close();
});

test("a prompt for a later time", async () => {
	const rpc = await daemon.rpc();
	const { session_id } = await rpc.call("session/new", { model_id: "sim/claude" });
	await rpc.call("session/prompt", { session_id, text: "Later. [[sim: pace=0]]", not_before: Date.now() + 90_000_000 });
	const page = await open(chrome, daemon.url);
	await page.evaluate((id) => {
		location.hash = `/${id}`;
	}, session_id);
	await card(page).waitFor();
	assert.match(await drawn(card(page)), /Waiting until \d+ \w+, \d\d:\d\d\s+(24|25) h \d\d min left\. The prompt is sent then\./);
	await shot(page, "parked-later");
	await card(page).getByRole("button", { name: "Resume now" }).click();
	await page.locator(".foot:visible").waitFor();
	page.check();
	await page.context().close();
	await rpc.close();
});
