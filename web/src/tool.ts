import type { Block } from "../../clients/typescript/src/index.js";
import { Approval, coded, type Question, type Ruling } from "./approval.js";
import { h, say } from "./dom.js";
import { inFrame, twiceASecond } from "./frames.js";
import { Growing } from "./growing.js";
import { Step } from "./step.js";
import { duration } from "./words.js";

/** Tool shows one call: arguments, output, result and question. */
export class Tool {
	readonly step = new Step("tool");
	private readonly output = h("pre", { class: "out", tabindex: 0, role: "group", "aria-label": "Output", hidden: true });
	private readonly label = h("span", { class: "lbl" }, "Arguments");
	private growing: Growing;
	private waiting = "";
	private began = Date.now();
	private over = false;
	private readonly cards = new Map<string, Approval>();
	private readonly given: HTMLElement;
	private until = 0;
	private denied = false;

	constructor(call: { name: string; arguments?: unknown; invalid_arguments?: string }) {
		const { name, gist, body } = this.step;
		name.append(h("code", {}, call.name));
		const given = call.invalid_arguments ?? JSON.stringify(call.arguments ?? {}, null, 1);
		gist.textContent = brief(call.arguments);
		const text = h("code", {});
		this.growing = new Growing(text);
		this.output.append(h("span", { class: "lbl" }, "Output"), text);
		this.given = h("pre", { class: "out", tabindex: 0, role: "group", "aria-label": "Arguments" }, this.label, given);
		body.append(this.given, this.output);
	}

	/** The call starts, after an approval if one was needed. Without a host it does not run. */
	start(host: string | undefined, since: number): void {
		if (this.over) return;
		this.began = since;
		if (host) this.label.textContent = `Arguments, run by: ${host}`;
		this.step.el.classList.add("live");
		this.tick();
		twiceASecond(() => this.tick());
	}

	/** Shows the last part of the output so far. */
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
		el.classList.add(failed && !this.denied ? "bad" : "ok");
		const how: [string, string] = this.denied ? ["denied", "kind"] : failed ? ["failed", "kind failed"] : ["done", "kind"];
		this.step.show(ms === undefined || this.denied ? undefined : [duration(ms), "time"], how);
		const text = content.map((b) => (b.type === "text" ? b.text : `[${b.type}]`)).join("\n");
		// The result has the whole output. The streamed output is its beginning, or is replaced.
		this.replace(text);
		this.output.hidden = text === "";
		for (const id of [...this.cards.keys()]) this.close(id)?.remove();
		if (failed && !this.denied && !this.step.touched) el.open = true;
	}

	/** The turn ended before there was a result. */
	cut(): void {
		if (!this.over) this.end([], true);
	}

	ask(q: Question, answer: (r: Ruling) => Promise<unknown>): void {
		if (this.cards.has(q.confirm_id) || this.over) return;
		const card = new Approval(q, answer);
		this.cards.set(q.confirm_id, card);
		this.until = q.until ?? 0;
		this.given.hidden = true; // the card shows them
		this.step.body.prepend(card.el);
		this.step.el.open = true;
		this.step.el.classList.add("warn");
		this.tick();
		twiceASecond(() => this.cards.size > 0 && this.tick());
		say(`Asks you: ${q.message}`);
	}

	answered(p: { confirm_id: string; action: string; by: string; client?: string; grant?: { text: string } }): void {
		const el = this.close(p.confirm_id);
		if (!el) return;
		this.denied = p.action === "deny";
		const by = p.by === "client" ? p.client || "a client" : (unanswered[p.by] ?? p.by);
		const note = h("p", { class: "note" }, `${this.denied ? "Denied" : "Allowed once"}, by: ${by}`);
		if (p.grant) note.replaceChildren(`${this.denied ? "Denied" : "Allowed"}, by: ${by}. Until the session ends: `, ...coded(p.grant.text));
		el.replaceWith(note);
		if (this.cards.size === 0) this.step.el.classList.remove("warn");
		say(note.textContent ?? "");
	}

	/** Removes a card; the caller replaces it. */
	private close(confirmId: string): HTMLElement | undefined {
		const card = this.cards.get(confirmId);
		if (!card) return undefined;
		this.cards.delete(confirmId);
		card.close();
		this.given.hidden = this.cards.size > 0;
		return card.el;
	}

	private tick(): boolean {
		if (this.over) return false;
		if (this.cards.size > 0) {
			const all = [...document.querySelectorAll(".card.ask")];
			for (const card of this.cards.values()) card.tick(this.until, all.indexOf(card.el) + 1, all.length);
			this.step.show(["asks you", "kind w"]);
		} else this.step.show([duration(Math.max(0, Date.now() - this.began)), "time"], ["running", "kind running"]);
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

const unanswered: Record<string, string> = { timeout: "nobody answered in time", turn_end: "the turn ended", tool_mode: "the tool mode" };
