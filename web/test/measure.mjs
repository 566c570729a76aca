// How large and how quick a page is, for the story of a long load and for the benchmark.
/** The size of the page. */
export async function measures(page) {
	const session = await page.context().newCDPSession(page);
	await session.send("HeapProfiler.collectGarbage");
	await session.send("Performance.enable");
	const { metrics } = await session.send("Performance.getMetrics");
	const of = (name) => metrics.find((m) => m.name === name).value;
	return { heap: of("JSHeapUsedSize") / (1 << 20), nodes: of("Nodes") };
}

/** Frames a second over two seconds: the best of three, since other tests run beside this one. */
export async function frames(page) {
	let best = 0;
	for (let i = 0; i < 3 && best <= 55; i++) best = Math.max(best, await framesOnce(page));
	return best;
}

const framesOnce = (page) => page.evaluate(() => new Promise((resolve) => {
	let n = 0;
	const begin = performance.now();
	const count = (now) => {
		n++;
		if (now - begin < 2000) requestAnimationFrame(count);
		else resolve((1000 * (n - 1)) / (now - begin));
	};
	requestAnimationFrame(count);
}));

/** From a key to the next paint, as the browser has it, while keys are pressed: the slowest, and the share above 100 ms. */
export async function typing(page, done) {
	await page.evaluate(() => {
		window.slow = { slowest: 0, above: 0, tasks: 0 };
		new PerformanceObserver((list) => {
			for (const e of list.getEntries()) window.slow.tasks = Math.max(window.slow.tasks, e.duration);
		}).observe({ type: "longtask" });
		new PerformanceObserver((list) => {
			for (const e of list.getEntries()) {
				if (!/^key|^input/.test(e.name)) continue;
				window.slow.slowest = Math.max(window.slow.slowest, e.duration);
				if (e.name === "keydown" && e.duration >= 100) window.slow.above++;
			}
		}).observe({ type: "event", durationThreshold: 16, buffered: false });
	});
	await page.focus("#in");
	let keys = 0;
	while (!(await done())) {
		await page.keyboard.type("what ");
		keys += 5;
		await page.waitForTimeout(40);
	}
	await page.fill("#in", "");
	const { slowest, above, tasks } = await page.evaluate(() => window.slow);
	return { share: above / keys, slowest, text: `${keys} keys, key to paint at most ${slowest} ms, ${above} above 100 ms, longest task ${tasks} ms` };
}
