// A prompt that is edited goes on in a fork, and people walk through the branches.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { ask, browser, look, open, said, serve, vendor } from "../harness.mjs";

let chrome;
let daemon;
let model;
before(async () => {
	model = await vendor((prompt) => ({ text: [`Answer to: ${prompt}`] }));
	[chrome, daemon] = await Promise.all([browser(), serve({ env: model.env })]);
});

const prompts = async (page) => (await said(page)).map((t) => t.said.replace(/^You: /, ""));

async function edit(page, turn, text) {
	await page.getByRole("button", { name: "Edit the prompt" }).nth(turn).click();
	await page.getByLabel("Edited prompt").fill(text);
	await page.getByLabel("Edited prompt").press("Enter");
	await page.locator(".said", { hasText: text }).waitFor();
	await page.locator(".foot:visible").nth(turn).waitFor();
}

test("edit a prompt, and walk through the branches", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, "One");
	await ask(page, "Two");
	await ask(page, "Three");
	const first = page.url();
	await page.getByRole("button", { name: "Edit the prompt" }).nth(1).click();
	await look(page, "branch-edit");
	await page.getByLabel("Edited prompt").press("Escape");
	assert.deepEqual(await prompts(page), ["One", "Two", "Three"]);

	await edit(page, 1, "Second");
	assert.notEqual(page.url(), first);
	assert.deepEqual(await prompts(page), ["One", "Second"]);
	await page.locator(".branches", { hasText: "2 / 2" }).waitFor();
	await edit(page, 1, "Deux");
	await page.locator(".branches", { hasText: "3 / 3" }).waitFor();
	await look(page, "branches");
	await page.fill("#in", "a draft of the third");

	await page.getByRole("button", { name: "Previous branch" }).click();
	await page.locator(".branches", { hasText: "2 / 3" }).waitFor();
	assert.deepEqual(await prompts(page), ["One", "Second"]);
	assert.equal(await page.inputValue("#in"), "", "drafts stay with their branch");
	await page.getByRole("button", { name: "Previous branch" }).click();
	await page.locator(".branches", { hasText: "1 / 3" }).waitFor();
	assert.equal(page.url(), first);
	assert.deepEqual(await prompts(page), ["One", "Two", "Three"]);
	await page.reload();
	await page.locator(".branches", { hasText: "1 / 3" }).waitFor();

	// A deleted branch is skipped.
	const rpc = await daemon.rpc();
	const { sessions } = await rpc.call("session/list", {});
	assert.equal(sessions.length, 3);
	await rpc.call("session/delete", { session_id: sessions.find((s) => s.metadata && !page.url().includes(s.session_id) && Object.values(s.metadata)[0][1] === s.session_id).session_id });
	await rpc.close();
	await page.getByRole("button", { name: "Next branch" }).click();
	await page.locator(".branches", { hasText: "3 / 3" }).waitFor();
	assert.equal(await page.inputValue("#in"), "a draft of the third");
	page.check();
	await page.context().close();
});

test("edit the first prompt", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, "Alpha");
	// After a restart the page gets the whole state again. That does not replace a form.
	await page.getByRole("button", { name: "Edit the prompt" }).click();
	await page.getByLabel("Edited prompt").fill("Half a thought");
	await daemon.restart();
	await page.locator("#banner-text", { hasText: "Connected." }).waitFor();
	assert.equal(await page.getByLabel("Edited prompt").inputValue(), "Half a thought");
	await page.getByLabel("Edited prompt").press("Escape");
	assert.deepEqual(await prompts(page), ["Alpha"]);
	await edit(page, 0, "Beta");
	assert.deepEqual(await prompts(page), ["Beta"]);
	await page.locator(".branches", { hasText: "2 / 2" }).waitFor();
	await page.locator("#title", { hasText: "Beta" }).waitFor();
	page.check(/WebSocket connection|ERR_CONNECTION/);
	await page.context().close();
});
