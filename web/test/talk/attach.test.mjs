// Images, PDFs and text files that go with a prompt.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { browser, look, open, serve, vendor } from "../harness.mjs";

let chrome;
let daemon;
let model;
let got;
const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
before(async () => {
	model = await vendor((prompt, messages) => {
		got = messages.at(-1).content;
		return { text: ["Seen."] };
	});
	[chrome, daemon] = await Promise.all([browser(), serve({ env: model.env })]);
});

const pdf = Buffer.from("%PDF-1.4\n%%EOF\n");
const files = [{ name: "dot.png", mimeType: "image/png", buffer: png }, { name: "plan.pdf", mimeType: "application/pdf", buffer: pdf }, { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("The second is later.\n") }];

test("attach, paste and drop files", async () => {
	const page = await open(chrome, daemon.url);
	await page.locator("#model-now", { hasText: "Claude Opus 5.5" }).waitFor();
	await page.getByLabel("Files to attach").setInputFiles(files);
	await page.locator("#attached li").nth(2).waitFor();
	for (const [name, target] of [["paste", "#in"], ["drop", "#page"]]) {
		await page.evaluate(([name, target]) => {
			const data = new DataTransfer();
			data.items.add(new File([new Uint8Array([0, 255, 254])], `${name}.bin`));
			document.querySelector(target).dispatchEvent(name === "paste" ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }) : new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
		}, [name, target]);
		await page.locator("#attached .warn", { hasText: `${name}.bin` }).waitFor();
	}
	assert.match(await page.innerText("#attached"), /paste\.bin\s+Not sent: only images, PDFs, sounds and text files can be attached/);
	assert.match(await page.innerText("#attached"), /dot\.png\s+70 bytes/);
	await look(page, "attach");
	await page.fill("#in", "What is this?");
	await page.press("#in", "Enter");
	await page.locator(".foot:visible").waitFor();
	assert.deepEqual(got.map((b) => b.type), ["image", "document", "document", "text"]);
	assert.equal(got[0].source.data, png.toString("base64"));
	assert.equal(got[1].source.data, pdf.toString("base64"));
	assert.equal(got[2].source.data, "The second is later.\n");
	assert.match(got[2].title, /^notes\.txt/);
	assert.equal(await page.locator("#attached").isHidden(), true);
	for (const reloaded of [false, true]) {
		if (reloaded) await page.reload();
		await page.locator(".said img[alt='dot.png']").waitFor();
		assert.equal(await page.locator(".said a[download='plan.pdf']").count(), 1);
		await page.locator(".said summary", { hasText: "notes.txt" }).click();
		await page.locator(".said pre", { hasText: "The second is later." }).waitFor();
	}
	await look(page, "attached");

	// A prompt may be files alone, and one that is asked again has them again.
	await page.getByLabel("Files to attach").setInputFiles(files.slice(0, 1));
	await page.locator("#attached li").waitFor();
	await page.click("#send");
	await page.locator(".foot:visible").nth(1).waitFor();
	assert.deepEqual(got.map((b) => b.type), ["image"]);
	await page.getByRole("button", { name: "Ask again" }).first().click();
	await page.locator(".pop .opt", { hasText: "As a new turn" }).click();
	await page.locator(".foot:visible").nth(2).waitFor();
	assert.deepEqual(got.map((b) => b.type), ["image", "document", "document", "text"]);
	page.check();
	await page.context().close();
});

test("files that the model does not take are refused before the prompt is sent", async () => {
	const page = await open(chrome, daemon.url);
	await page.locator("#model-now", { hasText: "Claude Opus 5.5" }).waitFor();
	await page.getByLabel("Files to attach").setInputFiles(files);
	await page.locator("#attached li").nth(2).waitFor();
	await page.click("#pick-model");
	await page.locator("#models summary").click();
	await page.locator("#models .m[data-id='sim/gpt-open']").click();
	await page.locator("#models [role=radio][data-level=low]").click();
	await page.locator("#attached .warn").nth(1).waitFor();
	const why = "Simulated GPT with open weights takes no";
	assert.deepEqual(await page.locator("#attached .warn small").allInnerTexts(), [`${why} images`, `${why} PDFs`]);
	await page.fill("#in", "What is this? [[sim: pace=0]]");
	await page.press("#in", "Enter");
	await page.locator("#trouble", { hasText: `dot.png: ${why} images. Remove the file or choose another model.` }).waitFor();
	await look(page, "attach-refused");
	assert.equal(await page.locator(".turn").count(), 0);
	await page.getByRole("button", { name: "Remove dot.png" }).click();
	await page.getByRole("button", { name: "Remove plan.pdf" }).click();
	assert.equal(await page.locator("#trouble").isHidden(), true);
	await page.press("#in", "Enter"); // text goes to every model
	await page.locator(".foot:visible").waitFor();
	assert.equal(await page.locator(".said summary", { hasText: "notes.txt" }).count(), 1);
	page.check();
	await page.context().close();
});
