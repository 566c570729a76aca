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
