// One prompt for several models: side by side, or again with another one.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { before, test } from "node:test";

import { ask, between, browser, drawn, frame, hold, look, open, said, serve, vendor } from "../harness.mjs";

let chrome;
let daemon;
let held = hold(); // what the slow model says last
before(async () => {
	const model = await vendor((prompt, messages, name) => ({
		thinking: [`${name} looks at ${messages.length} messages.`],
		text: [`${name} says: it is the *second*.`, ...(prompt.includes("slowly") && name.includes("4-6") ? [held.until, " At last."] : [])],
	}));
	[chrome, daemon] = await Promise.all([browser(), serve({ env: model.env })]);
});

const columns = (page) => page.locator(".trio > article");
async function answers(page) {
	await frame(page);
	return (await columns(page).locator(".answer").allInnerTexts()).map((t) => t.trim());
}

/** Chooses a model and a level in the open picker. */
async function pick(page, model, level) {
	await page.locator(`#models .m[data-id='${model}']`).first().click();
	await page.locator(`#models [role=radio][data-level=${level}]`).click();
	await page.locator("#picker").waitFor({ state: "hidden" });
}

test("compare a prompt on three models and levels, and go on with one of them", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, "One");
	const origin = page.url();
	await page.fill("#in", "Which is later? Answer slowly.");
	await page.click("#ways");
	await page.getByRole("button", { name: "Compare models" }).click();
	await page.locator("#in[placeholder='Ask both']").waitFor();
	assert.equal(await page.inputValue("#in"), "Which is later? Answer slowly.", "the text goes along");
	await columns(page).nth(1).locator(".choice").click();
	await pick(page, "anthropic/claude-opus-4-6", "high");
	await page.getByRole("button", { name: "Add a column" }).click();
	await pick(page, "anthropic/claude-opus-5-5", "low");
	await look(page, "compare-choose");
	await page.locator("#in[placeholder='Ask all three']").press("Enter");

	// Two columns end, one goes on.
	await page.getByRole("button", { name: "Go on with this one" }).nth(1).waitFor();
	await page.getByRole("button", { name: "Stop this column" }).waitFor();
	assert.match(await page.innerText(".compare .lead"), /^3 columns, asked at \d\d:\d\d\. Together \$0\.0\d+ where the cost is known so far\./);
	await look(page, "compare-running");
	held.go();
	await page.getByRole("button", { name: "Stop this column" }).waitFor({ state: "detached" });
	const want = ["claude-opus-5-5 says: it is the second.", "claude-opus-4-6 says: it is the second. At last.", "claude-opus-5-5 says: it is the second."];
	assert.deepEqual(await answers(page), want);
	assert.match(await drawn(columns(page).nth(1)), /Claude Opus 4\.6[\s\S]*high[\s\S]*Cost\s+\$0\.00\d+\s+Thinking\s+unknown\s+Cache\s+none/);
	await page.locator("#view").focus();
	assert.equal(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none", "no ring around all columns");
	await page.keyboard.press("t");
	assert.equal(await page.locator(".trio .think[open]").count(), 3, "one key unfolds all thoughts");
	await look(page, "compare");

	// A reload costs nothing and shows the same.
	await page.reload();
	await page.locator(".trio .answer").nth(2).waitFor();
	assert.deepEqual(await answers(page), want);

	// A further prompt goes to all of them.
	await page.fill("#in", "And the first?");
	await page.keyboard.press("Enter");
	await page.locator(".trio .answer").nth(5).waitFor();
	await page.getByRole("button", { name: "Go on with this one" }).nth(2).waitFor();

	// The figures and texts in a file.
	await page.getByRole("button", { name: "Export" }).click();
	const [file] = await Promise.all([page.waitForEvent("download"), page.locator(".pop .opt", { hasText: "Markdown" }).click()]);
	const text = await readFile(await file.path(), "utf8");
	for (const part of ["# One", "## Claude Opus 4.6, high", "**Which is later? Answer slowly.**", "> claude-opus-4-6 looks at 3 messages.", "claude-opus-4-6 says: it is the *second*. At last.", "Cost $0.0"]) assert.ok(text.includes(part), `no ${part} in ${text}`);

	// The session that was compared has nothing of it. The chosen column is a session, and the others are its branches.
	await page.getByRole("button", { name: "Go on with this one" }).nth(1).click();
	await page.locator(".branches", { hasText: "2 / 3" }).waitFor();
	assert.equal(await page.innerText("#title"), "One");
	assert.deepEqual((await said(page)).map((t) => t.said.replace("You: ", "")), ["One", "Which is later? Answer slowly.", "And the first?"]);
	await ask(page, "Go on");
	await page.goto(origin); // only the hash changes: the other session is shown until this one has come
	await page.locator(".said").nth(1).waitFor({ state: "detached" });
	assert.deepEqual((await said(page)).map((t) => t.said.replace("You: ", "")), ["One"]);
	page.check();
	await page.context().close();
});

test("ask again: in the session, with another model in a branch, or side by side", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, "Alpha");
	const again = page.getByRole("button", { name: "Ask again", exact: true }).first();
	await again.click();
	await look(page, "again");
	await page.locator(".pop .opt", { hasText: "As a new turn" }).click();
	await page.locator(".foot:visible").nth(1).waitFor();

	await again.click();
	await page.getByRole("button", { name: "Another model or level" }).click();
	await pick(page, "anthropic/claude-opus-4-6", "max");
	await page.locator(".branches", { hasText: "2 / 2" }).waitFor();
	await page.locator(".foot:visible").first().waitFor();
	assert.match((await said(page))[0].answer, /^claude-opus-4-6 says/);
	assert.match(await page.innerText("#level-now"), /max/);
	await page.getByRole("button", { name: "Previous branch" }).click();
	await page.locator(".branches", { hasText: "1 / 2" }).waitFor();
	assert.equal((await said(page)).length, 2);

	await again.click();
	await page.getByRole("button", { name: "Compare models" }).click();
	assert.equal(await page.inputValue("#in"), "Alpha");
	await page.press("#in", "Enter");
	await page.getByRole("button", { name: "Go on with this one" }).nth(1).waitFor();
	await page.getByRole("button", { name: "Add a column" }).click();
	await pick(page, "anthropic/claude-opus-5-5", "xhigh");
	await page.getByRole("button", { name: "Go on with this one" }).nth(2).waitFor();
	await page.getByRole("button", { name: "Go on with this one" }).nth(2).click();
	await page.locator(".branches", { hasText: "5 / 5" }).waitFor();
	page.check();
	await page.context().close();
});

test("a column whose turn ends while the comparison opens", async () => {
	held = hold();
	const page = await open(chrome, daemon.url);
	const line = await between(page, "session/attach");
	await page.reload();
	await page.fill("#in", "Which is later?");
	await page.click("#ways");
	await page.getByRole("button", { name: "Compare models" }).click();
	await columns(page).first().locator(".choice").click();
	await pick(page, "anthropic/claude-opus-4-6", "high");
	await page.locator("#in[placeholder='Ask both']").press("Enter");
	const ended = page.getByRole("button", { name: "Go on with this one" });
	await ended.nth(1).waitFor();
	const [first, second] = new URLSearchParams(page.url().split("?")[1]).get("c").split(",");
	await page.fill("#in", "And the first? Answer slowly.");
	await page.keyboard.press("Enter");
	await columns(page).first().getByRole("button", { name: "Stop this column" }).waitFor();

	const attaching = line.stop(({ session_id }) => session_id === second);
	const attached = line.comes(({ result }) => result?.session?.session_id === first);
	const ends = line.comes(({ method, params }) => method === "turn_end" && params.session_id === first);
	await page.reload();
	await Promise.all([attaching, attached]);
	held.go();
	await ends;
	line.go();
	await ended.nth(1).waitFor();
	assert.match((await answers(page)).join(), /claude-opus-4-6 says: it is the second\. At last\./);
	page.check();
	await page.context().close();
});
