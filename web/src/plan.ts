import type { Methods } from "../../clients/typescript/src/index.js";
import { byId, h } from "./dom.js";

type Item = NonNullable<Methods["session/state"]["result"]["session"]["plan"]>[number];

const words = { pending: "to do", in_progress: "in progress", completed: "done" };

/** PlanLine shows above the composer what the model plans to do: one line, and the whole plan when it is unfolded. */
export class PlanLine {
	private readonly el = byId<HTMLDetailsElement>("plan");
	private readonly line = h("span", { class: "gist" });
	private readonly list = h("ol", {});
	private shown = "";

	constructor() {
		this.el.append(h("summary", {}, h("b", {}, "Plan"), this.line), this.list);
	}

	show(items: Item[] = []): void {
		const text = JSON.stringify(items);
		if (text === this.shown) return;
		this.shown = text;
		this.el.hidden = items.length === 0;
		const done = items.filter((i) => i.status === "completed").length;
		const now = items.find((i) => i.status === "in_progress") ?? items.find((i) => i.status === "pending");
		this.line.textContent = `${done} of ${items.length} done${now ? ` · ${now.content}` : ""}`;
		this.list.replaceChildren(...items.map((i) => h("li", { class: i.status }, h("span", { dir: "auto" }, i.content), h("small", {}, i.priority === "medium" ? words[i.status] : `${words[i.status]}, ${i.priority} priority`))));
	}
}
