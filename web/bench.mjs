// Measures the page in a browser: `npm run bench --prefix web -- PROGRAM [PROGRAM …]`, on a machine without other work. Each PROGRAM is a
// build of ./cmd/thinkd; give those of two commits to compare them. They take turns, so that a slower minute of the machine meets both. It
// wants chromium. ROUNDS is how often each is measured (3); the table has the median.
import { resolve } from "node:path";
import { browser, open, serve, vendor } from "./test/harness.mjs";
import { gaps, measures, scroll, slowPaint, typing } from "./test/measure.mjs";

const programs = process.argv.slice(2).map((path) => resolve(process.env.INIT_CWD ?? ".", path)); // npm changes to the folder of the package
const rounds = Number(process.env.ROUNDS ?? 3);
const deltas = Number(process.env.DELTAS ?? 50_000);
const turns = Number(process.env.TURNS ?? 1000); // two messages each
if (programs.length === 0) {
	console.error("name one or more programs: go build -o new ./cmd/thinkd, then npm run bench --prefix web -- new");
	process.exit(2);
}

/** The seconds of CPU that the page's main thread has used so far. They depend less on other work of the machine than times do. */
async function clock(page) {
	const session = await page.context().newCDPSession(page);
	await session.send("Performance.enable", { timeDomain: "threadTicks" });
	return async () => (await session.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value;
}

/** Measures one program once. Whatever happens, it leaves no daemon and no browser behind. */
async function measure(program) {
	process.env.THINKD = program;
	const half = (word) => Array.from({ length: deltas / 2 }, (_, i) => `${word}${i}${i % 40 === 39 ? "\n\n" : " "}`);
	const model = await vendor((prompt) => {
		if (prompt.includes("thousands of words")) return { thinking: half("t"), text: half("a"), every: 100, pause: 16 };
		if (prompt.includes("a steady stream")) return { thinking: half("t").slice(0, 2500), text: half("a").slice(0, 2500), every: 8, pause: 16 }; // 500 deltas/s
		return { thinking: ["Hm."], text: ["It is *so*."] };
	});
	const [chrome, daemon] = await Promise.all([browser(), serve({ env: model.env })]);
	try {
		return await figuresOf(chrome, daemon);
	} finally {
		for (const thing of [chrome, daemon, model]) await thing.close();
	}
}

async function figuresOf(chrome, daemon) {
	const figures = {};

	const page = await open(chrome, daemon.url);
	await page.locator("#hello").waitFor();
	await page.reload(); // the program and the browser are warm
	await page.locator("#hello").waitFor();
	figures["first paint, ms"] = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
	figures["first paint on a throttled line, ms"] = await slowPaint(chrome, daemon.url);
	const cpu = await clock(page);
	await page.fill("#in", "Say thousands of words");
	const used = await cpu();
	const began = performance.now();
	await page.press("#in", "Enter");
	await page.locator(".step.think").last().waitFor();
	const keys = await typing(page, () => page.locator(".foot:visible").count());
	figures[`${deltas} deltas, s`] = (performance.now() - began) / 1000;
	figures["CPU of the page for them, s"] = (await cpu()) - used;
	figures["slowest key while they arrive, ms"] = keys.slowest;

	const steady = await gaps(page, async () => {
		const answers = await page.locator(".foot:visible").count();
		await page.fill("#in", "Send a steady stream");
		await page.press("#in", "Enter");
		await page.waitForFunction((n) => [...document.querySelectorAll(".foot")].filter((e) => e.checkVisibility()).length > n, answers);
	});
	figures["slowest frame at 500 deltas/s, ms"] = steady.slowest;
	figures["frames above 50 ms of them"] = steady.above;

	const rpc = await daemon.rpc();
	const { session_id } = await rpc.call("session/new", { title: "A long session" });
	for (let i = 0; i < turns; i++) {
		const { turn_id } = await rpc.call("session/prompt", { session_id, text: `Question ${i}` });
		await rpc.call("turn/wait", { session_id, turn_id });
	}
	await rpc.close();
	await page.goto(daemon.origin);
	await page.locator("#hello").waitFor();
	const before = await cpu();
	const opened = performance.now();
	await page.goto(`${daemon.origin}/#/${session_id}`);
	await page.locator(".said", { hasText: `Question ${turns - 1}` }).waitFor();
	figures[`session of ${2 * turns} messages, ms`] = performance.now() - opened;
	await page.waitForFunction((n) => {
		document.getElementById("scroll").scrollTop = 0;
		return document.querySelectorAll(".turn").length >= n;
	}, turns, { timeout: 120_000, polling: 20 });
	figures["all of them loaded, ms"] = performance.now() - opened;
	figures["CPU of the page for that, s"] = (await cpu()) - before;
	const { heap, nodes } = await measures(page);
	figures["heap with all of them, MiB"] = heap;
	figures["nodes with all of them"] = nodes;
	const still = await cpu();
	const scrolled = await gaps(page, () => scroll(page, 300));
	figures["CPU of the page while scrolling, s"] = (await cpu()) - still;
	figures["slowest frame while scrolling, ms"] = scrolled.slowest;
	figures["frames above 50 ms while scrolling"] = scrolled.above;
	let strokes = 0;
	figures["slowest key beside them, ms"] = (await typing(page, async () => strokes++ > 10)).slowest;
	return figures;
}

const results = programs.map(() => []);
for (let round = 0; round < rounds; round++) {
	for (const [i, program] of programs.entries()) results[i].push(await measure(program));
}
const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
for (const name of Object.keys(results[0][0])) {
	console.log([name.padEnd(36), ...results.map((of) => median(of.map((f) => f[name])).toFixed(name.endsWith(", s") ? 2 : 0).padStart(10))].join(""));
}
process.exit(0);
