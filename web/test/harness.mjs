// What the browser tests share: the program, a browser, a stand-in for a vendor that answers from a script, and a wire
// that can be cut. $THINKD is the program. $SHOTS, if it is set, is a folder for screenshots. $THINKD_CERT and
// $THINKD_KEY are the files of a certificate for 127.0.0.1.
//
// Everything that a story starts here ends with the story, whether it passes or not: a story needs no after() of its own.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer as createHTTP } from "node:http";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";

import { chromium } from "playwright-core";

const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--font-render-hinting=none"];

const started = []; // promises of things with a close(), also of those that are still starting when another one has failed
const children = new Set();
after(async () => {
	for (const starting of started.reverse()) {
		const thing = await starting.catch(() => {}); // the story has reported it
		await thing?.close().catch((error) => console.error("at the end of the story:", error));
	}
	setTimeout(() => {
		console.error("the story has ended, and something goes on:", process.getActiveResourcesInfo().join(" "));
		process.exit(1);
	}, 30_000).unref(); // a story that passes has nothing left that this could wait for
});
process.once("SIGTERM", () => process.exit(1));
process.on("exit", () => {
	for (const child of children) child.kill("SIGKILL");
});

/** A function that starts something with a close(). It is closed once: by the story, or at its end. */
const closing = (start) => (...args) => {
	const starting = start(...args).then((thing) => {
		const close = thing.close.bind(thing);
		let closed;
		thing.close = () => (closed ??= close());
		return thing;
	});
	started.push(starting);
	return starting;
};

/** Starts the program. `ended` is how it ended, once it has. */
function program(args, options) {
	const child = spawn(process.env.THINKD, args, options);
	children.add(child);
	child.ended = new Promise((resolve) => {
		child.on("error", resolve); // it could not be started
		child.on("exit", (code, signal) => {
			children.delete(child);
			resolve(new Error(`thinkd ${args.join(" ")} ended: ${signal ?? `status ${code}`}`));
		});
	});
	return child;
}

/** Starts a browser. */
export const browser = closing(() => chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: flags }));

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
	await page.waitForFunction(() => !document.body.inert); // it has exchanged the token of the address
	return page;
}

/** Waits until the daemon's page is loaded and connected. The browser may still be loading it, or another page before it. */
export const connected = (page) => page.locator("#line-state", { hasText: /^Connected$/ }).waitFor({ state: "attached" });

/** The config of a listener with TLS; its pages need `ignoreHTTPSErrors`. */
export function overTLS() {
	const { THINKD_CERT: cert, THINKD_KEY: key } = process.env;
	assert.ok(cert && key, "the story needs $THINKD_CERT and $THINKD_KEY");
	return `[serve]\ntls_cert = ${JSON.stringify(cert)}\ntls_key = ${JSON.stringify(key)}\n`;
}

/** Starts `thinkd serve` on a data directory of its own. */
export const serve = closing(async ({ config = "", env = {} } = {}) => {
	const home = await mkdtemp(join(tmpdir(), "thinkd-page-"));
	await writeFile(join(home, "config.toml"), config);
	const flags = ["--config", join(home, "config.toml"), "--data", join(home, "data")];
	const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/_API_KEY$|_BASE_URL$|^XDG_|^OLLAMA_/.test(name)));
	const start = async (listen) => {
		const child = program([...flags, "serve", "--listen", listen], { env: { ...clean, HOME: home, OLLAMA_HOST: "http://127.0.0.1:1", ...env }, stdio: ["ignore", "pipe", "inherit"] });
		const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
		const line = async (what, form) => {
			const { value, done } = await Promise.race([lines.next(), child.ended.then((error) => Promise.reject(error))]);
			if (done) throw await child.ended;
			assert.match(value, form, `serve has to print its ${what}`);
			return value;
		};
		const base = await line("address", /^https?:/);
		const token = await readFile((await line("token", /^token: /)).replace("token: ", ""), "utf8");
		return { child, url: `${base}#token=${token.trim()}` };
	};
	const remove = () => rm(home, { recursive: true, force: true });
	let running = await start("127.0.0.1:0").catch(async (error) => {
		await remove();
		throw error;
	});
	const stop = async (signal = "SIGTERM") => {
		running.child.kill(signal);
		await running.child.ended;
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
			await remove();
		},
		/** Calls methods through `thinkd stdio`. */
		rpc: closing(async () => {
			const child = program([...flags, "stdio"], { env: { ...clean, HOME: home }, stdio: ["pipe", "pipe", "inherit"] });
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
			child.stdin.on("error", () => {}); // its end says more
			child.ended.then((error) => {
				for (const { reject } of pending.values()) reject(error);
			});
			return {
				call: (method, params) => new Promise((resolve, reject) => {
					pending.set(++id, { resolve, reject });
					child.stdin.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
				}),
				async close() {
					child.stdin.end();
					await child.ended;
				},
			};
		}),
	};
});

/** A folder for tools. */
export const folder = closing(async () => {
	const path = await mkdtemp(join(tmpdir(), "thinkd-folder-"));
	return { path, close: () => rm(path, { recursive: true, force: true }) };
});

/** Starts the simulator as a vendor of its own, for a base_url. */
export const simulator = closing(async () => {
	const child = program(["sim", "--listen", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
	const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
	const { value: url } = await Promise.race([lines.next(), child.ended.then((error) => Promise.reject(error))]);
	return {
		url,
		async close() {
			child.kill();
			await child.ended;
		},
	};
});

/** A wire to the daemon that can be cut: its own address is one of the daemon's names. It stays cut until it is mended. */
export const wire = closing(async () => {
	const open = new Set();
	let target;
	let whole = true;
	const server = createServer((from) => {
		if (!whole) {
			from.destroy();
			return;
		}
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
			whole = false;
			for (const socket of open) socket.destroy();
		},
		mend() {
			whole = true;
		},
		close: () => new Promise((resolve) => {
			for (const socket of open) socket.destroy();
			server.close(resolve);
		}),
	};
});

/** Holds back what a vendor says: `until` stands in a list of deltas, and go() lets the rest come. */
export function hold() {
	let go;
	const until = new Promise((resolve) => (go = resolve));
	return { until, go };
}

/**
 * Holds back the calls of a method that a page makes, once it has connected again (reload it): between stop() and go(). Each other call passes,
 * also one whose params stop() does not want. stop() returns a promise of the first call that is held, and comes() one of the next message to
 * the page that is wanted.
 */
export async function between(page, method) {
	let held;
	const awaited = new Set();
	await page.routeWebSocket(/\/rpc$/, (socket) => {
		const server = socket.connectToServer();
		socket.onMessage(async (message) => {
			const call = JSON.parse(message);
			if (held && call.method === method && held.wants(call.params)) {
				held.come();
				await held.until;
			}
			server.send(message);
		});
		server.onMessage((message) => {
			socket.send(message);
			for (const one of awaited) if (one.wants(JSON.parse(message))) one.come();
		});
	});
	return {
		stop(wants = () => true) {
			let come;
			const called = new Promise((resolve) => (come = resolve));
			held = { ...hold(), come, wants };
			return called;
		},
		go() {
			held.go();
			held = undefined;
		},
		comes: (wants) => new Promise((resolve) => {
			const one = { wants, come: () => awaited.delete(one) && resolve() };
			awaited.add(one);
		}),
	};
}

/**
 * A vendor that speaks the Messages API and says what say(prompt) gives: {thinking, text} as lists of deltas, calls as a list of {name, input},
 * `pause` milliseconds after each `every`. A promise among the deltas holds back those behind it. Prefer that to a pause: a story then
 * decides when the answer goes on, whatever the pace of the machine.
 */
export const vendor = closing(async (say) => {
	const server = createHTTP(async (request, response) => {
		let body = "";
		for await (const chunk of request) body += chunk;
		const { messages, model } = JSON.parse(body);
		const last = messages.at(-1).content;
		const { thinking = [], text = [], calls = [], every = 1, pause = 0 } = say(typeof last === "string" ? last : last.map((b) => b.text ?? "").join(""), messages, model);
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
				if (typeof t !== "string") {
					await t;
					continue;
				}
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
});

/**
 * An OpenID provider whose people need no password: its page has a button for each. `lasts` is how long its tokens count, in seconds. A token
 * is admitted for a minute more, as clocks may differ. set({ refuses: true }) makes it refuse renewals, and with `asks` its last page has a link
 * where it otherwise redirects. With a secret, it refuses requests without it.
 */
export const provider = closing(async ({ people = ["ann"], lasts = 3600, secret } = {}) => {
	const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
	const codes = new Map();
	const grants = new Map();
	const [logouts, revoked] = [[], []];
	let renewed = () => {};
	const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
	const state = { lasts, refuses: false, asks: false };
	let issuer;
	const tokens = (user, nonce) => {
		const now = Math.floor(Date.now() / 1000);
		const text = `${part({ alg: "ES256", kid: "k" })}.${part({ iss: issuer, aud: "thinkd", sub: user, iat: now, exp: now + state.lasts, nonce })}`;
		const refresh = randomUUID();
		grants.set(refresh, user);
		return { access_token: "opaque", token_type: "Bearer", refresh_token: refresh, id_token: `${text}.${sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}` };
	};
	const exchange = (form) => {
		if (form.get("grant_type") === "refresh_token") {
			const user = grants.get(form.get("refresh_token"));
			grants.delete(form.get("refresh_token"));
			renewed();
			return user && !state.refuses ? tokens(user) : undefined;
		}
		const asked = codes.get(form.get("code"));
		codes.delete(form.get("code"));
		const right = asked && createHash("sha256").update(form.get("code_verifier")).digest("base64url") === asked.challenge && asked.redirect === form.get("redirect_uri");
		return right ? tokens(asked.user, asked.nonce) : undefined;
	};
	const server = createHTTP(async (request, response) => {
		const url = new URL(request.url, issuer);
		const json = (value, status = 200) => response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
		const basic = `Basic ${Buffer.from(`thinkd:${secret}`).toString("base64")}`;
		if (secret && ["/token", "/revoke"].includes(url.pathname) && request.headers.authorization !== basic) return json({ error: "invalid_client" }, 401);
		switch (url.pathname) {
			case "/.well-known/openid-configuration":
				return json({ issuer, end_session_endpoint: `${issuer}/logout`, revocation_endpoint: `${issuer}/revoke`, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/keys` });
			case "/keys":
				return json({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k", alg: "ES256", use: "sig" }] });
			case "/auth":
				response.writeHead(200, { "Content-Type": "text/html" });
				return response.end(`<!doctype html><title>Provider</title><form action="/chosen">${[...url.searchParams].map(([n, v]) => `<input type="hidden" name="${n}" value="${v}">`).join("")}${people.map((p) => `<button name="user" value="${p}">${p}</button>`).join("")}<button name="user" value="">Cancel</button></form>`);
			case "/chosen": {
				const asked = url.searchParams;
				const back = new URL(asked.get("redirect_uri"));
				back.searchParams.set("state", asked.get("state"));
				if (asked.get("user") === "") back.searchParams.set("error", "access_denied");
				else {
					const code = randomUUID();
					codes.set(code, { user: asked.get("user"), nonce: asked.get("nonce"), challenge: asked.get("code_challenge"), redirect: asked.get("redirect_uri") });
					back.searchParams.set("code", code);
				}
				if (!state.asks) return response.writeHead(302, { Location: back.href }).end();
				response.writeHead(200, { "Content-Type": "text/html" });
				return response.end(`<!doctype html><title>Provider</title><a href="${back.href.replaceAll("&", "&amp;")}">Continue</a>`);
			}
			case "/logout":
				logouts.push(url.searchParams.get("client_id"));
				return response.writeHead(302, { Location: url.searchParams.get("post_logout_redirect_uri") }).end();
			case "/revoke": {
				let body = "";
				for await (const chunk of request) body += chunk;
				const token = new URLSearchParams(body).get("token");
				revoked.push(grants.get(token));
				grants.delete(token);
				return json({});
			}
			case "/token": {
				let body = "";
				for await (const chunk of request) body += chunk;
				const answer = exchange(new URLSearchParams(body));
				return answer ? json(answer) : json({ error: "invalid_grant" }, 400);
			}
		}
		response.writeHead(204).end(); // such as an icon
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	issuer = `http://127.0.0.1:${server.address().port}`;
	return {
		config: `[auth.oidc]\nissuer = "${issuer}"\naudience = "thinkd"\n${secret ? `client_secret_command = ["printf", "%s\\n", "${secret}"]\n` : ""}`,
		/** Waits for the next attempt to renew a sign-in. */
		renewal: () => new Promise((resolve) => (renewed = resolve)),
		logouts,
		revoked,
		set: (to) => Object.assign(state, to),
		close: () => {
			server.closeAllConnections();
			return new Promise((resolve) => server.close(resolve));
		},
	};
});

/** Waits for a frame. The page draws a text in the next frame after it came, and the end of a turn at once. */
export const frame = (page) => page.evaluate(() => new Promise(requestAnimationFrame));

/** What a session's conversation says, as text. */
export async function said(page) {
	await frame(page);
	return page.evaluate(() => [...document.querySelectorAll(".turn:not([hidden])")].map((t) => ({
		said: t.querySelector(".said")?.textContent ?? "",
		answer: [...t.querySelectorAll(".answer")].map((a) => a.textContent).join("\n"),
	})));
}

async function picture(page, name) {
	if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
}

/** Takes screenshots in all sizes up to a width and in both colours, where that is wanted. It changes nothing and checks nothing. */
export async function shot(page, name, widest = Infinity) {
	if (!process.env.SHOTS) return;
	const size = page.viewportSize();
	for (const at of looks.filter((l) => l.width <= widest)) {
		await show(page, at);
		await picture(page, `${name}-${at.width}-${at.colorScheme}`);
	}
	await show(page, { ...size, colorScheme: "light" }); // before movement is allowed again: no colour is on its way
	await page.emulateMedia({ reducedMotion: null });
}

const axe = await readFile(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

/** Nothing that axe finds. */
export async function accessible(page, what) {
	// The page's policy lets no script in from outside, so that axe comes in by the debugger.
	if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
	const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } }));
	assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target + " " + n.failureSummary).join("; ")}`), [], what);
}

const sizes = [[1440, 900], [820, 1180], [390, 844]];
const looks = sizes.flatMap(([width, height]) => ["light", "dark"].map((colorScheme) => ({ width, height, colorScheme })));
const all = process.env.SHOTS || process.env.ALONE === "1";
let looked = 0;

async function show(page, { width, height, colorScheme }) {
	await page.setViewportSize({ width, height });
	await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
	await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
}

/**
 * Looks at the page: nothing scrolls sideways in any size, and axe finds nothing. axe takes half a second of a processor, so that it judges
 * each view once: in turn large and light, small and dark. ALONE=1, and $SHOTS for a screenshot of each, have it judge all sizes in both colours.
 */
export async function look(page, name) {
	const judged = all ? looks : [looked++ % 2 === 0 ? looks[0] : looks.at(-1)];
	for (const look of looks.filter((l) => all || judged.includes(l) || l.colorScheme === "light")) {
		const { width, colorScheme } = look;
		await show(page, look);
		assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `${name}: nothing scrolls sideways at ${width}`);
		if (!judged.includes(look)) continue;
		await picture(page, `${name}-${width}-${colorScheme}`);
		await accessible(page, `${name} ${width} ${colorScheme}`);
	}
	await page.setViewportSize({ width: 1280, height: 800 });
	await page.emulateMedia({ colorScheme: "light", reducedMotion: null });
}

/** Returns the text of an element that has some. A turn that has just come into the window has none until the browser has drawn it. */
export async function drawn(locator) {
	for (;;) {
		const text = await locator.innerText();
		if (text !== "") return text;
		await frame(locator.page());
	}
}

/** Leaves the visible session for a new one. The page leaves it after the click, when the address has changed. */
export async function newSession(page) {
	await page.click("#new");
	await page.locator("#hello").waitFor();
}

/** Asks, and waits for the end of the turn and for the text of its answer. */
export async function ask(page, text) {
	const before = await page.locator(".foot:visible").count();
	await page.fill("#in", text);
	await page.press("#in", "Enter");
	await page.locator(".foot:visible").nth(before).waitFor();
	await frame(page);
}
