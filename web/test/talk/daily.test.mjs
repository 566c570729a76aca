// What a page for every day needs: a folder with tools, drafts, the theme, code and formulas as they are meant.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";

import { ask, browser, drawn, folder, look, newSession, open, serve, vendor } from "../harness.mjs";

let chrome;
let daemon;
let closed;
let model;
let dir;
const markdown = [
	"- [x] measured\n- [ ] decided\n\n",
	"Euler: \\(e^{i\\pi} = -1\\), and\n\n\\[\\int_0^1 x^2\\,dx = \\frac13\\]\n\nIt costs $5 or $6.\n\n",
	"![A red square](https://example.com/red.png)\n\n",
	"| name | a_rather_long_identifier_of_a_column | another_long_identifier | yet_another_long_identifier |\n|---|---|---|---|\n| incomprehensibilities | internationalization | x | y |\n\n",
	"```kotlin\nfun main() = println(\"hello\")\n```\n\n",
	"שלום עולם, this is right to left.\n",
];
const mcpServer = `import { createInterface } from "node:readline";
createInterface({ input: process.stdin }).on("line", (line) => {
	const { id, method, params } = JSON.parse(line);
	const answers = {
		initialize: () => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "dates", version: "1" } }),
		"tools/list": () => ({ tools: [{ name: "later", description: "The later date.", inputSchema: { type: "object" } }] }),
	};
	if (id === undefined) return;
	const answer = answers[method];
	console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(answer ? { result: answer() } : { error: { code: -32601, message: "unknown" } }) }));
});
`;
before(async () => {
	dir = (await folder()).path;
	await writeFile(join(dir, "notes.txt"), "The second date is later.\n");
	await writeFile(join(dir, "AGENTS.md"), "Answer briefly.\n");
	await writeFile(join(dir, "server.mjs"), mcpServer);
	const plan = [{ content: "Read the notes", status: "completed" }, { content: "Compare both dates", status: "in_progress" }, { content: "Answer", status: "pending", priority: "high" }];
	model = await vendor((prompt, messages) => (prompt.includes("notes") && messages.length === 1 ? { calls: [{ name: "read_file", input: { path: "notes.txt" } }, { name: "todo", input: { items: plan } }] } : { text: markdown }));
	[chrome, daemon, closed] = await Promise.all([browser(), serve({ config: "[tools]\nbuiltin = true\nproject_instructions = \"all\"\n[serve]\nmcp_from_clients = true\n", env: model.env }), serve()]);
});
test("a session in a folder, with tools and a tool mode", async () => {
	const page = await open(chrome, daemon.url);
	await page.locator("#model-now", { hasText: "Claude Opus 5.5" }).waitFor(); // the default model is named
	await page.click("#setup");
	await page.getByLabel("Folder", { exact: true }).fill(dir);
	await page.getByLabel("Tools for files and commands in this folder").check();
	await page.getByLabel(/^edit/).check();
	await page.getByLabel("MCP servers, one on each line").fill(`calendar ${process.execPath} ${join(dir, "server.mjs")}`);
	await look(page, "setup");
	await page.getByRole("button", { name: "Done" }).click();
	assert.match(await page.innerText("#setup"), /thinkd-folder-\w+ · tools · mode edit/);
	await ask(page, "Read the notes");
	await page.locator(".step.tool", { hasText: "read_file" }).waitFor();
	assert.match(await page.innerText("#setup"), /thinkd-folder-\w+ · \d+ tools · mode edit/, "what is in effect");
	await page.click("#setup");
	const box = page.locator(".pop", { hasText: "Folder and tools" });
	const text = await drawn(box);
	assert.match(text, /Built-in tools\s+.*read_file/);
	assert.match(text, /MCP server calendar\s+\S*later\s/, "by the name that the user gave it");
	assert.match(text, /Instructions\s+\S+AGENTS\.md 16 bytes[\s\S]*Kept of thinking\s+all of it/);
	assert.ok(await box.getByLabel(/^edit/).isChecked());
	await box.getByLabel(/^read/).check();
	await page.waitForFunction(() => document.getElementById("setup-now").textContent.endsWith("mode read"));
	await look(page, "setup-in-effect");
	await page.keyboard.press("Escape");

	// What the model plans to do, also after a reload.
	for (const reload of [false, true]) {
		if (reload) await page.reload();
		await page.locator("#plan summary", { hasText: "1 of 3 done · Compare both dates" }).click();
		assert.match(await page.innerText("#plan ol"), /Read the notes\s+done\s+Compare both dates\s+in progress\s+Answer\s+to do, high priority/);
	}
	await look(page, "plan");

	// A folder that is none is refused, and the text stays.
	await newSession(page);
	await page.click("#setup");
	await page.getByLabel("Folder", { exact: true }).fill(join(dir, "nowhere"));
	await page.keyboard.press("Enter");
	await page.fill("#in", "Hello?");
	await page.press("#in", "Enter");
	await page.locator("#trouble", { hasText: "cwd" }).waitFor();
	assert.equal(await page.inputValue("#in"), "Hello?");
	page.check();
	await page.context().close();
});

test("a session says what it keeps", async () => {
	const page = await open(chrome, daemon.url);
	await page.locator("#model-now", { hasText: "Claude Opus 5.5" }).waitFor();
	await page.click("#setup");
	await page.getByRole("button", { name: "No folder, no tools" }).click();
	await page.click("#setup");
	await page.getByLabel("Keep of the thinking").selectOption("opaque");
	await page.getByLabel("In memory only: the session ends with the daemon").check();
	await page.getByRole("button", { name: "Done" }).click();
	await ask(page, "Hello");
	assert.match(await page.innerText("#setup"), /thinking: opaque · in memory/);
	await page.click("#setup");
	assert.match(await page.innerText(".pop:visible"), /Kept of thinking\s+only what the vendor wants back, without its text\s+Kept of the session\s+nothing/);
	await page.keyboard.press("Escape");
	const rpc = await daemon.rpc();
	const { session } = await rpc.call("session/state", { session_id: new URL(page.url()).hash.slice(2) });
	assert.deepEqual([session.thinking_storage, session.ephemeral], ["opaque", true]);
	await rpc.close();
	page.check();
	await page.context().close();
});

test("where tools are not allowed, the page says what allows them", async () => {
	const page = await open(chrome, closed.url);
	await page.click("#setup");
	await page.getByLabel("Folder", { exact: true }).fill(dir);
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
	await newSession(page);
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
	await newSession(page);
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
	await page.locator("#model-now", { hasText: "Claude Opus 5.5" }).waitFor(); // the models are there: keys move among them
	await page.click("#pick-model");
	await page.fill("#find-model", "claude that always");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowRight");
	await page.click("text=Next turn only");
	await page.locator("#models [role=radio][data-level=low]").click();
	assert.match(await page.innerText("#model-now"), /^Next turn: Simulated/);
	await ask(page, "Once? [[sim: pace=0]]");
	assert.match(await drawn(page.locator(".by h2")), /Simulated Claude that always/);
	assert.match(await page.innerText("#model-now"), /^Claude Opus 5\.5/, "the session has its own model");
	page.check();
	await page.context().close();
});

test("the picker: available models first, simulators last, price and window, favourites, filters, all from the keyboard", async () => {
	const page = await open(chrome, daemon.url);
	await page.locator("#model-now", { hasText: "Claude Opus 5.5" }).waitFor();
	await page.click("#pick-model");
	const groups = () => page.locator("#models [role=group][aria-label]").evaluateAll((all) => all.map((g) => g.getAttribute("aria-label")));
	assert.deepEqual(await groups(), ["anthropic"]);
	assert.match(await drawn(page.locator("#models summary")), /^Simulators \d+, for tests without cost$/);
	assert.match(await drawn(page.locator("#models .prow[data-id='anthropic/claude-opus-5-5']")), /4\.00 \/ 20\.00\s+1M[\s\S]*low[\s\S]*default: medium/);

	// A favourite is listed first, also after a reload.
	await page.locator(".prow[data-id='anthropic/claude-opus-4-6'] .star").click();
	assert.deepEqual(await groups(), ["Favourites", "anthropic"]);
	assert.equal(await page.evaluate(() => document.activeElement.ariaPressed), "true", "the focus stays");
	await look(page, "picker-figures");
	await page.reload();
	await page.locator("#in:enabled").waitFor();
	await page.click("#pick-model");
	await page.locator("#models [role=group][aria-label=Favourites]").waitFor();

	// Models that cannot be called are hidden, and say why when they are shown.
	await page.getByRole("button", { name: /more are not available$/ }).click();
	assert.match(await drawn(page.locator(".prow.off", { hasText: "GPT" }).first()), /no key/);
	await look(page, "picker-all");
	await page.getByRole("button", { name: "Reads images" }).click();
	await page.getByRole("button", { name: "Available" }).click();

	// From the keyboard: filter, down, right to the levels, Enter.
	await page.focus("#find-model");
	await page.keyboard.type("opus 4.6");
	await page.keyboard.press("ArrowDown");
	assert.equal(await page.evaluate(() => document.activeElement.dataset.id), "anthropic/claude-opus-4-6");
	await page.keyboard.press("ArrowRight");
	await page.keyboard.press("ArrowRight");
	const level = await page.evaluate(() => document.activeElement.dataset.level);
	await page.keyboard.press("Enter");
	await page.locator("#picker").waitFor({ state: "hidden" });
	assert.match(await page.innerText("#model-now"), /Opus 4\.6/);
	assert.match(await page.innerText("#level-now"), new RegExp(level));
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
	assert.match(await drawn(answer), /It costs \$5 or \$6\./);
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
	const live = await drawn(page.locator(".by time"));
	await look(page, "daily-answer");
	await page.reload();
	await page.locator(".by time").waitFor();
	assert.match(await drawn(page.locator(".by time")), /^\d\d:\d\d$/, `the time after a reload, live ${live}`);
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
	await page.setViewportSize({ width: 1280, height: 800 });
	await page.click("#keys");
	await page.locator(".keypop").getByRole("button", { name: "Add a key" }).first().click();
	await look(page, "keys");
	page.check();
	await page.context().close();
});

test("a retry that is pending says so", async () => {
	const page = await open(chrome, closed.url);
	await page.fill("#in", "Which? [[sim: fault=overloaded retry_after=2 times=1 pace=0]]");
	await page.press("#in", "Enter");
	const line = page.locator(".step", { hasText: "retry" });
	await line.locator(".name", { hasText: "Starts again" }).waitFor();
	assert.match(await drawn(line), /Attempt 2 in \d+ s/);
	await line.locator(".name", { hasText: "Started again" }).waitFor();
	await page.locator(".foot:visible").waitFor();
	await page.fill("#in", "And this? [[sim: fault=auth pace=0]]");
	await page.press("#in", "Enter");
	await page.getByRole("group", { name: "What you can do" }).getByLabel(/^Key for /).waitFor();
	await look(page, "failure");
	assert.equal(await page.getByRole("group", { name: "Continue" }).count(), 0, "one card is enough where nothing was said");
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

	// A session with this agent.
	await newSession(page);
	await page.click("#setup");
	await page.getByLabel(/^Agent/).selectOption("reviewer");
	await look(page, "agent");
	await page.getByRole("button", { name: "Done" }).click();
	await ask(page, "Is it right? [[sim: pace=0]]");
	assert.match(await page.innerText("#setup"), /reviewer/);
	await page.click("#setup");
	assert.match(await drawn(page.locator(".pop", { hasText: "Folder and tools" })), /Agent\s+reviewer/);
	await page.keyboard.press("Escape");

	await page.click("#to-settings");
	await page.getByText("For this browser only.").waitFor();
	await page.keyboard.press("?");
	await page.locator(".pop", { hasText: "Shortcuts" }).waitFor();
	await look(page, "shortcuts");
	await page.keyboard.press("Escape");
	await page.getByLabel("Theme").selectOption("dark");
	assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(20, 21, 23)");
	await page.reload();
	await page.getByText("For this browser only.").waitFor();
	assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(20, 21, 23)", "after a reload too");
	await newSession(page);
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
	await newSession(page);
	await row.locator("time").waitFor(); // it has been read
	await rpc.call("session/delete", { session_id });
	await row.waitFor({ state: "detached" });
	page.check();
	await page.context().close();
	await rpc.close();
});
