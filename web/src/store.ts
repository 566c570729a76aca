// What this browser keeps for this address (origin and port), by name.

const memory = new Map<string, string>(); // of a browser that refuses to keep anything

export function kept(name: string): string | undefined {
	try {
		return localStorage.getItem(`thinkd.${name}`) ?? undefined;
	} catch {
		return memory.get(name);
	}
}

/** Keeps a value; undefined removes it. */
export function keep(name: string, value: string | undefined): void {
	try {
		if (value === undefined) localStorage.removeItem(`thinkd.${name}`);
		else localStorage.setItem(`thinkd.${name}`, value);
	} catch {
		if (value === undefined) memory.delete(name);
		else memory.set(name, value);
	}
}

/** Calls back when another tab changes a value. */
export function onKept(name: string, changed: (value: string | undefined) => void): void {
	addEventListener("storage", (event) => {
		if (event.key === `thinkd.${name}`) changed(event.newValue ?? undefined);
	});
}

/** The name of this tab. A tab that is loaded again is another one. */
export const tab = `${Date.now()}-${Math.random()}`;

// Without locks, as on a page from the network without TLS, each tab counts as gone.
const locks: LockManager | undefined = "locks" in navigator ? navigator.locks : undefined;
void locks?.request(`thinkd.tab.${tab}`, () => new Promise<never>(() => {}));

/** Calls back when a tab has ended. */
export function whenGone(other: string, then: () => void): void {
	if (locks) void locks.request(`thinkd.tab.${other}`, then);
	else then();
}
