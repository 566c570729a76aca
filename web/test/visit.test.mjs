// A first visit: no key, the simulator answers.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { accessible, ask, browser, drawn, look, newSession, open, serve, shot } from "./harness.mjs";

let chrome;
let daemon;
before(async () => {
	[chrome, daemon] = await Promise.all([browser(), serve()]);
});

test("a first visit: thinking unfolds and folds", async () => {
	const page = await open(chrome, daemon.url);
	await page.getByText("Watch a model think").waitFor();
	assert.equal(new URL(page.url()).hash, "#/", "the token has left the address bar");
	await look(page, "first");

	await page.click("#try-think");
	const live = page.locator(".step.think.live");
	await live.waitFor();
	assert.equal(await live.evaluate((e) => e.open), true, "a thought opens as it begins");
	await page.locator(".window .line").first().waitFor();
	await shot(page, "live");
	await page.locator(".foot:visible").waitFor();
	const thought = page.locator(".step.think").first();
	await page.waitForFunction(() => !document.querySelector(".step.think").open);
	assert.match(await drawn(thought.locator(".facts")), /\d+ (ms|s)[\s\S]*(full|summary)/, "its facts: time and kind");
	assert.equal(await thought.locator(".body .line").count(), 0, "a folded thought holds no nodes");
	await thought.locator("summary").click();
	await thought.locator(".thought .line", { hasText: "Lisbon" }).first().waitFor(); // it unfolds by hand
	await thought.locator("summary").click();
	assert.equal(await thought.evaluate((e) => e.open), false, "and folds");
	await look(page, "answer");
	await page.click("#meter");
	await page.locator(".pop", { hasText: "Read from cache" }).waitFor();
	await look(page, "meter");
	await page.keyboard.press("Escape");
	page.check();
	await page.context().close();
});

test("model and level: the model's own list, the effective level, for a session and for a turn", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, "Which is later, March or May? [[sim: pace=0]]");
	await page.click("#pick-model");
	await page.fill("#find-model", "budget");
	await page.locator("#models .m", { hasText: "Simulated Claude with a thinking budget" }).click();
	const levels = await page.locator("#models [role=radio]").allInnerTexts();
	assert.ok(levels.some((l) => l.includes("off")) && !levels.some((l) => l.includes("xhigh")), `its own levels: ${levels}`);
	await look(page, "picker");
	await page.locator("#models [role=radio][data-level=low]").click();
	// Another model reads the conversation anew: that is said before it is done.
	await page.getByText("The prompt cache would be lost").waitFor();
	await look(page, "cache");
	await page.getByRole("button", { name: "Switch" }).click();
	await page.locator("#picker").waitFor({ state: "hidden" });
	assert.match(await page.innerText("#level-now"), /low/);
	await ask(page, "And July? [[sim: pace=0]]");
	const chips = page.locator(".chip");
	assert.match(await drawn(chips.nth(1)), /low/, "the turn shows the level in effect");

	// A model that does not think has no levels to choose, and says so.
	await page.click("#pick-model");
	const silent = page.locator("#models .prow[data-id='sim/gpt-silent']");
	assert.match(await drawn(silent), /does not think/);
	await silent.locator(".m").click();
	await page.getByText("The prompt cache would be lost").waitFor();
	assert.equal(await silent.locator("[role=radio]").count(), 0);
	await page.keyboard.press("Escape");

	// For the next turn only, from the keyboard.
	await page.keyboard.press("Control+/");
	await page.keyboard.type("claude that always");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowRight");
	await page.click("text=Next turn only");
	await page.locator("#models [role=radio][data-level=max]").click();
	assert.match(await page.innerText("#model-now"), /Next turn/);
	await ask(page, "And one turn of it? [[sim: pace=0]]");
	assert.match(await drawn(chips.nth(2)), /max/);
	assert.match(await page.innerText("#model-now"), /budget/, "the session's model is as it was");

	// A fork has what is before, and goes its own way.
	await page.getByRole("button", { name: "Fork from here" }).first().click();
	await page.waitForFunction(() => document.querySelectorAll(".turn").length === 1);
	await ask(page, "Another way? [[sim: pace=0]]");

	// A clamp is shown, with what was asked, what was got, why, and what is sent.
	await newSession(page);
	await page.click("#try-clamp");
	const clamp = page.locator(".chip.clamp");
	await clamp.waitFor();
	assert.match((await clamp.textContent()) ?? "", /Requested max\s*, in effect high/);
	await page.locator(".foot:visible").waitFor();
	await clamp.click();
	assert.match(await page.innerText(".pop[role=dialog]:visible"), /level_not_supported[\s\S]*budget_tokens/);
	await look(page, "clamp");
	page.check();
	await page.context().close();
});

test("a tool asks, and gets the answer", async () => {
	const page = await open(chrome, daemon.url);
	await page.click("#try-tool");
	await page.locator(".card.ask").waitFor();
	await page.waitForFunction(() => document.title.startsWith("Asks you: "));
	assert.match(await page.innerText("#say"), /Asks you: .* wants to use local_time, which a client runs\./);
	await look(page, "confirm");
	const allow = page.getByRole("button", { name: "Allow once", exact: true });
	await page.locator(".card.ask:not(.fresh)").waitFor();
	await allow.click();
	await page.locator(".foot:visible").waitFor();
	const tool = page.locator(".step.tool");
	assert.match(await drawn(tool.locator(".facts")), /done/);
	if (!(await tool.evaluate((e) => e.open))) await tool.locator("summary").click();
	assert.match(await drawn(tool), new RegExp(String(new Date().getFullYear())), "its output is the time here");
	await look(page, "tool");
	page.check();
	await page.context().close();
});

test("queue, steer, stop, raw updates, search, keys", async () => {
	const page = await open(chrome, daemon.url);
	await page.fill("#in", "Count slowly. [[sim: thinking=4000 pace=5]]");
	await page.press("#in", "Enter");
	await page.locator(".step.think.live").waitFor();
	await page.fill("#in", "Then this waits");
	await page.press("#in", "Enter");
	await page.locator("#queue li").waitFor();
	assert.match(await page.innerText("#queue"), /Then this waits/);
	await page.fill("#in", "And this is last");
	await page.press("#in", "Enter");
	await page.locator("#queue li", { hasText: "And this is last" }).waitFor();
	await look(page, "queue");

	await page.getByRole("button", { name: "Edit in the queue" }).last().click();
	const field = page.getByLabel("Edited prompt");
	assert.equal(await field.inputValue(), "And this is last");
	await field.fill("Now this is first");
	await look(page, "queue edit");
	await field.press("Enter");
	await page.locator("#queue li", { hasText: "Now this is first" }).waitFor();
	assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), "Edit in the queue", "the focus goes back");
	await page.getByRole("button", { name: "Move up in the queue" }).click();
	await page.locator("#queue li", { hasText: "Now this is first" }).filter({ hasText: "next" }).waitFor();
	assert.equal(await page.evaluate(() => document.activeElement.closest("li").innerText.includes("Now this")), true, "the focus stays with the prompt");
	for (const text of ["Then this waits", "Now this is first"]) {
		const row = page.locator("#queue li", { hasText: text });
		await row.getByRole("button", { name: "Remove from the queue" }).click();
		await row.waitFor({ state: "detached" });
	}
	await page.locator("#queue").waitFor({ state: "hidden" });

	await page.click("#raw-toggle");
	await page.locator("#rawlist summary", { hasText: "thinking_delta" }).first().waitFor();
	await page.locator("#rawlist summary", { hasText: "turn_start" }).click();
	assert.match(await page.innerText("#rawlist pre"), /"method": "turn_start"/);
	await look(page, "raw");
	await page.click("#raw-close");

	await page.focus("#in");
	await page.keyboard.press("Escape");
	await page.locator(".foot .end", { hasText: "cancelled" }).waitFor();
	assert.match(await drawn(page.locator(".step.think .name")), /cut off/, "a thought that was cut off says so");

	await page.keyboard.press("Control+k");
	await page.keyboard.type("count slow");
	await page.locator("#found", { hasText: /^1 found$/ }).waitFor(); // the first letters alone may fit more
	await page.locator("#sessions mark").first().waitFor();
	await page.fill("#find", "");
	await page.locator("#sessions a.row").nth(1).waitFor();
	await page.focus("#find");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowDown");
	const there = await page.evaluate(() => document.activeElement.dataset.id);
	assert.ok(there, "the arrow keys focus a session");
	await page.keyboard.press("Enter");
	await page.waitForFunction((id) => location.hash === `#/${id}`, there).catch(async () => {
		assert.fail(`Enter on session ${there} leads to ${await page.evaluate(() => `${location.hash}, with the focus on ${document.activeElement.outerHTML.slice(0, 200)}`)}`);
	});
	await page.locator(".turn:visible").first().waitFor();

	// The drawer of a phone.
	await page.setViewportSize({ width: 390, height: 844 });
	await page.click("#menu");
	await page.evaluate(() => Promise.all(document.getAnimations().map((a) => a.finished)));
	await shot(page, "drawer", 900);
	await accessible(page, "drawer");
	await page.keyboard.press("Escape");
	await page.waitForFunction(() => document.activeElement.id === "menu"); // focus goes back
	page.check();
	await page.context().close();
});
