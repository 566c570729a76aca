// Turns that ask before they spend: at the limit of a day, and before an expensive prompt into a cold session.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { ask, browser, drawn, look, open, serve, vendor } from "../harness.mjs";

let chrome;
let model;
before(async () => {
	model = await vendor(() => ({ thinking: ["Hm."], text: ["The second."] }));
	chrome = await browser();
});

const card = (page) => page.locator('.card[aria-label="Parked turn"]');
const click = (page, name) => card(page).getByRole("button", { name }).click();

/** Sends a prompt, and waits for the card. */
async function parks(page, text) {
	await page.fill("#in", text);
	await page.press("#in", "Enter");
	await card(page).waitFor();
}

test("a turn at the limit of a day: how much is spent, over a reload, raised, and on", async () => {
	const daemon = await serve({ config: "[limits]\nmax_day_cost = 0.05\n", env: model.env });
	const page = await open(chrome, daemon.url);
	await parks(page, "Which is later, March or May?");
	assert.match(await drawn(card(page)), /Today’s budget of \$0\.05\d* has no room for the next step[\s\S]*The next step may cost up to \$0\.08/);
	assert.match(await card(page).locator("[role=img]").getAttribute("aria-label"), /of \$0\.05\d* spent/);
	await look(page, "budget-day");
	await page.reload();
	await card(page).waitFor();
	await click(page, /^Allow \$0\.05\d* more today$/);
	await page.locator(".foot:visible").waitFor();
	assert.equal(await card(page).count(), 0);
	const line = page.locator(".step", { hasText: "Asked you" });
	const past = await drawn(line);
	assert.match(past, /^Asked you\s+from .* to .*, resumed by a client\s+budget$/);
	await page.reload();
	await line.waitFor();
	assert.equal(await drawn(line), past);
	await ask(page, "And now?"); // the limit has room
	page.check();
	await page.context().close();
	await daemon.close();
});

test("an expensive prompt into a cold session: the quote, compact first, send, end", async () => {
	const daemon = await serve({ config: "[limits]\nask_above = 0.001\n", env: model.env });
	const page = await open(chrome, daemon.url);
	await ask(page, "Which is later, March or May?");
	await ask(page, "And which is earlier?");
	const rpc = await daemon.rpc();
	const [{ session_id }] = (await rpc.call("session/list", {})).sessions;
	const cool = (model_id) => rpc.call("model/set", { session_id, model_id }); // another model has nothing in its cache

	await cool("anthropic/claude-sonnet-5");
	await parks(page, "Sure?");
	const text = await drawn(card(page));
	assert.match(text, /This prompt may cost up to \$[\d.]+/);
	assert.match(text, /Conversation, tokens\s+\d+[\s\S]*Prompt, tokens\s+~?\d+[\s\S]*Cost in 95 of 100 turns\s+\$[\d.]+ to \$[\d.]+[\s\S]*Compact first\s+\$/);
	await look(page, "budget-prompt");
	await page.reload();
	await card(page).waitFor();
	assert.equal(await drawn(card(page)), text);
	await click(page, /^Compact first: \$/);
	await page.locator(".foot:visible").nth(2).waitFor();
	assert.equal((await rpc.call("session/summaries", { session_id })).summaries.length, 1);

	await cool("anthropic/claude-opus-5-5");
	await parks(page, "Really?");
	await click(page, "Send it");
	await page.locator(".foot:visible").nth(3).waitFor();

	await cool("anthropic/claude-sonnet-5");
	await parks(page, "Once more?");
	await click(page, "End the turn");
	await card(page).waitFor({ state: "detached" });
	page.check();
	await rpc.close();
	await page.context().close();
	await daemon.close();
});
