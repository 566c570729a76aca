import type { Notifications } from "../../clients/typescript/src/index.js";
import { byId, h } from "./dom.js";
import { popover } from "./popover.js";
import { count, money, short } from "./words.js";

type Usage = Notifications["usage"]["usage"];

const full = 0.8; // of the window: the meter is amber above this

/** Meter shows how full the model's window is, and what the session cost. */
export class Meter {
	private readonly el = byId<HTMLButtonElement>("meter");
	private usage: Usage | undefined;
	private hidden = false;

	constructor() {
		this.el.addEventListener("click", () => this.usage && popover(this.el, "Context and cost", this.details(this.usage), "small"));
	}

	/** Hides the meter while a view is shown that is no session. */
	away(hidden: boolean): void {
		this.hidden = hidden;
		this.show(this.usage);
	}

	show(u: Usage | undefined): void {
		this.usage = u;
		const { context, cost } = u ?? {};
		this.el.hidden = this.hidden || !u || (u.input_tokens === 0 && u.output_tokens === 0);
		const share = context?.window ? context.used / context.window : 0;
		byId("gauge").style.setProperty("--used", String(Math.min(share, 1)));
		this.el.classList.toggle("full", share >= full);
		byId("meter-tokens").textContent = context ? (context.window ? `${short(context.used)} of ${short(context.window)}` : `${short(context.used)} tokens`) : "";
		byId("meter-cost").textContent = cost ? money(cost) : "";
	}

	private details(u: Usage): HTMLElement {
		const fresh = u.input_tokens - u.cached_tokens;
		const answer = u.output_tokens - (u.reasoning_tokens ?? 0);
		const rows: [string, string][] = [["Read from cache", count(u.cached_tokens)], ["New input", count(fresh)]];
		if (u.reasoning_tokens !== null) rows.push(["Thinking", count(u.reasoning_tokens)]);
		rows.push([u.reasoning_tokens === null ? "Output" : "Answer", count(answer)]);
		if (u.cost) rows.push([`This session${u.cost.partial ? ", known prices only" : ""}`, money(u.cost)]);
		const { context } = u;
		return h("div", {},
			...(context?.window ? [h("p", {}, `${count(context.used)} of ${count(context.window)} tokens, ${Math.round((100 * context.used) / context.window)} % of the window`)] : []),
			h("dl", { class: "pairs num" }, ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
			...(u.estimated ? [h("p", { class: "fine" }, "Some of these numbers are estimates.")] : []));
	}
}
