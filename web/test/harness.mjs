// What the browser tests share: the program, a browser, a stand-in for a vendor that says what it is told to, and a wire
// that can be cut. $THINKD is the program. $SHOTS, if it is set, is a folder for screenshots.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer as createHTTP } from "node:http";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { chromium } from "playwright-core";

const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--font-render-hinting=none"];

/** Starts a browser. */
export const browser = () => chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: flags });

/** A page that must not fail: what it throws or logs as an error fails the test at check(). */
export async function open(from, url, options = {}) {
	const context = options.context ?? (await from.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light", ...options }));
	const page = await context.newPage();
	page.setDefaultTimeout(Number(process.env.WAIT ?? 120_000)); // for a busy machine: a passing test never waits this long
	const wrong = [];
	page.on("pageerror", (error) => wrong.push(String(error.stack ?? error)));
	page.on("console", (message) => {
		if (message.type() === "error") wrong.push(message.text());
	});
	page.check = (allowed = /$^/) => {
		const left = wrong.filter((text) => !allowed.test(text));
		if (left.length > 0) throw new Error(`the page complains: ${left.join("\n")}`);
	};
	await page.goto(url);
	return page;
}

/** Starts `thinkd serve` on a data directory of its own. */
export async function serve({ config = "", env = {} } = {}) {
	const home = await mkdtemp(join(tmpdir(), "thinkd-page-"));
	await writeFile(join(home, "config.toml"), config);
	const flags = ["--config", join(home, "config.toml"), "--data", join(home, "data")];
	const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/_API_KEY$|_BASE_URL$|^XDG_|^OLLAMA_/.test(name)));
	const start = async (listen) => {
		const child = spawn(process.env.THINKD, [...flags, "serve", "--listen", listen], { env: { ...clean, HOME: home, OLLAMA_HOST: "http://127.0.0.1:1", ...env }, stdio: ["ignore", "pipe", "inherit"] });
		const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
		const { value: base } = await lines.next();
		const { value: where } = await lines.next();
		const token = await readFile(where.replace(/^token: /, ""), "utf8");
		return { child, url: `${base}#token=${token.trim()}` };
	};
	let running = await start("127.0.0.1:0");
	const stop = async (signal = "SIGTERM") => {
		running.child.kill(signal);
		await once(running.child, "exit");
	};
	return {
		url: running.url,
		origin: new URL(running.url).origin,
		/** Kills the daemon and starts another at the same address. */
		async restart() {
			await stop("SIGKILL");
			running = await start(new URL(running.url).host);
		},
		async close() {
			await stop();
			await rm(home, { recursive: true, force: true });
		},
		/** Calls methods through `thinkd stdio`. */
		async rpc() {
			const child = spawn(process.env.THINKD, [...flags, "stdio"], { env: { ...clean, HOME: home }, stdio: ["pipe", "pipe", "inherit"] });
			const pending = new Map();
			let id = 0;
			createInterface({ input: child.stdout }).on("line", (line) => {
				const { id, result, error } = JSON.parse(line);
				const p = pending.get(id);
				if (!p) return;
				pending.delete(id);
				if (error) p.reject(new Error(error.message));
				else p.resolve(result);
			});
			return {
				call: (method, params) => new Promise((resolve, reject) => {
					pending.set(++id, { resolve, reject });
					child.stdin.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
				}),
				async close() {
					child.stdin.end();
					await once(child, "exit");
				},
			};
		},
	};
}

/** A wire to the daemon that can be cut: its own address is one of the daemon's names. */
export async function wire() {
	const open = new Set();
	let target;
	const server = createServer((from) => {
		const to = connect(target, "127.0.0.1");
		for (const [a, b] of [[from, to], [to, from]]) {
			open.add(a);
			a.on("error", () => {});
			a.on("close", () => {
				open.delete(a);
				b.destroy();
			});
			a.pipe(b);
		}
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const port = server.address().port;
	return {
		host: `127.0.0.1:${port}`,
		to(url) {
			const u = new URL(url);
			target = Number(u.port);
			u.port = String(port);
			return u.href;
		},
		cut() {
			for (const socket of open) socket.destroy();
		},
		close: () => new Promise((resolve) => {
			for (const socket of open) socket.destroy();
			server.close(resolve);
		}),
	};
}

/** A vendor that speaks the Messages API and says what say(prompt) gives: {thinking, text} as lists of deltas, calls as a list of {name, input}, `pause` milliseconds after each `every`. */
export async function vendor(say) {
	const server = createHTTP(async (request, response) => {
		let body = "";
		for await (const chunk of request) body += chunk;
		const { messages, model } = JSON.parse(body);
		const last = messages.at(-1).content;
		const { thinking = [], text = [], calls = [], every = 1, pause = 0 } = say(typeof last === "string" ? last : last.map((b) => b.text ?? "").join(""), messages);
		response.writeHead(200, { "Content-Type": "text/event-stream" });
		const event = (type, data) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
		response.write(event("message_start", { message: { id: "msg_1", type: "message", role: "assistant", model, content: [], usage: { input_tokens: 100, output_tokens: 1 } } }));
		let n = 0;
		let index = 0;
		for (const [block, list, delta] of [
			[{ type: "thinking", thinking: "", signature: "" }, thinking, (t) => ({ type: "thinking_delta", thinking: t })],
			[{ type: "text", text: "" }, text, (t) => ({ type: "text_delta", text: t })],
		]) {
			if (list.length === 0) continue;
			response.write(event("content_block_start", { index, content_block: block }));
			for (const t of list) {
				if (response.destroyed) return; // the call was cancelled
				const more = response.write(event("content_block_delta", { index, delta: delta(t) }));
				if (pause && ++n % every === 0) await new Promise((resolve) => setTimeout(resolve, pause));
				else if (!more) await Promise.race([once(response, "drain"), once(response, "close")]);
			}
			if (block.type === "thinking") response.write(event("content_block_delta", { index, delta: { type: "signature_delta", signature: "c2lnbmVk" } }));
			response.write(event("content_block_stop", { index }));
			index++;
		}
		for (const { name, input } of calls) {
			response.write(event("content_block_start", { index, content_block: { type: "tool_use", id: `toolu_${messages.length}_${index}`, name, input: {} } }));
			response.write(event("content_block_delta", { index, delta: { type: "input_json_delta", partial_json: JSON.stringify(input) } }));
			response.write(event("content_block_stop", { index }));
			index++;
		}
		response.write(event("message_delta", { delta: { stop_reason: calls.length ? "tool_use" : "end_turn" }, usage: { output_tokens: 50 } }));
		response.end(event("message_stop", {}));
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	return {
		env: { ANTHROPIC_API_KEY: "sk-of-the-test", ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.address().port}` },
		close: () => {
			server.closeAllConnections();
			return new Promise((resolve) => server.close(resolve));
		},
	};
}

/** What a session's conversation says, as text. */
export const said = (page) => page.evaluate(() => [...document.querySelectorAll(".turn:not([hidden])")].map((t) => ({
	said: t.querySelector(".said")?.textContent ?? "",
	answer: [...t.querySelectorAll(".answer")].map((a) => a.textContent).join("\n"),
})));

/** Takes a screenshot where that is wanted. */
export async function shot(page, name) {
	if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
}

const axe = await readFile(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

/** Nothing that axe finds. */
export async function accessible(page, what) {
	// The page's policy lets no script in from outside, so that axe comes in by the debugger.
	if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
	const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
	assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target + " " + n.failureSummary).join("; ")}`), [], what);
}

const sizes = [[1440, 900], [820, 1180], [390, 844]];
const looks = sizes.flatMap(([width, height]) => ["light", "dark"].map((colorScheme) => ({ width, height, colorScheme })));

/** Looks at the page in all sizes and colours; with `few`, in each size and each colour once, unless there are screenshots to take. */
export async function look(page, name, few = false) {
	for (const { width, height, colorScheme } of few && !process.env.SHOTS ? [looks[0], looks.at(-1)] : looks) {
		await page.setViewportSize({ width, height });
		await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
		await page.waitForTimeout(100);
		await shot(page, `${name}-${width}-${colorScheme}`);
		await accessible(page, `${name} ${width} ${colorScheme}`);
		const sideways = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
		assert.equal(sideways, false, `${name}: nothing scrolls sideways at ${width}`);
	}
	await page.setViewportSize({ width: 1280, height: 800 });
	await page.emulateMedia({ colorScheme: "light", reducedMotion: null });
}

/** Asks, and waits for the end of the turn. */
export async function ask(page, text) {
	const before = await page.locator(".foot:visible").count();
	await page.fill("#in", text);
	await page.press("#in", "Enter");
	await page.locator(".foot:visible").nth(before).waitFor();
}
