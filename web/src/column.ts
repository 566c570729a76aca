import type { Block, Client, Methods, Session } from "../../clients/typescript/src/index.js";
import { Conversation, type Running } from "./conversation.js";
import { button, h } from "./dom.js";
import type { Kept } from "./summary.js";
import type { Acts } from "./turn.js";
import type { Model } from "./levels.js";
import { priceNow } from "./price.js";
import { count, money } from "./words.js";

type Info = Methods["session/state"]["result"]["session"];

/** What a column needs from the comparison. */
export interface Around {
	acts(session: Session): Acts & Kept;
	model(id: string): Model | undefined;
	/** Goes on with the session of a column. */
	chosen(c: Column): void;
	/** A figure of a column changed. */
	changed(): void;
}

/** Column shows what one model answers: a session whose turns of the comparison are drawn as in any conversation, and what they cost. */
export class Column {
	readonly el = h("article", {});
	private readonly conversation: Conversation;
	private readonly bill = h("dl", { class: "bill" });
	private readonly act = h("div", {});
	private running: Running = "idle";
	private info: Partial<Info>;

	constructor(client: Client, readonly session: Session, private readonly around: Around) {
		const info = session.snapshot?.session;
		this.info = info ?? {};
		const turns = h("div", {});
		this.el.append(turns, h("div", { class: "sum" }, this.bill, this.act));
		this.conversation = new Conversation(client, session, around.acts(session), {
			running: (state) => {
				this.running = state;
				this.draw();
			},
			session: (change) => {
				this.info = { ...this.info, ...change };
				this.draw();
			},
			usage: (usage) => {
				this.info = { ...this.info, usage };
				this.draw();
			},
			asks: () => {},
			queue: () => {},
			raw: () => {},
			ended: (_, turn_id) => {
				this.draw();
				if (!document.hidden) client.call("session/read", { session_id: session.id, turn_id }).catch(() => {}); // it stays new
			},
		}, { into: turns, since: info?.created ?? 0 });
		this.draw();
	}

	get id(): string {
		return this.session.id;
	}

	get title(): string {
		return this.info.title ?? "";
	}

	get metadata(): Info["metadata"] {
		return this.info.metadata ?? {};
	}

	/** Whether its turn has not ended. */
	get busy(): boolean {
		return this.running !== "idle";
	}

	/** What the column has cost so far; undefined: it is not known. */
	get cost(): { amount: number; currency: string } | undefined {
		return this.info.usage?.cost ?? undefined;
	}

	get modelName(): string {
		const { model } = this.info;
		return model ? (this.around.model(`${model.provider}/${model.id}`)?.name ?? model.id) : "";
	}

	get level(): string {
		return this.info.preferred_thinking_level ?? this.info.thinking_level ?? "";
	}

	/** The model and its level, for people. */
	get name(): string {
		return [this.modelName, this.level].filter(Boolean).join(", ");
	}

	/** One word for what it does, or its cost. */
	get state(): string {
		if (this.running === "parked") return "parked";
		if (this.running === "running") return "running";
		return this.cost ? money(this.cost) : "done";
	}

	/** The first prompt of the comparison: its message, its blocks, and when it was sent. */
	prompt(): { id: string; content: Block[]; at: number } | undefined {
		const t = this.conversation.first();
		return t && { id: t.prompted, content: t.blocks(), at: t.began };
	}

	get thoughtOpen(): boolean {
		return this.el.querySelector(".step.think[open]") !== null;
	}

	fold(open: boolean): void {
		this.conversation.foldAll(open);
	}

	leave(): Promise<void> {
		return this.conversation.leave();
	}

	private draw(): void {
		if (!this.conversation) return; // it notifies before it is assigned
		this.el.setAttribute("aria-label", this.name);
		const rows: [name: string, value: string, kind: string][] = [["Cost", this.cost ? `${this.info.usage?.estimated ? "~" : ""}${money(this.cost)}` : this.busy ? "known at the end" : "unknown", "big"], ["Thinking", this.thinking(), "t"]];
		const { usage } = this.info;
		if (usage) rows.push(["Cache", usage.cached_tokens ? `${count(usage.cached_tokens)} read` : usage.input_tokens ? "none" : "known at the end", ""]);
		this.bill.replaceChildren(...rows.flatMap(([name, value, kind]) => [h("dt", {}, name), h("dd", { class: kind }, value)]));
		const stop = this.busy;
		if (this.act.dataset["stop"] !== String(stop)) { // a button keeps the focus while it stays the same
			const focused = this.act.contains(document.activeElement);
			this.act.dataset["stop"] = String(stop);
			this.act.replaceChildren(stop ? button("Stop this column", "", () => void this.session.cancel()) : button("Go on with this one", "main", () => this.around.chosen(this)));
			if (focused) this.act.querySelector("button")?.focus();
		}
		this.around.changed();
	}

	/** What the thinking cost: its tokens at the price of output. */
	private thinking(): string {
		const { usage, model } = this.info;
		if (!usage?.output_tokens) return this.busy ? "known at the end" : "unknown";
		if (usage.reasoning_tokens === null) return "unknown";
		const tokens = `${count(usage.reasoning_tokens)} tokens`;
		const price = model && this.around.model(`${model.provider}/${model.id}`)?.price;
		return price ? `~${money({ amount: (usage.reasoning_tokens * priceNow(price).output) / 1e6, currency: "USD" })}, ${tokens}` : tokens;
	}
}
