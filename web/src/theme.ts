import { keep, kept, onKept } from "./store.js";

export type Theme = "light" | "dark" | "system";

export function theme(): Theme {
	const t = kept("theme");
	return t === "light" || t === "dark" ? t : "system";
}

export function setTheme(t: Theme): void {
	keep("theme", t === "system" ? undefined : t);
	applyTheme();
}

/** Shows the page in the theme of this browser. */
export function applyTheme(): void {
	const t = theme();
	if (t === "system") delete document.documentElement.dataset["theme"];
	else document.documentElement.dataset["theme"] = t;
}

onKept("theme", applyTheme);
