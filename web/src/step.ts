import { h } from "./dom.js";

/** A step on the rail: one line that unfolds. The page never folds a step that the reader has clicked. */
export class Step {
	readonly el: HTMLDetailsElement;
	readonly name = h("span", { class: "name" });
	readonly gist = h("span", { class: "gist", dir: "auto" });
	readonly facts = h("span", { class: "facts" });
	readonly body = h("div", { class: "body" });
	touched = false;
	private readonly summary: HTMLElement;

	constructor(kind: string) {
		this.summary = h("summary", { class: "head" }, this.name, this.gist, this.facts);
		this.el = h("details", { class: `step ${kind}` }, this.summary, this.body);
		this.summary.addEventListener("click", () => (this.touched = true));
	}

	/** Shows facts on the right and omits empty ones. A fact may have a class. */
	show(...facts: (string | [string, string] | undefined)[]): void {
		this.facts.replaceChildren(
			...facts.filter((f) => f !== undefined).map((f) => (typeof f === "string" ? h("span", {}, f) : h("span", { class: f[1] }, f[0]))),
		);
	}
}

/** A line on the rail without content. */
export function note(kind: string, name: string, text: string, ...facts: string[]): HTMLElement {
	return h("div", { class: `step ${kind}` },
		h("p", { class: "head" }, h("span", { class: "name" }, name), h("span", { class: "gist", dir: "auto" }, text),
			h("span", { class: "facts" }, ...facts.map((f) => h("span", { class: "kind" }, f)))));
}
