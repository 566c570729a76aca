import type { Block } from "../../clients/typescript/src/index.js";
import { Attachments } from "./attach.js";
import type { Running } from "./conversation.js";
import { byId, button, h, iconButton, say } from "./dom.js";
import type { Model } from "./levels.js";
import { menu } from "./popover.js";
import { keep, kept, tab, whenGone } from "./store.js";

/** What becomes of a text: a prompt that waits or steers, a side question, one in a fork, a message without a model call, or a comparison. */
export type How = "queue" | "steer" | "ask" | "fork" | "add" | "compare";

/** What the composer needs from the page. */
export interface Sender {
	/** Whether a session is shown. Side questions need one. */
	inSession(): boolean;
	/** Whether the session is of somebody else: then there are prompts and added messages only. */
	guest(): boolean;
	/** Sends a text; files go with a prompt and with a message that is added. */
	send(text: string, how: How, files: Block[]): Promise<void>;
	/** The chosen model; undefined: it is not known. */
	model(): Model | undefined;
	/** The most bytes of files with a prompt, as base64. */
	room(): number;
	stop(): void;
	remove(turnId: string): Promise<void>;
	/** What a pending prompt says, in full. */
	pending(turnId: string): string;
	/** Changes the text of a pending prompt. Its files stay. */
	reword(turnId: string, text: string): Promise<void>;
	/** Moves a pending prompt in front of another one. */
	move(turnId: string, before: string): Promise<void>;
	/** Removes a prompt from the queue and steers the running turn with it. */
	steerNow(turnId: string, text: string): Promise<void>;
	resume(): void;
	/** The text in the field changed. */
	typed(text: string): void;
	/** The prompts of the visible session, the newest last. */
	prompts(): string[];
}

const listed = 3; // prompts of the queue
const soon = 500; // milliseconds in which the daemon usually acknowledges a text
const comparison = "comparison"; // a place of drafts

/** Other ways to send a text than as a prompt. */
const ways: { how: How; label: string; key?: string; what: string; session: boolean }[] = [
	{ how: "ask", label: "Side question", key: "Alt ↵", what: "Answered from the conversation so far, also while a turn runs. Not recorded.", session: true },
	{ how: "fork", label: "Side question in a fork", what: "Recorded as the first turn of a new session.", session: true },
	{ how: "add", label: "Add without an answer", what: "No model call. The next prompt sends it.", session: false },
	{ how: "compare", label: "Compare models", what: "Two or three models or levels answer side by side, each in a fork.", session: false },
];

/** Composer is where people write prompts and see the queue. */
export class Composer {
	private readonly input = byId<HTMLTextAreaElement>("in");
	private readonly sendButton = byId<HTMLButtonElement>("send");
	private readonly stopButton = byId<HTMLButtonElement>("stop");
	private readonly queueButton = byId<HTMLButtonElement>("enqueue");
	private readonly steerButton = byId<HTMLButtonElement>("steer");
	private readonly waysButton = byId<HTMLButtonElement>("ways");
	private readonly waiting = byId("queue");
	private readonly trouble = byId("trouble");
	private readonly files: Attachments;
	private running: Running = "idle";
	private pending: [queue: { turn_id: string; text: string }[], held: boolean] = [[], false];
	private reworded: { turn: string; form: HTMLFormElement } | undefined; // the pending prompt that is being edited
	private allListed = false;
	private sending = false;
	private next: { how: How; place: string } | undefined; // to send when the text before has arrived, unless the person types on
	private unsent = ""; // a text that the daemon takes long to acknowledge, as without a connection
	private recalled: number | undefined; // index of the prompt in the field
	private refused = false; // a file of the prompt is why it was not sent
	private many = 0; // models that a text goes to; 0: that of the session
	private place = "new"; // whose draft it is: a session's, or that of a new one

	constructor(private readonly sender: Sender) {
		this.input.addEventListener("keydown", (event) => this.key(event));
		this.input.addEventListener("input", () => {
			this.next = undefined;
			this.typed();
		});
		this.sendButton.addEventListener("click", () => void this.send("queue"));
		this.queueButton.addEventListener("click", () => void this.send("queue"));
		this.steerButton.addEventListener("click", () => void this.send("steer"));
		this.stopButton.addEventListener("click", () => sender.stop());
		this.waysButton.addEventListener("click", () => this.ways());
		this.files = new Attachments({ model: () => sender.model(), room: () => sender.room(), changed: () => this.filesChanged() });
		this.draw();
	}

	focus(): void {
		this.input.focus();
	}

	/** Shows the draft of a session or of another place; undefined: of a new session. Each has its own, also after a reload. */
	at(session: string | undefined): void {
		this.place = session ?? "new";
		this.many = 0;
		this.input.disabled = false; // before the first place is known, a text would get lost in another draft
		this.input.value = kept(`draft.${this.place}`) ?? "";
		this.files.at(this.place);
		if (!this.sending) this.unsend(this.place);
	}

	/**
	 * A text that was on its way when its tab ended, and that the daemon had not acknowledged, is a draft again. A tab that lives still sends it.
	 * That it has done so may be seen here only later, so that its end decides.
	 */
	private unsend(place: string): void {
		const sender = kept(`sender.${place}`) ?? "";
		if (kept(`sending.${place}`) === undefined) return;
		whenGone(sender, () => {
			const text = kept(`sending.${place}`);
			if (text === undefined || (kept(`sender.${place}`) ?? "") !== sender) return;
			this.onWay(place, undefined);
			if (this.place === place && !this.input.value) this.write(text);
			else if (kept(`draft.${place}`) === undefined) keep(`draft.${place}`, text);
		});
	}

	/** Keeps the text that this tab sends; undefined: none any more. */
	private onWay(place: string, text: string | undefined): void {
		keep(`sending.${place}`, text);
		keep(`sender.${place}`, text && tab);
	}

	/** Shows the draft of a comparison: what is written here goes to several models. */
	compare(columns: number): void {
		if (this.place !== comparison) this.at(comparison);
		this.many = columns;
		this.draw();
		this.queue(...this.pending);
	}

	/** Writes a text into the field. */
	write(text: string): void {
		this.input.value = text;
		this.typed();
	}

	/** Forgets the draft of a deleted session. */
	forget(session: string): void {
		keep(`draft.${session}`, undefined);
	}

	/** Another model is chosen. */
	modelChanged(): void {
		this.files.draw();
	}

	private filesChanged(): void {
		if (this.refused) this.fits();
		this.draw();
	}

	/** Says why the prompt cannot be sent with its files, if so. */
	private fits(): boolean {
		const trouble = this.files.trouble();
		this.refused = trouble !== "";
		this.fail(trouble);
		return !this.refused;
	}

	private typed(): void {
		keep(`draft.${this.place}`, this.input.value || undefined);
		this.sender.typed(this.input.value.trim());
		this.draw();
	}

	get focused(): boolean {
		return document.activeElement === this.input;
	}

	run(state: Running): void {
		this.running = state;
		this.draw();
		this.queue(...this.pending);
	}

	/** Shows why the last prompt failed, or nothing. */
	fail(why: string): void {
		this.trouble.textContent = why;
		this.trouble.hidden = why === "";
	}

	queue(queue: { turn_id: string; text: string }[], held: boolean): void {
		this.pending = [queue, held];
		const waits = held || this.running === "parked";
		if (queue.length <= listed) this.allListed = false;
		if (this.reworded && !queue.some((q) => q.turn_id === this.reworded?.turn)) this.reworded = undefined; // it started
		const focused = document.activeElement;
		const rows = queue.slice(0, this.allListed ? queue.length : listed).map((q, i) =>
			h("li", { "data-turn": q.turn_id }, h("small", {}, i === 0 ? (waits ? "held" : "next") : "then"),
				...(this.reworded?.turn === q.turn_id ? [this.reworded.form] : this.row(q, queue[i - 1]?.turn_id))));
		if (queue.length > rows.length) rows.push(h("li", {}, button(`and ${queue.length - rows.length} more`, "quiet", () => this.listAll())));
		if (this.unsent) rows.push(h("li", {}, h("small", {}, "sending"), h("span", { dir: "auto" }, this.unsent)));
		if (held && queue.length > 0) rows.push(h("li", {}, button("Continue with these", "", () => this.sender.resume())));
		const back = focusIn(this.waiting, focused);
		this.waiting.replaceChildren(...rows);
		this.waiting.hidden = rows.length === 0 || this.many > 0;
		back();
	}

	/** A pending prompt with its controls. */
	private row(q: { turn_id: string; text: string }, before: string | undefined): HTMLElement[] {
		const act = (done: Promise<void>) => void done.catch((e: Error) => this.fail(e.message));
		return [h("span", { dir: "auto" }, q.text), h("span", { class: "sp" }),
			...(this.running === "running" ? [button("Steer now", "quiet", () => act(this.sender.steerNow(q.turn_id, q.text)))] : []),
			iconButton("pen", "Edit in the queue", () => this.reword(q.turn_id)),
			...(before ? [iconButton("up", "Move up in the queue", () => act(this.sender.move(q.turn_id, before)))] : []),
			iconButton("x", "Remove from the queue", () => act(this.sender.remove(q.turn_id)))];
	}

	private listAll(): void {
		this.allListed = true;
		this.queue(...this.pending);
	}

	/** Edits a pending prompt in its row. */
	private reword(turn: string): void {
		const field = h("textarea", { rows: 1, dir: "auto", "aria-label": "Edited prompt" });
		field.value = this.sender.pending(turn);
		const done = () => {
			this.reworded = undefined;
			this.queue(...this.pending);
			this.waiting.querySelector<HTMLElement>(`[data-turn="${turn}"] [aria-label^="Edit"]`)?.focus();
		};
		const submit = async () => {
			if (!field.value.trim()) return;
			this.fail("");
			await this.sender.reword(turn, field.value.trim()).then(done, (e: Error) => this.fail(e.message));
		};
		field.addEventListener("keydown", (event) => {
			if (event.isComposing) return;
			if (event.key === "Escape") done();
			else if (event.key === "Enter" && !event.shiftKey) void submit();
			else return;
			event.preventDefault();
			event.stopPropagation();
		});
		const form = h("form", {}, field, iconButton("check", "Save", () => void submit()), iconButton("x", "Cancel", done));
		this.reworded = { turn, form };
		this.queue(...this.pending);
		field.focus();
	}

	private draw(): void {
		const text = this.input.value.trim() !== "" || this.files.blocks().length > 0;
		const running = this.running === "running" && this.many === 0;
		this.sendButton.hidden = running;
		this.sendButton.disabled = this.waysButton.disabled = !text || this.sending;
		this.stopButton.hidden = !running;
		this.queueButton.hidden = this.steerButton.hidden = !(running && text);
		this.input.placeholder = this.many > 0 ? `Ask ${this.many === 2 ? "both" : "all three"}` : this.running !== "idle" ? "Add to the queue" : "Ask anything";
	}

	private key(event: KeyboardEvent): void {
		if (event.isComposing) return;
		if (event.key === "Enter" && !event.shiftKey) {
			event.preventDefault();
			if (this.many > 0) void this.send("queue");
			else if (event.altKey) void (this.sender.inSession() && !this.sender.guest() && this.send("ask"));
			else void this.send(event.ctrlKey || event.metaKey ? "steer" : "queue");
		} else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
			this.recall(event);
		}
	}

	/** Walks through earlier prompts, from an empty field, and as long as the field has one of them unchanged. */
	private recall(event: KeyboardEvent): void {
		const list = this.sender.prompts();
		const text = this.input.value;
		if (this.recalled === undefined || list[this.recalled] !== text) this.recalled = text === "" ? list.length : undefined;
		if (this.recalled === undefined) return;
		const to = this.recalled + (event.key === "ArrowUp" ? -1 : 1);
		if (to < 0 || to > list.length) return;
		event.preventDefault();
		this.recalled = to;
		this.input.value = list[to] ?? "";
		this.typed();
	}

	/** Lists the other ways to send the text. */
	private ways(): void {
		menu(this.waysButton, "Other ways to send", ways.filter((w) => (this.sender.guest() ? w.how === "add" : !w.session || this.sender.inSession())).map((w) => ({ ...w, act: () => {
			this.focus();
			void this.send(w.how);
		} })));
	}

	private async send(how: How): Promise<void> {
		const text = this.input.value.trim();
		const aside = how === "ask" || how === "fork"; // these take no files: they stay for the next prompt
		const files = aside ? [] : this.files.blocks();
		if (!text && files.length === 0) return;
		if (this.sending) {
			this.next = { how, place: this.place };
			return;
		}
		if (aside) this.fail("");
		else if (!this.fits()) {
			say(this.trouble.textContent ?? "");
			return;
		}
		const { place } = this;
		this.sending = true;
		this.input.value = "";
		this.typed();
		this.onWay(place, text || undefined);
		const late = setTimeout(() => this.showUnsent(text), soon);
		const restore = aside ? undefined : this.files.take();
		let arrived = false;
		try {
			await this.sender.send(text, how, files);
			arrived = true;
		} catch (error) {
			restore?.();
			this.bring(text, place);
			this.fail((error as Error).message);
			say((error as Error).message);
		} finally {
			clearTimeout(late);
			this.onWay(place, undefined);
			this.sending = false;
			this.showUnsent("");
			this.draw();
		}
		const { next } = this;
		this.next = undefined;
		if (arrived && next?.place === this.place) await this.send(next.how);
	}

	private showUnsent(text: string): void {
		if (text === this.unsent) return;
		this.unsent = text;
		this.queue(...this.pending);
	}

	/** Makes a text that was not sent the draft of its place again. A prompt of a new session may have created that session. */
	private bring(text: string, place: string): void {
		if (this.place !== place && place !== "new") {
			if (kept(`draft.${place}`) === undefined) keep(`draft.${place}`, text);
		} else if (!this.input.value) {
			this.input.value = text;
			this.typed();
		}
	}
}

/** Remembers which control of a list has the focus. The result gives the focus to that control of the new list, or to another of its row. */
function focusIn(list: HTMLElement, focused: Element | null): () => void {
	if (!(focused instanceof HTMLElement) || !list.contains(focused)) return () => {};
	const turn = focused.closest<HTMLElement>("[data-turn]")?.dataset.turn;
	const label = focused.getAttribute("aria-label");
	return () => {
		if (list.contains(focused)) return focused.focus();
		const controls = [...list.querySelectorAll<HTMLElement>(`[data-turn="${turn}"] button`)];
		(controls.find((c) => c.getAttribute("aria-label") === label) ?? controls[0])?.focus();
	};
}
