// One frame, one flush: what came since the last frame waits in strings, and is drawn together. In a hidden tab no frame
// comes, so the strings wait until it is seen again.

const dirty = new Set<() => void>();
let asked = false;

/** Calls draw before the next frame, once however often it is asked for. */
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
