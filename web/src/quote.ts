import type { Client, Methods } from "../../clients/typescript/src/index.js";
import { button, byId, h, say } from "./dom.js";
import { popover } from "./popover.js";
import { kept } from "./store.js";
import { count, money } from "./words.js";

type Quote = Methods["session/quote"]["result"];
type Range = NonNullable<Quote["cost"]>;

/** USD from which a prompt is announced, as this browser is set. */
export function askAbove(): number {
	return Number(kept("ask_above") ?? 2);
}

const wait = 500; // milliseconds after the last key

/** What the quote needs from the page. */
export interface Quoted {
	/** The visible session, if a prompt would start a turn in it now. */
	session(): string | undefined;
	/** The model and level of the next turn only, if one was chosen. */
	only(): Pick<Methods["session/quote"]["params"], "model_id" | "thinking_level"> | undefined;
	compact(): Promise<unknown>;
}

/**
 * QuoteLine says above the composer what the next prompt would cost, where that is more than usual: the session's prompt cache is cold or
 * lost, or the cost reaches a threshold of this browser. Asking for it costs nothing.
 */
export class QuoteLine {
	private readonly el = byId("quote");
	private asked = 0; // responses to older requests are ignored
	private timer: ReturnType<typeof setTimeout> | undefined;

	constructor(private readonly client: Client, private readonly around: Quoted, private readonly askAbove: () => number) {}

	/** The text in the composer changed. */
	typed(text: string): void {
		clearTimeout(this.timer);
		this.asked++;
		if (!text || !this.around.session()) {
			this.el.hidden = true;
			return;
		}
		this.timer = setTimeout(() => void this.load(text), wait);
	}

	/** Quotes what is written. */
	again(): void {
		this.typed(byId<HTMLTextAreaElement>("in").value.trim());
	}

	private async load(text: string): Promise<void> {
		const session_id = this.around.session();
		if (!session_id) return;
		const mine = ++this.asked;
		try {
			const q = await this.client.call("session/quote", { session_id, text, ...this.around.only() });
			if (mine === this.asked) this.show(q);
		} catch {
			this.el.hidden = true; // nothing is known
		}
	}

	private show(q: Quote): void {
		const cold = q.cache === "cold" || q.cache === "lost";
		const expensive = q.cost !== null && q.cost !== undefined && q.cost.high.amount >= this.askAbove();
		this.el.hidden = q.running === true || !(cold || expensive) || !q.prompt;
		if (this.el.hidden) return;
		const why = q.cache === "cold" ? "Cold session" : q.cache === "lost" ? "The cache is lost" : "Expensive prompt";
		const again = q.prompt && q.prompt.paid !== null ? q.prompt.tokens - (q.prompt.read ?? 0) : q.prompt?.tokens;
		const details = button("Details", "quiet", () => popover(details, "What the next prompt costs", h("div", {}, figures(q), q.cache_why ? h("p", { class: "fine" }, `${q.cache_why.charAt(0).toUpperCase()}${q.cache_why.slice(1)}.`) : undefined)));
		details.setAttribute("aria-haspopup", "dialog");
		details.setAttribute("aria-expanded", "false");
		const compact = q.compact_first;
		const first = button(compact ? `Compact first: ${range(compact.cost)}` : "", "", () => {
			first.disabled = true;
			say("Summarising earlier turns");
			this.around.compact().then(() => this.again(), (error: Error) => say(error.message)).finally(() => (first.disabled = false));
		});
		this.el.replaceChildren(h("span", {}, h("b", {}, `${why}: ${range(q.cost)}.`), again ? ` ${q.prompt?.counted ? "" : "~"}${count(again)} tokens are read anew.` : ""), h("span", { class: "sp" }), details, ...(compact && cheaper(compact.cost, q.cost) ? [first] : []));
	}
}

/** The figures of a quote: the prompt by parts, what it costs, and what it costs behind a summary. */
export function figures({ prompt: p, cost, compact_first: c }: Pick<Quote, "prompt" | "cost" | "compact_first">): HTMLElement {
	const names: Record<string, string> = { tools: "Tools", system: "System prompt", summary: "Summary", turns: "Conversation", media: "Images and documents" };
	const rows: [string, string][] = [];
	for (const part of p?.parts ?? []) rows.push([`${names[part.part] ?? part.part}, tokens`, count(part.tokens)]);
	if (p) {
		rows.push(["Prompt, tokens", p.counted ? count(p.tokens) : `~${count(p.tokens)}`]);
		rows.push(["Read from cache", known(p.read)], ["Written to cache", known(p.written)], ["At the usual price", known(p.paid)]);
	}
	rows.push(["Likely cost of the turn", cost ? money(cost.likely) : "unknown"], ["Cost in 95 of 100 turns", range(cost)]);
	if (c) rows.push(["Compact first", range(c.cost)], ["… of that the summary", range(c.summary_cost)], ["… prompt behind it, tokens", `~${count(c.tokens)}`]);
	return h("dl", { class: "pairs num" }, ...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

/** Whether a turn would probably cost less. */
function cheaper(a: Range | null, b: Range | null): boolean {
	return a !== null && b !== null && a.likely.amount < b.likely.amount;
}

function known(n: number | null | undefined): string {
	return n === null || n === undefined ? "unknown" : count(n);
}

export function range(r: Range | null | undefined): string {
	if (!r) return "cost unknown";
	const [low, high] = [money(r.low), money(r.high)];
	return low === high ? low : `${low} to ${high}`;
}
