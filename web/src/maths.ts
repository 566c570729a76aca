// Formulas. KaTeX is a separate file that the browser loads with the first formula. It writes MathML, which browsers draw themselves: so
// there are no fonts and no style sheet to load. Until it is there, and if a formula is wrong, its source is shown.
import type katex from "katex";

const file = "./katex.js"; // beside this script; as a constant, the bundler would take it in
let loading: Promise<typeof katex | undefined> | undefined;

/** Replaces the source of a formula by the formula. */
export function typeset(e: HTMLElement, tex: string, alone: boolean): void {
	loading ??= (import(file) as Promise<{ default: typeof katex }>).then((m) => m.default, () => undefined);
	void loading.then((k) => {
		if (!k) return;
		try {
			const drawn = document.createElement("span");
			// trust: false: no links, images or classes from the formula. The limits end macros that grow without bound.
			k.render(tex, drawn, { displayMode: alone, output: "mathml", throwOnError: true, trust: false, maxExpand: 200, maxSize: 20, strict: "ignore" });
			e.replaceChildren(...drawn.childNodes);
			e.title = tex;
		} catch {
			// The source stays.
		}
	});
}
