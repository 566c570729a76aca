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

/** Watches the frames of a page until `until` has returned: the longest time between two of them, and how many times exceed 50 ms. */
export async function gaps(page, until) {
	await page.evaluate(() => {
		const seen = (window.gaps = { slowest: 0, above: 0, watching: true });
		let last = performance.now();
		const frame = (now) => {
			seen.slowest = Math.max(seen.slowest, now - last);
			if (now - last > 50) seen.above++;
			last = now;
			if (seen.watching) requestAnimationFrame(frame);
		};
		requestAnimationFrame(frame);
	});
	await until();
	return page.evaluate(() => {
		window.gaps.watching = false;
		return window.gaps;
	});
}

/** Scrolls a page from one end to the other, a step in each frame. */
export const scroll = (page, steps) => page.evaluate((steps) => new Promise((resolve) => {
	const box = document.getElementById("scroll");
	const whole = box.scrollHeight;
	let n = 0;
	const step = () => {
		box.scrollTop = (whole * n) / steps;
		if (n++ < steps) requestAnimationFrame(step);
		else resolve();
	};
	step();
}), steps);

/** The first paint of a page over a line of 9 Mbit/s and 60 ms, with nothing in the browser's cache. */
export async function slowPaint(chrome, url) {
	const context = await chrome.newContext({ viewport: { width: 1280, height: 800 } });
	const page = await context.newPage();
	const session = await context.newCDPSession(page);
	await session.send("Network.enable");
	await session.send("Network.emulateNetworkConditions", { offline: false, latency: 60, downloadThroughput: 9e6 / 8, uploadThroughput: 9e6 / 8 });
	await page.goto(url);
	await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
	const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
	await context.close();
	return paint;
}

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
