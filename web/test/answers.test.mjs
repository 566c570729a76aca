// What answers have besides text: an image, and pages that the text refers to.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { ask, browser, open, serve, shot } from "./harness.mjs";

let chrome;
let daemon;
before(async () => {
	[chrome, daemon] = await Promise.all([browser(), serve({ config: 'model = "sim/gemini"\n' })]);
});
after(async () => {
	await chrome.close();
	await daemon.close();
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
		assert.equal(await chip.innerText(), "answered by small-0", how);
		assert.match(await chip.getAttribute("title"), /^gemini was asked for/, how);
		if (how === "live") {
			await shot(page, "another-model");
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
	await card.getByRole("button", { name: "Show what is sent" }).click();
	await page.waitForFunction(() => document.querySelector(".card[aria-label=Continue] [role=status]").textContent.includes("text: kept"));
	await shot(page, "continue");
	await card.getByRole("button", { name: "Continue", exact: true }).click();
	await page.locator(".turn").nth(1).locator(".answer").waitFor();
	await card.waitFor({ state: "hidden" });
	assert.equal(await card.count(), 0, "the offer is gone");
	page.check();
	await page.context().close();
});
