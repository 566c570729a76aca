import { RpcError, type Block, type Client, type Message, type Methods, type Session, type SessionUpdate, type Step, type Summary, type Update } from "../../clients/typescript/src/index.js";
import type { Branches } from "./branch.js";
import { h, say } from "./dom.js";
import { runHere } from "./demo.js";
import { Divider, type Kept } from "./summary.js";
import { Turn, type Acts } from "./turn.js";

type Attached = Methods["session/attach"]["result"];

const page = 50; // messages that are shown at first, and in each page
const near = 80; // pixels from the end within which the page scrolls along

/** Whether a turn runs. A parked one does nothing, and prompts wait for it. */
export type Running = "idle" | "running" | "parked";

/** How a conversation notifies the rest of the page. */
export interface Watcher {
	running(state: Running): void;
	asks(open: number): void;
	queue(queue: { turn_id: string; text: string }[], held: boolean): void;
	session(change: Partial<Attached["session"]> & { deleted?: boolean }): void;
	usage(u: Attached["session"]["usage"]): void;
	raw(update: SessionUpdate): void;
	/** A turn that ran has ended. */
	ended(how: string, turnId: string): void;
}

/** Where a conversation is shown. */
export interface Place {
	into: HTMLElement;
	/** The element that scrolls along, and the button that leads to its end; undefined: nothing does, and no older messages are loaded. */
	scrolls?: { box: HTMLElement; latest: HTMLElement };
	/** Messages before this time (Unix milliseconds) are not shown. */
	since?: number;
}

/** Conversation shows the turns of one session, in order: the history and live updates. */
export class Conversation {
	private readonly turns = new Map<string, Turn>();
	private readonly list = h("div", { class: "turns" });
	private readonly scroll: HTMLElement | undefined;
	private readonly dividers = new Map<string, { divider: Divider; summary: Summary }>();
	private readonly turnOf = new Map<string, string>(); // ids of turns, by message
	private waiting: Summary[] = []; // whose place is not loaded yet
	private readonly steps = new Map<string, Step[]>(); // that are not shown yet, by the message before them, or by their turn if there is none
	private oldest: string | undefined; // message; undefined when all are shown
	private branchesOf: ((after: string) => Branches | undefined) | undefined;
	private held: Message[] = []; // of a turn whose beginning is not loaded yet
	private fetching = false;
	private following = true;
	private top = 0; // where the page was scrolled to
	private running_ = ""; // the turn that runs
	private readonly questions = new Set<string>();
	private readonly leaving: (() => void)[] = [];

	constructor(
		private readonly client: Client,
		readonly session: Session,
		private readonly acts: Acts & Kept,
		private readonly watcher: Watcher,
		private readonly place: Place,
	) {
		place.into.replaceChildren(this.list);
		this.scroll = place.scrolls?.box;
		const onScroll = () => this.scrolled();
		this.scroll?.addEventListener("scroll", onScroll, { passive: true });
		this.leaving.push(() => this.scroll?.removeEventListener("scroll", onScroll));
		// An element that the reader unfolds keeps its place.
		this.list.addEventListener("click", (event) => {
			if ((event.target as Element).closest("summary")) this.following = false;
		});
		const sizes = new ResizeObserver(() => this.follow());
		sizes.observe(this.list);
		this.leaving.push(() => sizes.disconnect());
		if (session.snapshot) this.snapshot(session.snapshot);
		else this.watcher.running("idle");
		this.leaving.push(session.listen((update) => this.receive(update))); // what came since the snapshot follows it
	}

	/** Ends the subscription. Resolves when another one of the session can begin. */
	async leave(): Promise<void> {
		for (const leave of this.leaving) leave();
		await this.session.leave().catch(() => {}); // without a connection there is nothing to leave
	}

	get empty(): boolean {
		return this.turns.size === 0;
	}

	/** The blocks of the prompt of a turn, also of one that waits. */
	content(turn: string): Block[] | undefined {
		const blocks = this.turns.get(turn)?.blocks();
		return blocks?.length ? blocks : undefined;
	}

	/** The id of the prompt of a turn, and of the last message before it; undefined: that is not loaded. */
	around(turn: string): { prompt: string; after: string } | undefined {
		const t = this.turns.get(turn);
		const after = this.behind().find(([id]) => id === turn)?.[1];
		return t && after !== undefined ? { prompt: t.prompted, after } : undefined;
	}

	/** Shows the branches of all prompts, also of those that are loaded later; undefined: there are none. */
	branches(of: ((after: string) => Branches | undefined) | undefined): void {
		if (!of && !this.branchesOf) return;
		this.branchesOf = of;
		for (const [id, after] of this.behind()) this.turns.get(id)?.branches(after === undefined ? undefined : of?.(after));
	}

	/** The turns in order, each with the last message before it; empty: there is none, undefined: it is not loaded. */
	private behind(): [turn: string, after: string | undefined][] {
		let after = this.oldest === undefined && this.held.length === 0 ? "" : undefined;
		return this.shown().map((t) => {
			const place: [string, string | undefined] = [t.id, after];
			if (t.over) after = t.last;
			return place;
		});
	}

	/** The first turn; undefined: none is shown. */
	first(): Turn | undefined {
		return this.shown()[0];
	}

	/** The turns as they stand in the page. */
	private shown(): Turn[] {
		return [...this.list.querySelectorAll<HTMLElement>("[data-turn]")].flatMap((el) => this.turns.get(el.dataset["turn"] ?? "") ?? []);
	}

	/** The last message of the last turn; empty: there is none, undefined: it is not loaded. */
	last(): string | undefined {
		const turns = this.behind();
		const last = turns.at(-1);
		return last ? this.turns.get(last[0])?.last : turns.length === 0 && this.oldest === undefined ? "" : undefined;
	}

	/** The texts of the shown prompts, the newest last. */
	prompts(): string[] {
		return [...this.turns.values()].map((t) => t.asked()).filter(Boolean);
	}

	/** Scrolls to the end and stays there. */
	toEnd(): void {
		this.following = true;
		this.follow();
	}

	/** The turn next to the visible one, and its place. */
	step(by: number): void {
		const shown = [...this.turns.values()].filter((t) => !t.el.hidden);
		const top = (this.scroll?.getBoundingClientRect().top ?? 0) + 24;
		const at = shown.findIndex((t) => t.el.getBoundingClientRect().bottom > top);
		const next = shown[Math.max(0, Math.min(shown.length - 1, (at < 0 ? shown.length : at) + by))];
		next?.el.scrollIntoView({ block: "start" });
	}

	/** Loads messages until one is shown, and returns its element; undefined: the session has no such message. */
	async find(message: string, block: number): Promise<HTMLElement | undefined> {
		while (!this.turnOf.has(message) && this.oldest) {
			if (this.fetching) await new Promise((resolve) => setTimeout(resolve, 50));
			else await this.fetch(1000);
		}
		const t = this.turns.get(this.turnOf.get(message) ?? "");
		if (!t) return undefined;
		this.following = false;
		return t.place(message, block);
	}

	/** Folds all thoughts, or unfolds them if none is open. */
	foldAll(open = !this.list.querySelector(".step.think[open]")): void {
		for (const t of this.turns.values()) t.fold(open);
	}

	private receive(update: SessionUpdate): void {
		this.watcher.raw(update);
		if (update.method === "snapshot") this.snapshot(update.params);
		else this.update(update);
	}

	/** Applies the state of the session. Turns that are shown already stay. */
	private snapshot(a: Attached): void {
		const fresh = this.turns.size === 0;
		const { since } = this.place;
		if (since !== undefined) a = { ...a, more: false, messages: a.messages?.filter((m) => (m.ts ?? since) >= since) };
		this.keepSteps(a.steps);
		this.running_ = a.open?.turn_id ?? "";
		if (a.messages && fresh) {
			this.oldest = a.more ? a.messages[0]?.id : undefined;
			this.older(a.messages, false, a.summaries);
		} else {
			for (const m of a.messages ?? []) this.draw(this.joined(m), m);
			this.endOf(a.messages ?? []);
			this.divide(a.summaries);
		}
		const { open } = a;
		this.questions.clear();
		if (open) {
			const t = this.turn(open.turn_id);
			this.joins(t, open.joins);
			for (const m of open.messages) this.turnOf.set(m.id, m.turn_id);
			for (const m of open.messages) this.draw(m.turn_id === open.turn_id ? t : this.turn(m.turn_id), m);
			t.start(open.model, open.reasoning, open.payer, t.began || undefined);
			for (const c of open.tools ?? []) this.call(t, c);
			for (const q of open.confirms ?? []) {
				this.questions.add(q.confirm_id);
				t.confirm(q);
			}
			if (open.parked) t.parked(open.parked, false);
			else t.resumed();
			this.watcher.queue(open.queue, open.held);
		} else {
			void this.client.call("session/queue", { session_id: this.session.id }).then((q) => this.watcher.queue(q.queue, q.held));
		}
		this.watcher.session(a.session);
		this.watcher.usage(a.session.usage);
		this.watcher.asks(this.questions.size);
		this.watcher.running(!open ? "idle" : open.parked ? "parked" : "running");
		this.offer();
		if (fresh) this.toEnd();
	}

	private keepSteps(steps: Step[] = []): void {
		for (const s of steps) this.steps.set(s.after ?? s.turn_id, [...(this.steps.get(s.after ?? s.turn_id) ?? []), s]);
	}

	/** Shows a message, and the steps next to it. */
	private draw(t: Turn, m: Message): void {
		const show = (at: string) => {
			for (const s of this.steps.get(at) ?? []) t.step(s);
			this.steps.delete(at);
		};
		show(t.id);
		t.message(m);
		show(m.id);
	}

	private joined(m: Message): Turn {
		const id = m.into ?? m.turn_id;
		const t = this.turn(id);
		this.turnOf.set(m.id, id);
		this.joins(t, m.joins);
		return t;
	}

	/** The last turn can be continued if it was cut off, and offers help if it failed. */
	private offer(): void {
		const last = this.shown().findLast((t) => !t.el.hidden);
		for (const t of this.turns.values()) {
			t.offerToContinue(t === last && t.unfinished && this.running_ === "");
			t.offerHelp(t === last);
		}
	}

	/** Connects a turn with the text that it goes on with. */
	private joins(t: Turn, to: { message_id: string; block: number } | undefined): void {
		if (!to) return;
		for (const other of this.turns.values()) {
			const answer = other.shownAnswer(to.message_id, to.block);
			if (answer) t.join(answer);
		}
	}

	private turn(id: string): Turn {
		let t = this.turns.get(id);
		if (!t) {
			t = new Turn(id, this.acts);
			this.turns.set(id, t);
			this.list.append(t.el);
		}
		return t;
	}

	/** Shows summaries in their places: each behind the message that was said last before it. */
	private divide(list: Summary[] = []): void {
		const all = [...this.waiting, ...list];
		this.waiting = [];
		for (const summary of all) {
			const known = this.dividers.get(summary.summary_id);
			if (known) {
				known.divider.update((known.summary = summary));
				continue;
			}
			const turn = this.turns.get(this.turnOf.get(summary.after) ?? "");
			if (!turn) {
				this.waiting.push(summary);
				continue;
			}
			const divider = new Divider(summary, this.acts);
			this.dividers.set(summary.summary_id, { divider, summary });
			let at: Element = turn.el;
			while (at.nextElementSibling?.classList.contains("divider")) at = at.nextElementSibling;
			at.after(divider.el);
		}
	}

	/** Changes what is known of summaries. */
	private resummarise(change: (s: Summary) => Partial<Summary> | undefined): void {
		for (const d of this.dividers.values()) {
			const changed = change(d.summary);
			if (changed) d.divider.update((d.summary = { ...d.summary, ...changed }));
		}
	}

	private update(u: Update): void {
		if ("message_id" in u.params && u.params.turn_id) this.turnOf.set(u.params.message_id, u.params.turn_id);
		const t = u.params.turn_id ? this.turn(u.params.turn_id) : undefined;
		switch (u.method) {
			case "session_update":
				this.watcher.session(u.params as Partial<Attached["session"]>);
				return;
			case "queue_update":
				this.watcher.queue(u.params.queue, u.params.held);
				return;
			case "usage":
				this.watcher.usage(u.params.usage);
				return;
			case "plan":
				this.watcher.session({ plan: u.params.items });
				return;
			case "notice":
				t?.notice(u.params);
				return;
			case "summary":
				this.resummarise((s) => (s.undoable ? { undoable: false } : undefined));
				this.divide([{ ...u.params, undoable: u.params.turn_id === undefined }]);
				return;
			case "summary_undone":
				this.resummarise((s) => (s.summary_id === u.params.summary_id ? { undone: true, undoable: false } : undefined));
				return;
		}
		if (!t) return;
		switch (u.method) {
			case "prompt":
				if (u.params.into) {
					this.turns.delete(t.id);
					t.el.remove();
					this.turn(u.params.into).steered(u.params.content);
				} else {
					t.prompt(u.params.content, u.params.disposition === "queued" || u.params.disposition === "steered", u.params.message_id);
				}
				this.resummarise((s) => (s.undoable ? { undoable: false } : undefined));
				break;
			case "turn_start":
				this.list.append(t.el); // a pending prompt moves to the end when its turn starts
				this.joins(t, u.params.joins);
				t.start(u.params.model, u.params.reasoning, u.params.payer, u.params.ts);
				this.running_ = t.id;
				this.offer();
				this.watcher.running("running");
				break;
			case "message_start":
				t.messageStart(u.params);
				break;
			case "thinking_start":
				t.thinkingStart(u.params);
				break;
			case "thinking_delta":
				t.thinkingDelta(u.params);
				break;
			case "thinking_end":
				t.thinkingEnd(u.params);
				break;
			case "message_delta":
				t.textDelta(u.params);
				break;
			case "text_end":
				t.textEnd(u.params);
				break;
			case "message_end":
				t.messageEnd(u.params);
				break;
			case "media_end":
				t.mediaEnd(u.params);
				break;
			case "server_tool":
				t.serverTool(u.params);
				break;
			case "tool_start":
				this.call(t, u.params);
				break;
			case "tool_output":
				t.toolOutput(u.params);
				break;
			case "tool_end":
				t.toolEnd(u.params);
				break;
			case "confirm":
				this.questions.add(u.params.confirm_id);
				t.confirm(u.params);
				this.watcher.asks(this.questions.size);
				break;
			case "confirm_resolved":
				this.questions.delete(u.params.confirm_id);
				t.resolved(u.params);
				this.watcher.asks(this.questions.size);
				break;
			case "turn_parked":
				t.parked(u.params, true);
				this.watcher.running("parked");
				break;
			case "turn_resumed":
				t.resumed(u.params.by, u.params.ts);
				this.watcher.running("running");
				break;
			case "retry":
				t.retry(u.params);
				break;
			case "fell_back":
				t.fellBack(u.params, u.params.ts);
				break;
			case "thinking_converted":
				t.converted(u.params);
				break;
			case "turn_end":
				if (u.params.into) { // the turn that took the prompt in has shown its end
					this.turns.delete(t.id);
					t.el.remove();
					break;
				}
				if (!t.end(u.params)) {
					this.turns.delete(t.id);
					t.el.remove();
				}
				if (t.added(u.params)) {
					this.list.append(t.el); // a pending message moves to the end
				} else if (this.running_ === t.id || this.running_ === "") {
					this.running_ = "";
					this.questions.clear();
					this.watcher.asks(0);
					this.watcher.running("idle");
					this.offer();
					const how = u.params.stop_reason === "end_turn" ? "Answer complete" : `The turn ended: ${u.params.stop_reason}`;
					say(how);
					this.watcher.ended(how, t.id);
				}
		}
	}

	private call(t: Turn, c: Parameters<Turn["toolStart"]>[0]): void {
		t.toolStart(c);
		if (c.host === "client") void runHere(this.client, this.session.id, c);
	}

	/** Adds older messages, in order. A turn is shown when its beginning is loaded. */
	private older(messages: Message[], above: boolean, summaries: Summary[] = []): void {
		const all = [...messages, ...this.held];
		const begins = (m: Message) => m.role === "user" && !m.into && !m.content.some((b) => b.type === "tool_result");
		const first = this.oldest === undefined ? 0 : all.findIndex(begins);
		this.held = first < 0 ? all : all.slice(0, first);
		const whole = first < 0 ? [] : all.slice(first);
		const batch = h("div", { class: "batch" }); // the browser asks whether it is in view, and not for each turn
		for (const m of whole) {
			const id = m.into ?? m.turn_id;
			let t = this.turns.get(id);
			if (!t) {
				t = new Turn(id, this.acts);
				this.turns.set(id, t);
				batch.append(t.el);
			}
			this.turnOf.set(m.id, id);
			this.joins(t, m.joins);
			this.draw(t, m);
		}
		this.endOf(whole);
		batch.style.setProperty("--turns", String(batch.childElementCount));
		if (batch.firstChild) this.list[above ? "prepend" : "append"](batch);
		this.divide(summaries);
		if (above) this.branches(this.branchesOf);
	}

	private endOf(messages: Message[]): void {
		const ends = new Map<string, { last?: Message; end?: Message["turn_end"] }>();
		for (const m of messages) {
			const said = m.role === "assistant" || (m.incomplete && !m.into);
			if (m.queued || m.open || !(said || m.turn_end)) continue;
			const id = m.into ?? m.turn_id;
			ends.set(id, { ...ends.get(id), ...(said && { last: m }), ...(m.turn_end && { end: m.turn_end }) });
		}
		for (const [id, { last, end }] of ends) {
			const t = this.turn(id);
			if (!t.over && id !== this.running_) t.endOf(last, end);
		}
	}

	private async fetch(limit = page): Promise<void> {
		if (this.fetching || !this.oldest) return;
		this.fetching = true;
		try {
			const { messages, more, summaries, steps } = await this.client.call("session/history", { session_id: this.session.id, before: this.oldest, limit });
			this.oldest = more ? messages[0]?.id : undefined;
			this.keepSteps(steps);
			const { scroll } = this;
			const height = scroll?.scrollHeight ?? 0;
			const at = scroll?.scrollTop;
			this.older(messages, true, summaries);
			// If the browser anchors the scroll position itself, the place has moved already.
			if (scroll && scroll.scrollTop === at) scroll.scrollTop = at + scroll.scrollHeight - height;
		} catch (error) {
			if (error instanceof RpcError) this.oldest = undefined;
		} finally {
			this.fetching = false;
		}
		if (this.oldest && this.scroll && this.scroll.scrollTop < 600) void this.fetch();
	}

	private scrolled(): void {
		const { scrolls } = this.place;
		if (!scrolls) return;
		const { scrollTop, scrollHeight, clientHeight } = scrolls.box;
		// What grew since the page scrolled along is not the reader's doing: only a way up ends that.
		if (scrollHeight - scrollTop - clientHeight < near) this.following = true;
		else if (scrollTop < this.top) this.following = false;
		this.top = scrollTop;
		scrolls.latest.hidden = this.following;
		if (scrollTop < 600) void this.fetch();
	}

	private follow(): void {
		if (this.following && this.scroll) this.scroll.scrollTop = 1e9;
	}
}

/** Attaches, with the messages that are shown at first. */
export function attach(client: Client, id: string): Promise<Session> {
	return client.attach(id, page);
}
