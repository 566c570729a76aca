// Search in all sessions and in one, filters, and changes of several sessions at once.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { before, test } from "node:test";

import { ask, between, browser, look, newSession, open, serve, vendor } from "./harness.mjs";

let chrome;
let daemon;
let model;
before(async () => {
	model = await vendor((prompt) => ({ thinking: [`Thinking of the ${prompt.includes("limiter") ? "secret bucket" : "date"}.`], text: prompt.includes("limiter") ? ["Cap the **token** bucket when you refill it. ", "A bucket that is never capped holds a night of tokens."] : ["It is later."] }));
	[chrome, daemon] = await Promise.all([browser(), serve({ env: model.env })]);
});

test("find text in all sessions, open the place, and tidy up", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, "Why does the limiter burst?");
	const limiter = new URL(page.url()).hash.slice(2);
	for (const title of ["One", "Two", "Three"]) {
		await newSession(page);
		await page.waitForFunction(() => document.querySelectorAll(".turn").length === 0);
		await ask(page, `${title}: which date is later?`);
	}
	await page.keyboard.press("Control+Shift+F");
	await page.locator(".hits > li").nth(3).waitFor(); // without a text all sessions are listed
	const field = page.getByPlaceholder("Search all sessions");
	await field.fill("BUCKET");
	await page.locator(".hits blockquote").first().waitFor();
	await page.waitForFunction(() => document.querySelectorAll(".hits > li").length === 1);
	assert.match(await page.innerText(".hits"), /Why does the limiter burst\?[\s\S]*2 hits[\s\S]*answer\s*Cap the token bucket/);
	assert.deepEqual(await page.locator(".hits mark").allInnerTexts(), ["bucket", "bucket"]);
	await page.waitForFunction(() => /1 session, the last changed first\. 4 read\./.test(document.querySelector(".findcol .lead").textContent));
	await look(page, "search");

	// Thoughts are searched when they are asked for, and the address keeps text and filters.
	await field.fill("secret bucket");
	await page.locator(".lead", { hasText: "Nothing found" }).waitFor();
	await page.locator("select[name=in]").selectOption("thought");
	await page.locator(".hits blockquote", { hasText: "secret bucket" }).waitFor();
	await page.reload();
	await page.locator(".hits blockquote a").click();
	await page.locator(".at-place", { hasText: "secret bucket" }).waitFor();
	assert.equal(await page.locator("details.at-place").evaluate((e) => e.open), true, "the thought is unfolded");
	assert.ok(page.url().includes(limiter));
	assert.equal(await page.evaluate(() => CSS.highlights.get("found")?.size), 1);

	// In the session that is open.
	await page.focus("#scroll");
	await page.keyboard.press("f");
	await page.getByRole("searchbox", { name: "Find in this session" }).fill("bucket");
	await page.locator("#findbar", { hasText: "1 of 1" }).waitFor();
	await page.getByLabel("Thoughts").check();
	await page.locator("#findbar", { hasText: "1 of 2" }).waitFor();
	await page.getByRole("button", { name: "Next place" }).click();
	await page.locator("#findbar", { hasText: "2 of 2" }).waitFor();
	await page.locator(".at-place.answer, .answer .at-place, .at-place:has(.answer), .at-place").first().waitFor();
	await look(page, "find-here");
	await page.keyboard.press("Escape");
	await page.locator("#findbar").waitFor({ state: "hidden" });

	// Several sessions at once, with the keyboard.
	await page.goto(`${daemon.origin}/#/search`);
	await page.locator(".hits > li").nth(3).waitFor();
	await field.press("Enter");
	await page.keyboard.press("x");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("x");
	await page.locator(".selbar", { hasText: "2 selected" }).waitFor();
	await look(page, "search-selected");
	const [file] = await Promise.all([page.waitForEvent("download"), page.locator(".selbar").getByRole("button", { name: "Markdown" }).click()]);
	assert.equal(file.suggestedFilename(), "sessions.md");
	assert.match(await readFile(await file.path(), "utf8"), /# Three: which date[\s\S]*# Two: which date/);
	await page.locator(".selbar").getByRole("button", { name: "Archive" }).click();
	await page.locator(".hits .src-tag", { hasText: "archived" }).nth(1).waitFor();
	await page.waitForFunction(() => document.querySelectorAll("#sessions a[data-id]").length === 2);
	await page.reload();
	await page.waitForFunction(() => document.querySelectorAll(".hits > li").length === 2);
	await page.getByRole("button", { name: "Archived too" }).click();
	await page.locator(".hits > li").nth(3).waitFor();

	// Rename in place, pin, delete after a question.
	const row = page.locator(".hits > li", { hasText: "Why does the limiter burst?" });
	await row.locator("h3 a").focus();
	await page.keyboard.press("F2");
	await page.getByLabel("New title").fill("Limiter");
	await page.keyboard.press("Enter");
	const renamed = page.locator(".hits > li", { hasText: "Limiter" });
	await renamed.getByRole("button", { name: "Pin Limiter" }).click();
	await page.locator("#sessions h2", { hasText: "Pinned" }).waitFor();
	assert.match(await page.innerText("#sessions"), /^Pinned\s+Limiter/);
	await page.locator(".hits > li", { hasText: "One: which" }).getByRole("button", { name: "Delete One" }).click();
	assert.equal(await page.evaluate(() => document.activeElement.textContent), "Cancel");
	await page.locator(".selbar").getByRole("button", { name: "Delete" }).click();
	await page.waitForFunction(() => document.querySelectorAll(".hits > li").length === 3);
	page.check();
	await page.context().close();
});

test("the list has a menu for each session", async () => {
	const page = await open(chrome, daemon.url);
	const rpc = await daemon.rpc();
	const { session_id } = await rpc.call("session/new", { title: "From the list" });
	const row = page.locator(".rowbox", { has: page.locator(`a[data-id="${session_id}"]`) });
	await row.waitFor();
	await row.locator("a").focus();
	await page.keyboard.press("ArrowRight");
	await page.keyboard.press("Enter");
	const menu = page.locator(".pop", { hasText: "Export as Markdown" });
	await menu.waitFor();
	await look(page, "list-menu");
	await menu.getByRole("button", { name: "Pin to the top" }).click();
	await page.waitForFunction((id) => document.querySelector("#sessions a").dataset.id === id, session_id);
	await row.hover();
	await row.getByRole("button").click();
	await menu.getByLabel("Title").fill("תאריך: renamed in the list");
	await page.keyboard.press("Enter");
	const name = row.getByText("renamed in the list");
	await name.waitFor();

	// The menu of the visible session has the same rows. A title from right to left keeps its beginning where it is cut off.
	await row.locator("a").click();
	await page.locator("#title", { hasText: "renamed in the list" }).waitFor();
	for (const e of [name, page.locator("#title")]) assert.equal(await e.evaluate((e) => getComputedStyle(e).direction), "rtl");
	await page.click("#menu-session");
	await menu.getByRole("button", { name: "Summarise earlier turns" }).waitFor();
	await page.keyboard.press("ArrowDown");
	assert.equal(await page.evaluate(() => document.activeElement.textContent), "Unpin");
	const [file] = await Promise.all([page.waitForEvent("download"), menu.getByRole("button", { name: "Export as Markdown" }).click()]);
	assert.equal(file.suggestedFilename(), "תאריך-renamed-in-the-list.md");
	await menu.waitFor({ state: "detached" });
	assert.equal(await page.evaluate(() => document.activeElement.id), "menu-session", "the focus goes back");
	await row.hover();
	await row.getByRole("button").click();
	await menu.getByRole("button", { name: "Archive" }).click();
	await row.waitFor({ state: "detached" });
	await page.fill("#find", "limiter");
	await page.locator("#sessions a", { hasText: "Search all text" }).click();
	await page.locator(".hits blockquote").first().waitFor();
	assert.equal(await page.getByPlaceholder("Search all sessions").inputValue(), "limiter");
	page.check();
	await page.context().close();
	await rpc.close();
});

test("what is typed right after New belongs to the new session", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, "Which date is later?");
	const old = page.url();
	await page.evaluate(() => new Promise((typed) => {
		addEventListener("hashchange", () => { // after the page's own listener, and before the daemon has answered it
			const field = document.getElementById("in");
			field.value = "Typed at once";
			field.dispatchEvent(new Event("input"));
			document.getElementById("ways").focus();
			typed();
		}, { once: true });
		document.getElementById("new").click();
	}));
	await page.locator("#hello").waitFor();
	assert.equal(await page.inputValue("#in"), "Typed at once");
	assert.equal(await page.evaluate(() => document.activeElement.id), "ways", "the focus stays where it was put");
	await page.goto(old);
	await page.locator(".foot:visible").waitFor();
	assert.equal(await page.inputValue("#in"), "", "the session before has no draft");
	page.check();
	await page.context().close();
});

test("the list of sessions counts what the text in the field finds, and no earlier one", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, "Alpha");
	await newSession(page);
	await page.waitForFunction(() => document.querySelectorAll(".turn").length === 0);
	await ask(page, "Alphabet");
	const line = await between(page, "session/list");
	await page.reload();
	await page.locator("#sessions a.row").nth(1).waitFor();
	await page.fill("#find", "alpha");
	await page.locator("#found", { hasText: /^2 found$/ }).waitFor();
	const called = line.stop();
	await page.fill("#find", "alphabet");
	await called;
	assert.equal(await page.innerText("#found"), "");
	await page.locator("#sessions a.row", { hasText: /^Alpha(?!bet)/ }).click(); // the list is drawn again
	await page.locator("#sessions a.row[aria-current=page]", { hasText: /^Alpha(?!bet)/ }).waitFor();
	assert.equal(await page.innerText("#found"), "");
	line.go();
	await page.locator("#found", { hasText: /^1 found$/ }).waitFor();
	page.check();
	await page.context().close();
});
