// What answers have besides text: an image, and pages that the text refers to.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { ask, browser, drawn, hold, look, open, serve, shot, vendor } from "../harness.mjs";

let chrome;
let daemon;
let model;
before(async () => {
	model = await vendor((prompt) => (prompt.includes("One of these") ? { thinking: ["The second."], text: [...Array(100).fill("later "), hold().until] } : { text: ["So."] }));
	[chrome, daemon] = await Promise.all([browser(), serve({ config: 'model = "sim/gemini"\n', env: model.env })]);
});

/** The image is drawn, and the sources are links to the pages, each once, and ask for nothing by themselves. */
async function shown(page) {
	const image = page.locator(".turn img");
	await image.waitFor();
	await page.waitForFunction(() => document.querySelector(".turn img").naturalWidth > 0);
	assert.equal(await image.getAttribute("alt"), "Image of the answer");
	const links = page.locator(".sources a");
	await links.first().waitFor();
	assert.deepEqual(await links.allInnerTexts(), ["The first page", "The second page"]);
	assert.deepEqual(await links.evaluateAll((all) => all.map((a) => [a.href, a.rel])),
		[["https://example.com/first", "noopener noreferrer"], ["https://example.com/second", "noopener noreferrer"]]);
	const below = await page.evaluate(() => document.querySelector(".sources").previousElementSibling.classList.contains("answer"));
	assert.equal(below, true, "the sources stand below their text");
}

test("an answer with an image and sources, live and from the history", async () => {
	const page = await open(chrome, daemon.url);
	const asked = [];
	page.on("request", (r) => asked.push(r.url()));
	// The sources come behind the image, when their text has ended.
	await ask(page, "Which page says so? [[sim: pace=0 thinking=5 text=20 image sources]]");
	await shown(page);
	await shot(page, "sources");
	await page.reload();
	await shown(page);
	assert.deepEqual(asked.filter((url) => url.includes("example.com")), [], "no page is asked for");
	page.check();
	await page.context().close();
});

test("an answer of another model is marked, live and from the history", async () => {
	const page = await open(chrome, daemon.url);
	await ask(page, "Which date is later? [[sim: pace=0 thinking=5 text=20 served=small-0]]");
	const chip = page.locator(".turn .by .served.clamp");
	for (const how of ["live", "from the history"]) {
		await chip.waitFor();
		assert.match(await drawn(chip), /^not .*Gemini/, how);
		assert.equal(await drawn(page.locator(".turn .by h2")), "small-0", `${how}: the model that answered is the heading`);
		assert.match(await chip.getAttribute("title"), /^gemini was asked for; answered by ./, how);
		if (how === "live") {
			await page.locator(".step.warn", { hasText: "Another model answers" }).waitFor(); // the notice
			await look(page, "another-model");
			await page.reload();
		}
	}
	page.check();
	await page.context().close();
});

test("an answer that was cut off offers to continue, live and from the history", async () => {
	const page = await open(chrome, daemon.url);
	await page.locator("textarea").first().fill("Which date is later? [[sim: pace=0 thinking=0 text=40 fault=cut after=5 times=1]]");
	await page.keyboard.press("Enter");
	const card = page.locator(".turn .card[aria-label=Continue]:visible");
	await card.waitFor();
	await page.reload();
	await card.waitFor();
	const more = card.getByRole("button", { name: "Show what is sent" });
	assert.equal(await more.getAttribute("aria-expanded"), "false");
	await more.click();
	await card.locator(".parts", { hasText: "text: kept" }).waitFor();
	assert.equal(await more.getAttribute("aria-expanded"), "true");
	assert.match(await drawn(card), /Continue keeps 1 text, and asks for the rest\. The model reads ~\d+ tokens again/);
	await look(page, "continue");
	await card.getByRole("button", { name: "Continue", exact: true }).click();
	await page.locator(".turn").nth(1).locator(".answer").waitFor();
	await card.waitFor({ state: "hidden" });
	assert.equal(await card.count(), 0, "the offer is gone");
	page.check();
	await page.context().close();
});

test("a stopped answer of a paid model says what continuing keeps and costs", async () => {
	const rpc = await daemon.rpc();
	const { session_id } = await rpc.call("session/new", { model_id: "anthropic/claude-opus-5-5" });
	const page = await open(chrome, daemon.url);
	await page.evaluate((id) => {
		location.hash = `/${id}`;
	}, session_id);
	await page.locator("#menu-session").waitFor();
	await rpc.call("session/prompt", { session_id, text: `Which date is later? ${"One of these. ".repeat(12_000)}` });
	await page.locator(".answer .tail:not(:empty)").waitFor();
	await page.click("#stop");
	const card = page.locator(".card[aria-label=Continue]:visible");
	await card.waitFor();
	assert.match(await drawn(card), /The answer was stopped\s+Continue keeps 1 thought, 1 text, and asks for the rest\. The model reads ~[\d,]+ tokens again: \$0\.0\d+ to \$0\.\d+\. The new text is extra\./);
	await page.waitForFunction(() => {
		const { scrollHeight, scrollTop, clientHeight } = document.querySelector("#scroll");
		return scrollHeight - scrollTop - clientHeight < 2;
	}); // the page scrolls along to the card
	await shot(page, "continue-paid");
	await page.fill("#in", "And why?");
	await page.press("#in", "Enter");
	await card.waitFor({ state: "hidden" }); // it is not the last turn any more
	page.check();
	await page.context().close();
	await rpc.close();
});

test("a turn that failed before any answer says why, live and from the history", async () => {
	const page = await open(chrome, daemon.url);
	await page.locator("textarea").first().fill("And this? [[sim: fault=auth pace=0]]");
	await page.keyboard.press("Enter");
	const failure = (n) => page.locator(".turn").nth(n).locator(".step.bad", { hasText: "The provider needs a key" });
	const card = (n) => page.locator(".turn").nth(n).locator(".card.bad");
	for (const place of ["live", "from the history"]) {
		if (place !== "live") await page.reload();
		await failure(0).waitFor();
		await card(0).waitFor();
		const text = await drawn(page.locator(".turn"));
		assert.match(text, /Simulated Gemini\s+medium/, `${place}: which model it was`);
		assert.match(text, /invalid|key/i, place);
		assert.match(await drawn(page.locator(".turn .foot")), /^error/, place);
		assert.ok(await page.getByLabel("Key for sim").isVisible(), place);
	}
	await look(page, "failure-history");
	await page.fill("#in", "Once more. [[sim: fault=auth pace=0]]");
	await page.press("#in", "Enter");
	for (const place of ["live", "from the history"]) {
		if (place !== "live") await page.reload();
		await failure(1).waitFor();
		await card(1).waitFor();
		assert.ok(await failure(0).isVisible(), place);
		assert.ok(!(await card(0).isVisible()), `${place}: what to do is offered for the last turn`);
	}
	page.check();
	await page.context().close();
});
