// The first ten minutes with the page, from README alone: an own key, an own folder with tools, a second tab, and a phone behind a
// forwarded port. The simulator on a port of its own is the vendor.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";

import { ask, browser, folder, look, open, serve, simulator, wire } from "./harness.mjs";

let chrome;
let daemon;
let cable;
let dir;
let guide; // README's section about the page
before(async () => {
	const readme = await readFile(new URL("../../README.md", import.meta.url), "utf8");
	guide = readme.slice(readme.indexOf("\n## The page\n"), readme.indexOf("\n## Commands\n"));
	let vendor;
	[chrome, vendor, cable, dir] = await Promise.all([browser(), simulator(), wire(), folder().then((f) => f.path)]);
	await writeFile(join(dir, "notes.txt"), "The second date is later.\n");
	const hosts = setting("hosts", "[serve]").replace(/127\.0\.0\.1:\d+/, cable.host);
	daemon = await serve({ config: `[tools]\n${setting("builtin", "[tools]")}\n[serve]\n${hosts}\n[providers.anthropic]\nbase_url = "${vendor.url}"\n` });
});

/** A setting that README names, with the table that it belongs to. */
function setting(name, table) {
	const found = new RegExp("`(" + name + " = [^`]+)` under\\s+`([^`]+)`").exec(guide);
	assert.ok(found, `README does not say how to set ${name}`);
	assert.equal(found[2], table);
	return found[1];
}

/** A label of the page, as README has it. */
function label(text) {
	assert.ok(guide.replace(/\s+/g, " ").includes(`"${text}"`), `README does not name ${text}`);
	return text;
}

test("key, folder, tool, second tab, phone", async () => {
	assert.match(guide, /^ {4}thinkd serve --open$/m);
	const page = await open(chrome, daemon.url);
	await page.getByText("There is no key yet").waitFor();

	await page.getByRole("button", { name: label("Providers and keys") }).click();
	const row = page.locator(".keylist li", { hasText: "anthropic" }).first();
	await row.getByRole("button", { name: label("Add a key") }).click();
	await page.keyboard.type("sk-ant-of-a-new-user");
	await page.keyboard.press("Enter");
	await row.getByText("ready").waitFor();
	await page.keyboard.press("Escape");
	await page.locator("#model-now", { hasText: "Claude" }).waitFor();

	await page.getByRole("button", { name: label("No folder") }).click();
	await page.getByLabel("Folder", { exact: true }).fill(dir);
	await page.getByLabel(label("Tools for files and commands in this folder")).check();
	await page.getByRole("button", { name: "Done" }).click();
	await ask(page, 'Read my notes [[sim: pace=0 tool=read_file args={"path":"notes.txt"}]]');
	await page.locator(".step.tool", { hasText: "notes.txt" }).locator("summary").click();
	await page.locator(".step.tool", { hasText: "The second date is later." }).waitFor();

	// What changes something asks first.
	await page.fill("#in", 'Write it down [[sim: pace=0 tool=write_file args={"path":"new.txt","content":"later"}]]');
	await page.press("#in", "Enter");
	await page.locator(".card.ask").waitFor();
	await look(page, "minutes");

	// The address without its token, in a second tab. Its answer closes the question everywhere.
	const second = await open(chrome, page.url(), { context: page.context() });
	await second.locator(".card.ask").waitFor();
	const allow = second.getByRole("button", { name: "Allow once", exact: true });
	await second.locator(".card.ask:not(.fresh)").waitFor();
	await allow.click();
	await page.locator(".card.ask").waitFor({ state: "detached" });
	await page.locator(".foot:visible").nth(1).waitFor();
	assert.equal(await readFile(join(dir, "new.txt"), "utf8"), "later");

	// A phone, through a port of its own.
	assert.match(guide, /ssh -L 7717:127\.0\.0\.1:7717/);
	const phone = await open(chrome, cable.to(daemon.url), { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
	await phone.getByRole("button", { name: "Sessions", exact: true }).tap();
	await phone.locator("#sessions a.row").first().tap();
	await phone.locator(".foot:visible").nth(1).waitFor();
	await ask(phone, "From the phone [[sim: pace=0]]");
	await page.locator(".said", { hasText: "From the phone" }).waitFor();
	for (const p of [page, second, phone]) p.check();
	await page.context().close();
	await phone.context().close();
});
