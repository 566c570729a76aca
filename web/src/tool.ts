import type { Block } from "../../clients/typescript/src/index.js";
import { button, h, say } from "./dom.js";
import { inFrame, twiceASecond } from "./frames.js";
import { Growing } from "./growing.js";
import { Step } from "./step.js";
import { duration } from "./words.js";

export interface Question {
	confirm_id: string;
	title: string;
	message: string;
	actions: string[];
	until: number; // Unix milliseconds: then silence is a no
}

/** Tool shows one call: what it was given, what it says, how it ended, and what it asks. */
export class Tool {
	readonly step = new Step("tool");
	private readonly output = h("pre", { class: "out", tabindex: 0, role: "region", "aria-label": "Output", hidden: true });
	private readonly label = h("span", { class: "lbl" }, "Arguments");
	private growing: Growing;
	private waiting = "";
	private began = Date.now();
	private over = false;
	private readonly cards = new Map<string, HTMLElement>();
	private until = 0;

	constructor(call: { name: string; arguments?: unknown; invalid_arguments?: string }) {
		const { name, gist, body } = this.step;
		name.append(h("code", {}, call.name));
		const given = call.invalid_arguments ?? JSON.stringify(call.arguments ?? {}, null, 1);
		gist.textContent = brief(call.arguments);
		const text = h("code", {});
		this.growing = new Growing(text);
		this.output.append(h("span", { class: "lbl" }, "Output"), text);
		body.append(h("pre", { class: "out", tabindex: 0, role: "region", "aria-label": "Arguments" }, this.label, given), this.output);
	}

	/** It begins, after a person's word where that was wanted. Without a host it is not run. */
	start(host: string | undefined, since: number): void {
		if (this.over) return;
		this.began = since;
		if (host) this.label.textContent = `Arguments, run by: ${host}`;
		this.step.el.classList.add("live");
		this.tick();
		twiceASecond(() => this.tick());
	}

	/** The end of what it has told so far. */
	replace(output: string): void {
		this.growing.el.replaceChildren();
		this.growing = new Growing(this.growing.el);
		this.waiting = output;
		inFrame(this.draw);
	}

	append(chunk: string): void {
		this.waiting += chunk;
		inFrame(this.draw);
	}

	end(content: Block[], failed: boolean, ms?: number): void {
		if (this.over) return;
		this.over = true;
		const { el } = this.step;
		el.classList.remove("live", "warn");
		el.classList.add(failed ? "bad" : "ok");
		this.step.tell(ms === undefined ? undefined : [duration(ms), "time"], [failed ? "failed" : "done", failed ? "kind failed" : "kind"]);
		const text = content.map((b) => (b.type === "text" ? b.text : `[${b.type}]`)).join("\n");
		// The end has the whole: what was streamed is its beginning, or is replaced.
		this.replace(text);
		this.output.hidden = text === "";
		for (const card of this.cards.values()) card.remove();
		if (failed && !this.step.touched) el.open = true;
	}

	/** It has no result: the turn ended first. */
	cut(): void {
		if (!this.over) this.end([], true);
	}

	ask(q: Question, answer: (action: string) => void): void {
		if (this.cards.has(q.confirm_id)) return;
		const id = `q-${q.confirm_id}`;
		const acts = q.actions.map((a, i) => button(sentence(a), i === 0 ? "main" : "", () => answer(a)));
		const card = h("div", { class: "card warn", role: "group", "aria-labelledby": id }, h("h3", { id }, q.title), h("p", {}, q.message), h("div", { class: "acts" }, ...acts));
		this.cards.set(q.confirm_id, card);
		this.until = q.until;
		this.step.body.append(card);
		this.step.el.open = true;
		this.step.el.classList.add("warn");
		this.tick();
		twiceASecond(() => this.cards.size > 0 && this.tick());
		say(`Asks you: ${q.title}`);
	}

	answered(confirmId: string, action: string, by: string): void {
		const card = this.cards.get(confirmId);
		if (!card) return;
		this.cards.delete(confirmId);
		const text = `${sentence(action)}${by ? `, by: ${by}` : ""}`;
		card.replaceWith(h("p", { class: "note" }, text));
		if (this.cards.size === 0) this.step.el.classList.remove("warn");
		say(text);
	}

	private tick(): boolean {
		if (this.over) return false;
		if (this.cards.size > 0) this.step.tell(`denied in ${duration(Math.max(0, this.until - Date.now()))}`, ["asks you", "kind w"]);
		else this.step.tell([duration(Math.max(0, Date.now() - this.began)), "time"], ["running", "kind running"]);
		return true;
	}

	private readonly draw = (): void => {
		if (!this.waiting) return;
		this.output.hidden = false;
		this.growing.append(this.waiting);
		this.waiting = "";
	};
}

// The first short value of the arguments: a path, a command.
function brief(given: unknown): string {
	if (typeof given !== "object" || given === null) return "";
	const value = Object.values(given).find((v) => typeof v === "string" || typeof v === "number");
	return value === undefined ? "" : String(value).slice(0, 120);
}

function sentence(word: string): string {
	const text = word.replaceAll("_", " ");
	return text.charAt(0).toUpperCase() + text.slice(1);
}
