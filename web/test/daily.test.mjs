// What a page for every day needs: a folder with tools, drafts, the theme, code and formulas as they are meant.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { ask, browser, look, open, serve, shot, vendor } from "./harness.mjs";

let chrome;
let daemon;
let closed;
let model;
let folder;
const markdown = [
	"- [x] measured\n- [ ] decided\n\n",
	"Euler: \\(e^{i\\pi} = -1\\), and\n\n\\[\\int_0^1 x^2\\,dx = \\frac13\\]\n\nIt costs $5 or $6.\n\n",
	"![A red square](https://example.com/red.png)\n\n",
	"| name | a_rather_long_identifier_of_a_column | another_long_identifier | yet_another_long_identifier |\n|---|---|---|---|\n| incomprehensibilities | internationalization | x | y |\n\n",
	"```kotlin\nfun main() = println(\"hello\")\n```\n\n",
	"שלום עולם, this is right to left.\n",
];
before(async () => {
	folder = await mkdtemp(join(tmpdir(), "thinkd-folder-"));
	await writeFile(join(folder, "notes.txt"), "The second date is later.\n");
	model = await vendor((prompt, messages) => (prompt.includes("notes") && messages.length === 1 ? { calls: [{ name: "read_file", input: { path: "notes.txt" } }] } : { text: markdown }));
	[chrome, daemon, closed] = await Promise.all([browser(), serve({ config: "[tools]\nbuiltin = true\n", env: model.env }), serve()]);
});
after(async () => {
	await chrome.close();
	await Promise.all([daemon.close(), closed.close()]);
	await model.close();
	await rm(folder, { recursive: true });
});

test("a session in a folder, with tools and a tool mode", async () => {
	const page = await open(chrome, daemon.url);
	await page.locator("#model-now", { hasText: "Claude Opus 5.5" }).waitFor(); // the default model is named
	await page.click("#setup");
	await page.getByLabel("Folder", { exact: true }).fill(folder);
	await page.getByLabel("Tools for files and commands in this folder").check();
	await page.getByLabel(/^edit/).check();
	await look(page, "setup", true);
	await page.getByRole("button", { name: "Done" }).click();
	assert.match(await page.innerText("#setup"), /thinkd-folder-\w+ · tools · mode edit/);
	await ask(page, "Read the notes");
	await page.locator(".step.tool", { hasText: "read_file" }).waitFor();
	assert.match(await page.innerText("#setup"), /thinkd-folder-\w+ · \d+ tools · mode edit/, "what is in effect");
	await page.click("#setup");
	const box = page.locator(".pop", { hasText: "Folder and tools" });
	assert.match(await box.innerText(), /Built-in tools\s+.*read_file/);
	assert.ok(await box.getByLabel(/^edit/).isChecked());
	await box.getByLabel(/^read/).check();
	await page.waitForFunction(() => document.getElementById("setup-now").textContent.endsWith("mode read"));
	await look(page, "setup-in-effect", true);
	await page.keyboard.press("Escape");

	// A folder that is none is refused, and the text stays.
	await page.click("#new");
	await page.click("#setup");
	await page.getByLabel("Folder", { exact: true }).fill(join(folder, "nowhere"));
	await page.keyboard.press("Enter");
	await page.fill("#in", "Hello?");
	await page.press("#in", "Enter");
	await page.locator("#trouble", { hasText: "cwd" }).waitFor();
	assert.equal(await page.inputValue("#in"), "Hello?");
	page.check();
	await page.context().close();
});

test("where tools are not allowed, the page says what allows them", async () => {
	const page = await open(chrome, closed.url);
	await page.click("#setup");
	await page.getByLabel("Folder", { exact: true }).fill(folder);
	assert.ok(await page.getByLabel("Tools for files and commands in this folder").isDisabled());
	assert.match(await page.innerText(".pop:visible"), /set builtin = true under \[tools\]/);
	page.check();
	await page.context().close();
});

test("each session has its own draft, also after a reload", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, "One");
	const one = new URL(page.url()).hash;
	await page.fill("#in", "a draft of the first");
	await page.click("#new");
	await page.waitForFunction(() => document.getElementById("in").value === "");
	await page.fill("#in", "a draft of a new one");
	await page.evaluate((hash) => (location.hash = hash), one);
	await page.waitForFunction(() => document.getElementById("in").value === "a draft of the first");
	await page.reload();
	await page.waitForFunction(() => document.getElementById("in").value === "a draft of the first");
	await page.press("#in", "Enter");
	await page.locator(".foot:visible").nth(1).waitFor();
	await page.reload();
	await page.locator(".foot:visible").nth(1).waitFor();
	assert.equal(await page.inputValue("#in"), "");
	await page.click("#new");
	await page.waitForFunction(() => document.getElementById("in").value === "a draft of a new one");

	// Earlier prompts, from an empty field.
	await page.evaluate((hash) => (location.hash = hash), one);
	await page.waitForFunction(() => document.getElementById("in").value === "");
	await page.locator(".foot:visible").nth(1).waitFor();
	await page.focus("#in");
	await page.keyboard.press("ArrowUp");
	assert.equal(await page.inputValue("#in"), "a draft of the first");
	await page.keyboard.press("ArrowUp");
	assert.equal(await page.inputValue("#in"), "One");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowDown");
	assert.equal(await page.inputValue("#in"), "");
	page.check();
	await page.context().close();
});

test("a choice for the next turn only, in a new session", async () => {
	const page = await open(chrome, daemon.url);
	await page.click("#pick-model");
	await page.fill("#find-model", "claude that always");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowRight");
	await page.click("text=Next turn only");
	await page.locator("#levels [role=radio][data-level=low]").click();
	assert.match(await page.innerText("#model-now"), /^Next turn: Simulated/);
	await ask(page, "Once? [[sim: pace=0]]");
	assert.match(await page.innerText(".by h2"), /Simulated Claude that always/);
	assert.match(await page.innerText("#model-now"), /^Claude Opus 5\.5/, "the session has its own model");
	page.check();
	await page.context().close();
});

test("the picker lists available models first and simulators last, with price and window", async () => {
	const page = await open(chrome, daemon.url);
	await page.locator("#model-now", { hasText: "Claude Opus 5.5" }).waitFor();
	await page.click("#pick-model");
	const groups = await page.locator("#models [role=group]").evaluateAll((all) => all.map((g) => g.getAttribute("aria-label")));
	assert.equal(groups[0], "anthropic");
	assert.equal(groups.at(-1), "sim");
	assert.match(await page.locator("#models [data-id='anthropic/claude-opus-5-5']").innerText(), /\$4\/20 · 1M/);
	await look(page, "picker-figures", true);
	page.check();
	await page.context().close();
});

test("answers lose nothing: tasks, formulas, descriptions of images, whole words in tables", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, "Show me");
	const answer = page.locator(".answer");
	assert.deepEqual(await answer.locator("li input").evaluateAll((all) => all.map((e) => [e.checked, e.disabled, e.getAttribute("aria-label")])), [[true, true, "Done"], [false, true, "To do"]]);
	await answer.locator("math").nth(1).waitFor();
	assert.equal(await answer.locator("math").count(), 2);
	assert.match(await answer.innerText(), /It costs \$5 or \$6\./);
	assert.deepEqual(await answer.locator("a", { hasText: "A red square" }).evaluateAll((all) => all.map((a) => a.href)), ["https://example.com/red.png"]);
	const broken = await answer.locator("td").first().evaluate((td) => {
		const range = document.createRange();
		range.selectNodeContents(td);
		return new Set([...range.getClientRects()].map((r) => r.top)).size;
	});
	assert.equal(broken, 1, "a word of a table is on one line");
	await answer.locator(".hljs-keyword", { hasText: "fun" }).waitFor();
	assert.equal(await answer.locator("p", { hasText: "שלום" }).evaluate((p) => getComputedStyle(p).direction), "rtl");
	await answer.getByRole("button", { name: "Wrap" }).click();
	assert.equal(await answer.locator("pre").evaluate((p) => getComputedStyle(p).whiteSpace), "pre-wrap");
	const [file] = await Promise.all([page.waitForEvent("download"), answer.getByRole("button", { name: "Download code" }).click()]);
	assert.equal(file.suggestedFilename(), "code.kt");
	const live = await page.innerText(".by time");
	await look(page, "daily-answer", true);
	await page.reload();
	await page.locator(".by time").waitFor();
	assert.match(await page.innerText(".by time"), /^\d\d:\d\d$/, `the time after a reload, live ${live}`);
	page.check();
	await page.context().close();
});

test("providers and keys stay inside the window", async () => {
	const page = await open(chrome, closed.url);
	for (const control of ["#keys", "#add-key"]) {
		for (const [width, height] of [[1440, 900], [820, 500]]) {
			await page.setViewportSize({ width, height });
			if (control === "#keys" && width < 901) await page.click("#menu");
			await page.click(control);
			const box = page.locator(".pop.keypop");
			await box.locator("li").first().waitFor();
			const { top, bottom } = await box.evaluate((e) => e.getBoundingClientRect());
			assert.ok(top >= 0 && bottom <= height, `${control}: ${top} to ${bottom} of ${height}`);
			assert.ok(await box.evaluate((e) => {
				e.scrollTop = 1e6;
				return e.scrollHeight <= e.clientHeight || e.scrollTop > 0;
			}), "it scrolls");
			await page.keyboard.press("Escape");
			await page.keyboard.press("Escape");
		}
	}
	page.check();
	await page.context().close();
});

test("a retry that is pending says so", async () => {
	const page = await open(chrome, closed.url);
	await page.fill("#in", "Which? [[sim: fault=overloaded retry_after=2 times=1 pace=0]]");
	await page.press("#in", "Enter");
	const line = page.locator(".step", { hasText: "retry" });
	await line.locator(".name", { hasText: "Starts again" }).waitFor();
	assert.match(await line.innerText(), /Attempt 2 in \d+ s/);
	await line.locator(".name", { hasText: "Started again" }).waitFor();
	await page.locator(".foot:visible").waitFor();
	page.check();
	await page.context().close();
});

test("settings: theme, keys, agents, shortcuts", async () => {
	const page = await open(chrome, closed.url);
	await page.click("#to-settings");
	await page.getByText("For this browser only.").waitFor();
	await page.getByRole("button", { name: "Add an agent" }).click();
	await page.getByLabel("Name").fill("reviewer");
	await page.getByLabel("Instructions").fill("Be brief.");
	await page.getByRole("button", { name: "Save" }).click();
	await page.getByRole("button", { name: "Open reviewer" }).waitFor();
	await look(page, "settings");
	await page.getByLabel("Theme").selectOption("dark");
	assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(20, 21, 23)");
	await page.reload();
	await page.getByText("For this browser only.").waitFor();
	assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(20, 21, 23)", "after a reload too");
	await page.keyboard.press("?");
	await page.locator(".pop", { hasText: "Shortcuts" }).waitFor();
	await shot(page, "shortcuts");
	await page.keyboard.press("Escape");
	await page.click("#new");
	await page.locator("#hello").waitFor();
	page.check();
	await page.context().close();
});

test("the page can be installed", async () => {
	const page = await open(chrome, closed.url);
	const manifest = await page.evaluate(async () => (await fetch(document.querySelector("link[rel=manifest]").href)).json());
	for (const icon of manifest.icons) assert.equal(await page.evaluate(async (src) => (await fetch(src)).status, icon.src), 200);
	const session = await page.context().newCDPSession(page);
	const { errors } = await session.send("Page.getAppManifest");
	assert.deepEqual(errors, []);
	page.check();
	await page.context().close();
});

test("the list follows the sessions of other clients without asking", async () => {
	const page = await open(chrome, closed.url);
	const rpc = await closed.rpc();
	await page.locator("#hello").waitFor();
	const { session_id } = await rpc.call("session/new", { title: "Made elsewhere" });
	const row = page.locator(`#sessions a[data-id="${session_id}"]`);
	await row.waitFor();
	await rpc.call("session/update", { session_id, title: "Renamed elsewhere" });
	await row.getByText("Renamed elsewhere").waitFor();
	await rpc.call("session/prompt", { session_id, text: "Which? [[sim: pace=0]]" });
	await row.locator(".tag", { hasText: "new" }).waitFor(); // its turn has ended, and nobody has read it
	await row.click();
	await page.locator(".foot:visible").waitFor();
	await page.click("#new");
	await row.locator("time").waitFor(); // it has been read
	await rpc.call("session/delete", { session_id });
	await row.waitFor({ state: "detached" });
	page.check();
	await page.context().close();
	await rpc.close();
});
