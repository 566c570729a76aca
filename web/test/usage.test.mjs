// What was spent on what, and budgets that ask.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { ask, browser, look, open, serve, vendor } from "./harness.mjs";

let chrome;
let daemon;
let model;
before(async () => {
	model = await vendor(() => ({ thinking: ["Hm."], text: ["The second."] }));
	[chrome, daemon] = await Promise.all([browser(), serve({ config: "[limits]\nmax_day_cost = 5\n", env: model.env })]);
});
after(async () => {
	await chrome.close();
	await daemon.close();
	await model.close();
});

test("usage: sums, plots with their figures in a table, groups, ranges and files", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, "Which is later?");
	await page.locator("#usage-today", { hasText: "today" }).waitFor();
	await page.click("#to-usage");
	await page.locator(".tbl").waitFor();
	assert.match(await page.innerText(".sums"), /Cost, .*\s+\$0\.00\d[\s\S]*Tokens[\s\S]*150 in 1 call/);
	assert.match(await page.innerText(".tbl"), /Claude Opus 5\.5\s+1\s+100/);
	assert.equal(await page.locator(".plot svg[role=img]").count(), 4);
	for (const svg of await page.locator(".plot svg").all()) assert.match(await svg.getAttribute("aria-label"), /The figures are in the table below/);
	await look(page, "usage");
	await page.getByLabel("Group the table by").selectOption("session");
	await page.locator(".tbl a", { hasText: "Which is later?" }).waitFor();
	const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "CSV" }).click()]);
	assert.equal(file.suggestedFilename(), "usage.csv");
	await page.getByRole("button", { name: "Today" }).click();
	await page.locator(".sums dt", { hasText: /^Cost, \d+ \w+$/ }).waitFor();
	page.check();
	await page.context().close();
});
