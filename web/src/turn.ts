import type { Block, Error as Failure, Message, Notifications, Step } from "../../clients/typescript/src/index.js";
import { Answer } from "./answer.js";
import { fileView } from "./attach.js";
import type { Question, Ruling } from "./approval.js";
import { branchLine, editForm, type Branches } from "./branch.js";
import { copy, forOwner, h, iconButton, say } from "./dom.js";
import { fellBack, type Fell } from "./fell.js";
import { troubleCard, type Trouble, type Ways } from "./failure.js";
import { twiceASecond } from "./frames.js";
import { chip, type Reasoning } from "./levels.js";
import { Parked, type Wait, type Ways as ParkedWays } from "./parked.js";
import { note } from "./step.js";
import { Thought } from "./thought.js";
import { Tool } from "./tool.js";
import { Offer, type Preview } from "./unfinished.js";
import { fileSize, clock, count, duration, money, notices, payerText } from "./words.js";

type Params<M extends keyof Notifications> = Notifications[M];
type View = Thought | Answer;
type Served = NonNullable<Params<"message_start">["served"]>;
type Payer = NonNullable<Params<"turn_start">["payer"]>;

const resumedBy = { time: "resumed by time", client: "resumed by a client", answer: "resumed by an answer" };

/** What a turn needs from the page. */
export interface Acts extends Ways {
	nameOf(model: { provider: string; id: string }): string;
	fork(messageId: string): void;
	again(content: Block[]): void;
	/** Sends the next prompt to the first choice again. */
	goBack(model: Fell["from"]): void;
	/** Offers ways to ask the prompt of a turn again. */
	ways(turnId: string, content: Block[], from: HTMLElement): void;
	/** Sends another prompt in place of one, in a fork. */
	edit(turnId: string, content: Block[]): Promise<void>;
	continue(): Promise<void>;
	/** What continuing the last turn with a model would do. */
	preview(model: { provider: string; id: string }): Promise<Preview>;
	/** What can be done with a parked turn. */
	parked(turnId: string): ParkedWays;
	media(messageId: string, block: number): Promise<Block | undefined>;
	/** Keeps a message word for word behind every summary, or no longer. */
	pin(messageId: string, on: boolean): Promise<unknown>;
	pinned(): string[];
	answer(confirmId: string, ruling: Ruling): Promise<unknown>;
}

/**
 * Turn shows one prompt and its results. Blocks are found by message and number, so a snapshot adds what is missing and does not draw
 * anything again.
 */
export class Turn {
	readonly el = h("article", { class: "turn", hidden: true });
	began = 0;
	over = false;
	private reason = ""; // why it ended
	private ahead: { answer: Answer; text: string } | undefined; // the text of an earlier turn that the first text joins
	private readonly offer = new Offer();
	private readonly said = h("div", { class: "said", hidden: true });
	private readonly by = h("div", { class: "by", hidden: true });
	private readonly body = h("div", { class: "work" });
	private readonly foot = h("div", { class: "foot", hidden: true });
	private readonly views = new Map<string, View>();
	private readonly tools = new Map<string, Tool>();
	private readonly places = new Map<string, HTMLElement>(); // of calls and results, by message and block
	private readonly pictures = new Map<string, HTMLElement>(); // images of the model, by message and block
	private readonly times = { think: 0, tool: 0, void: 0 };
	private content: Block[] = [];
	private promptId = "";
	private line: HTMLElement | undefined; // of branches
	private editing = false; // a form is in the prompt's place, and no update replaces it
	private lastMessage = "";
	private model: { provider: string; id: string } | undefined;
	private first: { provider: string; id: string } | undefined; // that was asked for, if the turn went on with another model
	private level = h("span", {});
	private payer: Payer | undefined;
	private trouble: Trouble | undefined; // why the turn failed, and an offer to ask again
	private retrying: Retry | undefined;
	private wait: Parked | undefined;
	private readonly falls = new Set<number>(); // when the model changed
	private readonly waits = new Set<number>(); // when the turn was parked
	private other = false; // another model than that answered, at least once
	private readonly name = h("h2", {});
	private readonly servedBy = h("span", { class: "served", hidden: true });

	constructor(readonly id: string, private readonly acts: Acts) {
		this.el.append(this.said, this.by, this.body, this.foot, this.offer.el);
		this.el.dataset["turn"] = id;
	}

	prompt(content: Block[], waits: boolean, id = ""): void {
		this.content = content;
		this.promptId = id;
		if (!this.editing) this.fill(this.said, content);
		this.el.hidden = waits;
	}

	/** The id of the prompt. */
	get prompted(): string {
		return this.promptId;
	}

	/** The last message of the turn. */
	get last(): string {
		return this.lastMessage || this.promptId;
	}

	/** Shows the place of the prompt among its branches. */
	branches(b: Branches | undefined): void {
		this.line?.remove();
		this.line = b && branchLine(b);
		if (this.line) this.said.after(this.line);
	}

	/** The prompt can be edited in its place. What it has besides text stays. */
	private edit(): void {
		const rest = this.content.filter((b) => b.type !== "text");
		const done = () => {
			this.editing = false;
			this.fill(this.said, this.content);
		};
		this.editing = true;
		const form = editForm(this.asked(), (text) => this.acts.edit(this.id, [...rest, { type: "text", text }]), done);
		this.said.replaceChildren(...rest.map((b) => shown(b)), form);
		form.querySelector("textarea")?.focus();
	}

	/** A prompt that steered this turn. */
	steered(content: Block[]): void {
		const said = h("div", { class: "said steered" });
		this.fill(said, content);
		this.body.append(said);
	}

	/** Says that the first text of this turn goes on with a text of an earlier one: they are shown as one. */
	join(answer: Answer | undefined): void {
		if (answer && this.views.size === 0) this.ahead = { answer, text: answer.text };
	}

	/** The text of a block, if it is shown. */
	shownAnswer(message: string, block: number): Answer | undefined {
		const view = this.views.get(`${message} ${block}`);
		return view instanceof Answer ? view : undefined;
	}

	/** Whether the turn was cut off before its model had said all. */
	get unfinished(): boolean {
		return this.over && this.model !== undefined && ["interrupted", "error", "max_tokens", "cancelled"].includes(this.reason);
	}

	/** Offers to continue the turn, or no longer. */
	offerToContinue(on: boolean): void {
		const { model, content } = this;
		this.offer.show(on && model ? {
			reason: this.reason,
			paid: this.payer?.kind !== "local" && this.payer?.kind !== "plan",
			preview: () => this.acts.preview(model),
			continue: () => this.acts.continue(),
			again: content.length > 0 && !this.trouble ? () => this.acts.again(content) : undefined,
		} : undefined);
	}

	/** Shows what to do about a failure, or no longer: it is for the last turn. */
	offerHelp(on: boolean): void {
		if (this.trouble) this.trouble.card.hidden = !on;
	}

	private fill(said: HTMLElement, content: Block[]): void {
		said.replaceChildren(h("span", { class: "vh" }, "You: "), ...content.map((b) => shown(b)));
		said.hidden = false;
	}

	start(model: { provider: string; id: string }, reasoning: Reasoning, payer: Payer | undefined, ts?: number): void {
		this.payer = payer;
		if (ts) this.began = ts;
		this.head(model, chip(reasoning, this.acts.nameOf(model)), ts);
		if (payer) this.name.title = `${model.provider}, ${payerText(payer)}`;
	}

	private head(model: { provider: string; id: string }, level: HTMLElement, ts?: number): void {
		this.model = model;
		this.name.textContent = this.acts.nameOf(model);
		this.by.replaceChildren(this.name, (this.level = level), this.servedBy, ...(ts ? [h("time", {}, clock(ts))] : []));
		this.by.hidden = this.el.hidden = false;
	}

	/** Shows the model that answers. If it is not the one that was asked for, its name is the heading, and an amber chip says so. */
	private served(s: Served | undefined): void {
		if (!s?.model || !this.model || (this.other && !s.substituted)) return;
		const { id, provider } = this.model;
		this.servedBy.title = [s.substituted && `${id} was asked for`, s.host && `answered by ${s.host}`].filter(Boolean).join("; ");
		if (s.substituted) {
			this.other = true;
			this.name.textContent = this.acts.nameOf({ provider, id: s.model });
			this.servedBy.className = "served chip clamp";
			this.servedBy.textContent = `not ${this.acts.nameOf(this.model)}`;
		} else {
			this.servedBy.textContent = s.model;
		}
		this.servedBy.hidden = !s.substituted && s.model === id;
	}

	thinkingStart(p: Params<"thinking_start">): void {
		this.retried();
		this.thought(p.message_id, p.block).live(p.ts);
	}

	thinkingDelta(p: Params<"thinking_delta">): void {
		this.thought(p.message_id, p.block).append(p.delta);
	}

	thinkingEnd(p: Params<"thinking_end">): void {
		this.times.think += p.duration_ms;
		this.thought(p.message_id, p.block).end(p);
	}

	textDelta(p: Params<"message_delta">): void {
		if (this.retrying) this.retried();
		this.answer(p.message_id, p.block).append(p.delta);
	}

	textEnd(p: Params<"text_end">): void {
		const a = this.answer(p.message_id, p.block);
		a.set(this.before(a) + p.text, true);
		a.cite(p.sources);
	}

	/** Adds sources to finished texts. */
	messageEnd(p: Params<"message_end">): void {
		this.served(p.served);
		for (const c of p.cited ?? []) this.answer(p.message_id, c.block).cite(c.sources);
	}

	/** The history has the data. */
	mediaEnd(p: Params<"media_end">): void {
		this.made(p.message_id, p.block).replaceChildren(`[${p.mime_type}, ${fileSize(p.size)}]`);
		void this.acts.media(p.message_id, p.block).then((b) => {
			if (b) this.made(p.message_id, p.block).replaceChildren(shown(b, "Image of the answer"));
		});
	}

	confirm(q: Question): void {
		this.tool(q.call_id, q).ask(q, (r) => this.acts.answer(q.confirm_id, r));
	}

	resolved(p: Params<"confirm_resolved">): void {
		for (const t of this.tools.values()) t.answered(p);
	}

	/** The turn waits between two steps. A later attempt of the same wait has the same card. */
	parked(w: Wait, live: boolean): void {
		this.retrying?.done("Did not start again");
		this.waits.add(w.since);
		if (!this.wait?.goesOn(w)) this.wait = new Parked(() => this.model?.provider ?? "the provider", this.acts.parked(this.id));
		this.wait.show(w, live);
		this.rail().append(this.wait.el);
	}

	/** The turn does not wait, or no more. */
	resumed(by?: Params<"turn_resumed">["by"], at?: number): void {
		this.wait?.done(by ? resumedBy[by] : "resumed", at);
	}

	/** Shows a step of the history, unless it is shown already. */
	step({ ts, fell_back, parked, by }: Step): void {
		if (fell_back && !this.falls.has(ts)) this.fellBack(fell_back, ts, false);
		if (!parked) return;
		const how = by ? resumedBy[by] : "the turn ended";
		if (this.wait?.goesOn(parked)) {
			this.wait.done(how, ts);
			return;
		}
		if (this.waits.has(parked.since)) return; // an earlier wait: the whole state can come again
		this.waits.add(parked.since);
		this.wait = new Parked(() => this.model?.provider ?? "the provider", this.acts.parked(this.id));
		this.wait.past(parked, how, ts);
		this.rail().append(this.wait.el);
	}

	toolStart(p: Omit<Params<"tool_start">, "session_id" | "seq" | "ts"> & { ts?: number; output?: string }): void {
		this.retried();
		const t = this.tool(p.call_id, p);
		t.start(p.host, p.ts ?? Date.now());
		if (p.output) t.replace(p.output);
	}

	/** The vendor ran a tool on its own servers. Its call has the arguments, and the result the text and the pages. */
	serverTool(p: Pick<Params<"server_tool">, "call_id" | "name" | "status" | "arguments" | "text" | "sources">): void {
		this.retried();
		const t = this.tool(`server ${p.call_id}`, p);
		if (p.status === "running") {
			t.start("the provider", Date.now());
			return;
		}
		const pages = (p.sources ?? []).map((s) => `${s.title ?? ""} ${s.url}`.trim());
		t.end([{ type: "text", text: [p.text ?? "", ...pages].join("\n").trim() }], p.status === "failed");
	}

	toolOutput(p: Params<"tool_output">): void {
		this.tools.get(p.call_id)?.append(p.chunk);
	}

	toolEnd(p: Params<"tool_end">): void {
		this.times.tool += p.duration_ms;
		this.tool(p.call_id, { name: p.call_id }).end(p.content, p.is_error, p.duration_ms);
	}

	/** Shows a message of a snapshot or of the history. */
	message(m: Message): void {
		if (m.role === "user" && !m.content.some((b) => b.type === "tool_result")) {
			if (m.into) this.steered(m.content);
			else {
				this.began ||= m.ts ?? 0; // a snapshot has no turn_start
				this.prompt(m.content, m.queued === true, m.id);
			}
			return;
		}
		if (m.model && m.reasoning && this.by.hidden) this.start(m.model, m.reasoning, m.payer, m.ts);
		this.el.hidden = false;
		if (m.role === "assistant") this.lastMessage = m.id;
		this.served(m.served);
		for (const b of m.content) this.block(m, b);
	}

	private block(m: Message, b: Block): void {
		const number = b.block ?? 0;
		switch (b.type) {
			case "thinking": {
				const fresh = !this.views.has(`${m.id} ${number}`);
				const t = this.thought(m.id, number);
				if (b.open) {
					if (fresh) t.live(Date.now() - (b.duration_ms ?? 0));
					t.grow(b.text);
				} else if (!t.done) {
					t.grow(b.text);
					t.end(b, true);
					this.times.think += b.duration_ms ?? 0;
					if (m.incomplete && !b.signed && b === m.content.at(-1)) t.cut();
				}
				break;
			}
			case "text":
				this.answer(m.id, number).set(this.before(this.answer(m.id, number)) + b.text, b.open !== true);
				this.answer(m.id, number).cite(b.sources);
				break;
			case "server_tool":
				this.serverTool({ ...b, status: b.text === undefined ? "running" : b.is_error ? "failed" : "done" });
				break;
			case "tool_call":
				this.places.set(`${m.id} ${number}`, this.tool(b.call_id, b).step.el);
				break;
			case "tool_result": {
				const t = this.tools.get(b.call_id);
				t?.end(b.content, b.is_error === true);
				if (t) this.places.set(`${m.id} ${number}`, t.step.el);
				break;
			}
			case "media":
				this.made(m.id, number).replaceChildren(shown(b, "Image of the answer"));
		}
	}

	messageStart(p: Params<"message_start">): void {
		this.retried();
		this.lastMessage = p.message_id;
		this.served(p.served);
	}

	retry(p: Params<"retry">): void {
		for (const block of p.discarded) {
			const view = this.views.get(`${this.lastMessage} ${block}`);
			this.pictures.get(`${this.lastMessage} ${block}`)?.classList.add("void");
			if (view instanceof Thought) view.void_(p.attempt - 1);
			else view?.el.classList.add("void");
		}
		this.retrying?.done("Did not start again");
		this.retrying = new Retry(p);
		this.rail().append(this.retrying.el);
	}

	/** Something of the next attempt has arrived. */
	private retried(): void {
		this.retrying?.done("Started again");
		this.retrying = undefined;
	}

	notice(p: Params<"notice">): void {
		this.el.hidden = false;
		this.rail().append(note(p.severity === "info" ? "" : "warn", notices[p.kind] ?? p.kind, p.message, p.kind));
	}

	/** Another model, or the first choice again, goes on with the turn. */
	fellBack(p: Fell, ts: number, live = true): void {
		this.falls.add(ts);
		this.model = p.to;
		const name = this.name.textContent = this.acts.nameOf(p.to);
		this.level.replaceWith(this.level = h("span", { class: "chip" }, p.to.thinking_level));
		const first = this.acts.nameOf(this.first ??= p.from);
		this.other = p.why !== "returned" && first !== name;
		this.servedBy.className = "served chip clamp";
		this.servedBy.textContent = `not ${first}`;
		this.servedBy.title = `${first} was asked for`;
		this.servedBy.hidden = !this.other;
		this.rail().append(fellBack(p, live, (m) => this.acts.nameOf(m), () => this.acts.goBack(p.from)));
	}

	converted(p: Params<"thinking_converted">): void {
		const parts = [p.kept && `${p.kept} as they were`, p.as_text && `${p.as_text} as text`, p.dropped && `${p.dropped} stay behind`].filter(Boolean);
		this.rail().append(note("warn", "Model changed", `Earlier thinking: ${parts.join(", ")}.`, "thinking_converted"));
	}

	/** Ends the turn. Returns false if there is nothing to show. */
	end(p: Params<"turn_end">): boolean {
		this.over = true;
		this.wait?.done("the turn ended");
		this.retrying?.done("Did not start again");
		for (const t of this.tools.values()) t.cut();
		for (const v of this.views.values()) if (v instanceof Thought && !v.done) v.cut();
		// If a turn stops inside a thought, the thought is its last block.
		const last = [...this.views.values()].at(-1);
		if (["cancelled", "error", "interrupted"].includes(p.stop_reason) && last instanceof Thought && last.loose) last.cut();
		if (this.el.hidden && p.stop_reason === "cancelled") return false; // the prompt was removed from the queue
		this.el.hidden = false;
		if (this.added(p)) {
			this.foot.replaceChildren(h("span", {}, "Added. The next prompt sends it."));
			this.foot.hidden = false;
			return true;
		}
		if (p.error) this.fails(p.error, true);
		else if (p.stop_reason === "interrupted") this.interrupted();
		const facts: string[] = [duration(p.duration_ms)];
		if (p.usage.output_tokens) facts.push(`${p.usage.estimated ? "~" : ""}${count(p.usage.output_tokens)} out`);
		if (p.usage.cached_tokens) facts.push(`${count(p.usage.cached_tokens)} cached`);
		if (p.usage.cost) facts.push(money(p.usage.cost));
		this.finish(p.stop_reason, p.limit, facts, this.ribbon(p.duration_ms));
		return true;
	}

	/** Says whether a message was added here without a model call. */
	added(p: Params<"turn_end">): boolean {
		return !this.model && p.stop_reason === "end_turn";
	}

	private fails(error: Failure, live: boolean): void {
		this.trouble = troubleCard(error, this.model?.provider ?? "", this.content, this.acts, live);
		this.rail().append(this.trouble.el);
	}

	/** Ends the turn from the history: with the last message of its model, if it has one, and with how the turn ended, if not as usual. */
	endOf(m: Message | undefined, end: Message["turn_end"]): void {
		this.over = true;
		if (end?.model && this.by.hidden) this.head(end.model, h("span", { class: "chip" }, end.model.thinking_level), this.began || undefined);
		this.wait?.done("the turn ended");
		for (const t of this.tools.values()) t.cut();
		if (end?.error) this.fails(end.error, false);
		else if ((end?.stop_reason ?? m?.incomplete) === "interrupted") this.interrupted();
		const facts: string[] = [];
		if (this.times.think) facts.push(`thought for ${duration(this.times.think)}`);
		if (m?.usage?.output_tokens) facts.push(`${m.usage.estimated ? "~" : ""}${count(m.usage.output_tokens)} out`);
		if (m?.usage?.cost) facts.push(money(m.usage.cost));
		this.finish(end?.stop_reason || m?.incomplete || m?.stop_reason || "end_turn", end?.limit, facts, undefined);
	}

	private interrupted(): void {
		this.rail().append(note("bad", "The daemon stopped here", "At most the last second of the stream is missing. Incomplete thinking stays here for you to read. It is not sent back to the model."));
	}

	private finish(reason: string, limit: string | undefined, facts: string[], ribbon: HTMLElement | undefined): void {
		this.reason = reason;
		const copier = iconButton("copy", "Copy answer", () => void copy(this.text(), copier));
		this.foot.replaceChildren(
			...(reason === "end_turn" ? [] : [h("span", { class: "end" }, limit ? `${reason}: ${limit}` : reason)]),
			...(ribbon ? [ribbon] : []),
			...facts.map((f) => h("span", {}, f)),
			h("span", { class: "acts" }, ...(this.promptId ? [this.pinButton()] : []), copier,
				...(this.lastMessage ? [forOwner(iconButton("fork", "Fork from here", () => this.acts.fork(this.lastMessage)))] : []),
				...(this.promptId && this.content.length ? [forOwner(iconButton("pen", "Edit the prompt", () => this.edit()))] : []),
				...(this.content.length ? [this.againButton()] : [])),
		);
		this.foot.hidden = false;
	}

	private againButton(): HTMLElement {
		const again = iconButton("redo", "Ask again", () => this.acts.ways(this.id, this.content, again));
		again.classList.add("writers");
		again.setAttribute("aria-haspopup", "dialog");
		again.setAttribute("aria-expanded", "false");
		return again;
	}

	private pinButton(): HTMLElement {
		const pin = iconButton("pin", "", () => {
			const on = pin.getAttribute("aria-pressed") !== "true";
			this.acts.pin(this.promptId, on).then(() => show(on), (error: Error) => say(error.message));
		});
		pin.classList.add("writers");
		const show = (on: boolean) => {
			pin.setAttribute("aria-pressed", String(on));
			pin.setAttribute("aria-label", "Pin the prompt");
			pin.title = on ? "The prompt is pinned: summaries keep it word for word" : "Pin the prompt: summaries keep it word for word";
		};
		show(this.acts.pinned().includes(this.promptId));
		return pin;
	}

	/** How the seconds were spent; undefined: there were none. */
	private ribbon(ms: number): HTMLElement | undefined {
		if (ms <= 0) return undefined;
		const { think, tool } = this.times;
		const rest = Math.max(ms - think - tool, 0);
		const e = h("span", { class: "ribbon", role: "img", "aria-label": `${duration(think)} thinking, ${duration(tool)} tools, ${duration(rest)} answer and waiting` });
		for (const [kind, n] of [["t", think], ["o", tool], ["a", rest]] as const) {
			if (n < ms / 50) continue;
			const part = h("i", { class: kind });
			part.style.setProperty("--w", String(n));
			e.append(part);
		}
		return e;
	}

	text(): string {
		return [...this.views.values()].filter((v) => v instanceof Answer).map((v) => v.text).join("\n\n");
	}

	/** The blocks of the prompt. */
	blocks(): Block[] {
		return this.content;
	}

	/** The text of the prompt. */
	asked(): string {
		return this.content.map((b) => (b.type === "text" ? b.text : "")).filter(Boolean).join("\n");
	}

	/** The element of a message and a block, unfolded; the turn itself if it has no such block. */
	place(message: string, block: number): HTMLElement {
		const view = this.views.get(`${message} ${block}`);
		if (view instanceof Thought) {
			view.step.el.open = true;
			return view.step.el;
		}
		const el = view?.el ?? this.places.get(`${message} ${block}`);
		if (el instanceof HTMLDetailsElement) el.open = true;
		return el ?? (message === this.promptId ? this.said : this.el);
	}

	/** Folds or unfolds the thoughts of the turn. */
	fold(open: boolean): void {
		for (const v of this.views.values()) if (v instanceof Thought) v.step.el.open = open;
	}

	private thought(message: string, block: number): Thought {
		const key = `${message} ${block}`;
		const known = this.views.get(key);
		if (known instanceof Thought) return known;
		const t = new Thought();
		this.views.set(key, t);
		this.rail().append(t.step.el);
		return t;
	}

	private answer(message: string, block: number): Answer {
		const key = `${message} ${block}`;
		const known = this.views.get(key);
		if (known instanceof Answer) return known;
		const joined = this.views.size === 0 ? this.ahead?.answer : undefined;
		const a = joined ?? new Answer();
		this.views.set(key, a);
		if (joined) joined.goOn();
		else this.body.append(a.el);
		return a;
	}

	/** The text that stands in front of a block in the same answer. */
	private before(a: Answer): string {
		return this.ahead?.answer === a ? this.ahead.text : "";
	}

	private made(message: string, block: number): HTMLElement {
		const key = `${message} ${block}`;
		let el = this.pictures.get(key);
		if (!el) {
			el = h("figure", { class: "made" });
			this.pictures.set(key, el);
			this.body.append(el);
		}
		return el;
	}

	private tool(callId: string, call: { name: string; arguments?: unknown; invalid_arguments?: string }): Tool {
		let t = this.tools.get(callId);
		if (!t) {
			t = new Tool(call);
			this.tools.set(callId, t);
			this.rail().append(t.step.el);
		}
		return t;
	}

	/** The rail for the next step. Everything except the answer is on a rail. */
	private rail(): HTMLElement {
		const last = this.body.lastElementChild;
		if (last?.classList.contains("rail")) return last as HTMLElement;
		const rail = h("div", { class: "rail" });
		this.body.append(rail);
		return rail;
	}
}

/** Retry is the line about a model call that failed and starts again. */
class Retry {
	readonly el: HTMLElement;
	private readonly name: HTMLElement;
	private readonly gist: HTMLElement;
	private over = false;

	constructor(private readonly p: Params<"retry">) {
		this.el = note("warn", "Starts again", "", "retry");
		this.name = this.el.querySelector(".name") as HTMLElement;
		this.gist = this.el.querySelector(".gist") as HTMLElement;
		const until = Date.now() + p.after_ms;
		const tick = () => {
			if (this.over) return false;
			const left = until - Date.now();
			this.gist.textContent = this.say(left > 0 ? `Attempt ${p.attempt} in ${duration(Math.max(1000, left))}.` : `Attempt ${p.attempt} is waiting for an answer.`);
			return true;
		};
		tick();
		twiceASecond(tick);
	}

	/** The next attempt has begun, or will not come. */
	done(how: string): void {
		if (this.over) return;
		this.over = true;
		this.name.textContent = how;
		this.gist.textContent = this.say(how === "Started again" ? `Attempt ${this.p.attempt} after ${duration(this.p.after_ms)}.` : "");
	}

	private say(what: string): string {
		const { message, discarded, attempt } = this.p;
		return [`${message}.`, what, discarded.length > 0 && `What attempt ${attempt - 1} wrote is void and not part of the answer.`].filter(Boolean).join(" ");
	}
}

/** A block of a prompt. A person's text is shown as written. */
function shown(b: Block, alt = "Image of the prompt"): HTMLElement {
	if (b.type === "media") return fileView(b, alt);
	return h("p", { dir: "auto" }, b.type === "text" ? b.text : `[${b.type}]`);
}
