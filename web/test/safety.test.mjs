// What must not happen: scripts of a model run, other origins get in, the token lies about.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { before, test } from "node:test";

import { ask, browser, open, serve, vendor } from "./harness.mjs";

const nasty = [
	"<script>window.ran = 1</script>", "<img src=x onerror='window.ran = 2'>", "<svg onload='window.ran = 3'></svg>",
	"[click](javascript:window.ran=4)", "<a href='javascript:window.ran=5'>five</a>", "<iframe srcdoc='<script>parent.ran=6</script>'></iframe>",
	"<form action='//evil.example'><button>six</button></form>", "<style>body{display:none}</style>", "<div style='position:fixed;inset:0'>over</div>",
	"![pixel](http://evil.example/pixel.png)", "<math><mtext><table><mglyph><style><img src=x onerror='window.ran=7'>", "<details open ontoggle='window.ran=8'>",
	"<p class='btn main' id='send'>dressed up</p>", "```html\n<script>window.ran = 9</script>\n```", "<a href='data:text/html,<script>opener.ran=10</script>'>ten</a>",
].join("\n\n");

let chrome;
let daemon;
let model;
before(async () => {
	model = await vendor(() => ({ thinking: [nasty], text: nasty.match(/[\s\S]{1,7}/g) }));
	[chrome, daemon] = await Promise.all([browser(), serve({ env: model.env })]);
});

/** Waits until the page has painted what it has, and has nothing to do. */
const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestIdleCallback(done))));

test("model output full of script runs none", async () => {
	const page = await open(chrome, daemon.url);
	const asked = [];
	page.on("request", (request) => asked.push(request.url()));
	await ask(page, nasty.slice(0, 400));
	await page.locator(".step.think summary").click();
	await settled(page);
	const links = await page.locator(".answer a").all();
	assert.ok(links.length > 0);
	for (const a of links) await a.click({ noWaitAfter: true });
	await page.reload(); // and from the history
	await page.locator(".answer").waitFor();
	await settled(page);
	const left = await page.evaluate(() => ({
		ran: window.ran,
		elements: [...document.querySelectorAll(".turn :is(script, iframe, style, form, svg[onload], img)")].map((e) => e.outerHTML),
		handlers: [...document.querySelectorAll(".answer *")].flatMap((e) => [...e.attributes]).filter((a) => /^on|^style|^id$/.test(a.name)).map((a) => a.name),
		links: [...document.querySelectorAll(".answer a[href]")].map((a) => a.href).filter((href) => !/^(https?|mailto):/.test(href)),
		dressed: document.querySelectorAll(".answer .btn").length,
	}));
	assert.deepEqual(left, { ran: undefined, elements: [], handlers: [], links: [], dressed: 0 });
	assert.deepEqual(asked.filter((url) => !url.startsWith(daemon.origin) && !url.startsWith("data:")), [], "nothing is loaded from elsewhere");
	page.check(/violates the following Content Security Policy/); // said of the sanitiser's own document, where nothing runs anyhow
	await page.context().close();
});

test("a page of another origin gets nothing", async () => {
	const token = new URLSearchParams(new URL(daemon.url).hash.slice(1)).get("token");
	const evil = createServer((_, response) => {
		response.writeHead(200, { "Content-Type": "text/html" });
		response.end(`<!doctype html><iframe src="${daemon.origin}/"></iframe>`);
	});
	evil.listen(0, "127.0.0.1");
	await once(evil, "listening");
	const page = await open(chrome, `http://127.0.0.1:${evil.address().port}/`); // loaded, and with it the frame
	const got = await page.evaluate(async ({ origin, token }) => {
		const read = (path, init) => fetch(origin + path, init).then((r) => r.text(), (e) => e.name);
		const socket = await new Promise((resolve) => {
			const s = new WebSocket(origin.replace("http", "ws") + "/rpc", ["thinkd.v1", `thinkd.token.${token}`]);
			s.onopen = () => resolve("open");
			s.onerror = () => resolve("refused");
		});
		return [await read("/"), await read("/app.js"), await read("/rpc", { headers: { Authorization: `Bearer ${token}` } }), socket];
	}, { origin: daemon.origin, token });
	assert.deepEqual(got, ["TypeError", "TypeError", "TypeError", "refused"], "even with the token");
	assert.equal(page.frames().some((f) => f !== page.mainFrame() && f.url().startsWith(daemon.origin)), false, "and shows it in no frame");
	await page.context().close();
	evil.close();
});

test("without TLS the token is in the localStorage of this origin, and nowhere else", async () => {
	const page = await open(chrome, daemon.url);
	const token = new URLSearchParams(new URL(daemon.url).hash.slice(1)).get("token");
	await page.locator("#dot:not(.off)").waitFor();
	const places = await page.evaluate(async () => ({
		address: location.href, cookie: document.cookie, local: JSON.stringify(localStorage), page: document.documentElement.outerHTML,
		databases: JSON.stringify(await indexedDB.databases()), session: JSON.stringify(sessionStorage),
	}));
	assert.deepEqual(Object.entries(places).filter(([, text]) => text.includes(token)).map(([name]) => name), ["local"]);
	await page.reload();
	await page.locator("#dot:not(.off)").waitFor();
	page.check();
	// Another browser has to show the token itself, and no parameter names an endpoint.
	const other = await open(chrome, `${daemon.origin}/?url=ws://evil.example/rpc`);
	await other.getByText("This page needs its token").waitFor();
	const wrong = await open(chrome, `${daemon.origin}/#token=wrong`);
	await wrong.getByText("This page needs its token").waitFor();
	await Promise.all([page, other, wrong].map((p) => p.context().close()));
});
