// What was spent on what, and budgets that ask.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { ask, browser, drawn, look, open, serve, vendor } from "./harness.mjs";

let chrome;
let daemon;
let model;
before(async () => {
	model = await vendor(() => ({ thinking: ["Hm."], text: ["The second."] }));
	[chrome, daemon] = await Promise.all([browser(), serve({ config: "[limits]\nmax_day_cost = 5\n", env: model.env })]);
});

test("usage: sums, plots by day and model or level with their figures in a table, filters and files", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, "Which is later?");
	await page.locator("#usage-today", { hasText: "today" }).waitFor();
	const rpc = await daemon.rpc();
	for (const [model_id, thinking_level] of [["anthropic/claude-opus-5-5", "low"], ["anthropic/claude-opus-5-5", "max"], ["anthropic/claude-opus-4-6", "high"]]) {
		const { session_id } = await rpc.call("session/new", { model_id, thinking_level });
		const { turn_id } = await rpc.call("session/prompt", { session_id, text: `With ${thinking_level}` });
		await rpc.call("turn/wait", { session_id, turn_id });
	}
	await rpc.close();
	await page.click("#to-usage");
	const table = page.locator(".tbl").first();
	await table.waitFor();
	assert.match(await page.innerText(".sums"), /Cost, .*\s+\$0\.0\d[\s\S]*Tokens[\s\S]*600 in 4 calls/);
	const figures = await drawn(table);
	for (const row of [/Claude Opus 5\.5\s+low\s+1\s+100/, /Claude Opus 5\.5\s+max\s+1\s+100/, /Claude Opus 4\.6\s+high\s+1\s+100/, /All\s+4\s+400/]) assert.match(figures, row);
	assert.equal(await page.locator(".plot svg[role=img]").count(), 4);
	for (const svg of await page.locator(".plot svg").all()) assert.match(await svg.getAttribute("aria-label"), /The figures are in the table below/);
	assert.match(await page.locator(".plot svg").nth(2).getAttribute("aria-label"), /: unknown\./, "the vendor reports no tokens of thinking");
	assert.deepEqual(await page.locator(".plot .none").allInnerTexts(), ["unknown"]);
	for (const [i, name] of ["Cost", "Thinking, share of output", "Read from cache"].entries()) assert.match(await drawn(page.locator(".plots figcaption").nth(i + 1)), new RegExp(`^${name}\\s+Claude Opus 5\\.5\\s+Claude Opus 4\\.6$`), "a part for each model");
	await page.getByText("Figures by day").click();
	assert.match(await drawn(page.locator(".tbl").last()), /\d+ \w+\s+4\s+400/);
	await look(page, "usage");

	await page.getByLabel("Model", { exact: true }).selectOption("anthropic/claude-opus-4-6");
	await table.getByText(/^All$/).locator("xpath=..").getByText("1", { exact: true }).waitFor();
	assert.doesNotMatch(await drawn(table), /5\.5/);
	await page.getByLabel("Model", { exact: true }).selectOption("");
	await page.getByLabel("By", { exact: true }).selectOption("level");
	await page.locator(".plots figcaption", { hasText: "others" }).first().waitFor();
	await look(page, "usage-level");
	await page.getByLabel("By", { exact: true }).selectOption("session");
	await page.locator(".tbl a", { hasText: "Which is later?" }).waitFor();
	const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
	assert.equal(file.suggestedFilename(), "usage.csv");
	await page.getByRole("button", { name: "Today" }).click();
	await page.locator(".sums dt", { hasText: /^Cost, \d+ \w+$/ }).waitFor();
	page.check();
	await page.context().close();
});
