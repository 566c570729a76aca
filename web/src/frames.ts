// Everything that arrived since the last frame is drawn in the next one. A hidden tab gets no frames, so the text waits until the
// tab is visible again.

const dirty = new Set<() => void>();
let asked = false;

/** Calls draw once before the next frame, however often it was requested. */
export function inFrame(draw: () => void): void {
	dirty.add(draw);
	if (asked) return;
	asked = true;
	requestAnimationFrame(flush);
}

function flush(): void {
	asked = false;
	const now = [...dirty];
	dirty.clear();
	for (const draw of now) draw();
}

/** Calls tick twice a second until it returns false. */
const ticks = new Set<() => boolean>();
let clock: ReturnType<typeof setInterval> | undefined;

export function twiceASecond(tick: () => boolean): void {
	ticks.add(tick);
	clock ??= setInterval(() => {
		for (const t of ticks) if (!t()) ticks.delete(t);
		if (ticks.size > 0) return;
		clearInterval(clock);
		clock = undefined;
	}, 500);
}
