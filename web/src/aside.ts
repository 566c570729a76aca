import type { AskDelta, Methods } from "../../clients/typescript/src/index.js";
import { Answer } from "./answer.js";
import { button, byId, h, iconButton, say } from "./dom.js";
import { inFrame, twiceASecond } from "./frames.js";
import { Growing } from "./growing.js";
import { Step } from "./step.js";
import { duration, gist, money } from "./words.js";

type Asked = Methods["session/ask"]["result"];

const near = 24; // pixels from the end within which the box scrolls along

/** What side questions need from the page. */
export interface Asker {
	ask(session: string, text: string, heard: (delta: AskDelta) => void, signal: AbortSignal): Promise<Asked>;
	/** Asks in a fork, where the question is recorded. */
	keep(session: string, text: string): Promise<Asked>;
	nameOf(model: { provider: string; id: string }): string;
	open(session: string): void;
	/** Takes the focus from a card that is gone. */
	focus(): void;
}

/**
 * Asides shows the side questions of the visible session above the composer. Only this page has them: those of another session stay
 * until the reader comes back to it, and a reload ends them all.
 */
export class Asides {
	private readonly box = byId("asides");
	private readonly bySession = new Map<string, HTMLElement>();
	private following = true;
	private readonly sizes = new ResizeObserver(() => this.follow());

	constructor(private readonly asker: Asker) {
		this.box.addEventListener("scroll", () => {
			const { scrollTop, scrollHeight, clientHeight } = this.box;
			this.following = scrollHeight - scrollTop - clientHeight < near;
		}, { passive: true });
	}

	/** Shows the side questions of a session, or none. */
	show(session: string | undefined): void {
		this.sizes.disconnect();
		const list = this.bySession.get(session ?? "");
		this.box.replaceChildren(...(list ? [list] : []));
		this.box.hidden = !list?.hasChildNodes();
		if (list) this.sizes.observe(list);
		this.toEnd();
	}

	/** Asks in the visible session. With keep, the question goes into a fork and is recorded there. */
	ask(session: string, text: string, keep: boolean): void {
		let list = this.bySession.get(session);
		if (!list) this.bySession.set(session, (list = h("div", {})));
		const card = new Aside(session, text, this.asker, () => {
			const focused = card.el.contains(document.activeElement);
			card.el.remove();
			this.box.hidden = !this.box.firstElementChild?.hasChildNodes();
			if (focused) this.asker.focus();
		});
		list.append(card.el);
		this.show(session);
		void (keep ? card.keep() : card.ask());
	}

	private toEnd(): void {
		this.following = true;
		this.follow();
	}

	private follow(): void {
		if (this.following) this.box.scrollTop = 1e9;
	}
}

let last = 0; // number of the newest card

/** Aside is one side question with its answer. */
class Aside {
	readonly el: HTMLElement;
	private readonly who = h("span", { class: "fine" });
	private readonly work = h("div", {});
	private readonly trouble = h("p", { class: "warnline", hidden: true });
	private readonly facts = h("span", { class: "how" });
	private readonly acts = h("span", { class: "acts" });
	private answer = new Answer();
	private thinking: { step: Step; text: string; waiting: string; growing: Growing } | undefined;
	private running: AbortController | undefined;
	private began = 0;

	constructor(private readonly session: string, private readonly text: string, private readonly asker: Asker, private readonly dismiss: () => void) {
		const id = `aside-${++last}`;
		this.el = h("div", { class: "aside", role: "group", "aria-labelledby": id },
			h("header", {}, h("h2", { id }, "Side question"), this.who, h("span", { class: "sp" }), iconButton("x", "Dismiss this side question", () => this.close())),
			h("p", { class: "asked", dir: "auto" }, text), this.work, this.trouble, h("div", { class: "ends" }, this.facts, this.acts));
		this.el.addEventListener("keydown", (event) => {
			if (event.key !== "Escape") return;
			event.stopPropagation(); // it does not stop the turn
			if (this.running) this.running.abort();
			else this.close();
		});
	}

	/** Asks, and shows the answer as it comes. */
	async ask(): Promise<void> {
		const stop = this.begin("Asking");
		this.offer(button("Stop", "", () => stop.abort()));
		say("Side question asked");
		try {
			const result = await this.asker.ask(this.session, this.text, (d) => this.grow(d), stop.signal);
			this.done(result);
		} catch (error) {
			const stopped = stop.signal.aborted;
			this.end(stopped ? ["stopped", "not recorded"] : []);
			if (!stopped) this.fail((error as Error).message);
			else say("Side question stopped");
			this.after(true);
		}
	}

	/** Asks in a fork. The model answers there, as in any other session. */
	async keep(): Promise<void> {
		this.begin("Asking in a fork");
		this.offer();
		try {
			const { session_id = "" } = await this.asker.keep(this.session, this.text);
			this.end(["asked in a fork"]);
			this.offer(button("Open the fork", "", () => this.asker.open(session_id)));
			say("The question was asked in a fork");
		} catch (error) {
			this.end([]);
			this.fail((error as Error).message);
			this.after(true);
		}
	}

	private begin(word: string): AbortController {
		const stop = new AbortController();
		this.running = stop;
		this.began = Date.now();
		this.trouble.hidden = true;
		const tick = () => {
			if (this.running !== stop) return false;
			const words = this.answer.text ? "answering" : this.thinking ? "thinking" : word;
			this.show([words, duration(Date.now() - this.began)]);
			return true;
		};
		tick();
		twiceASecond(tick);
		return stop;
	}

	private grow(d: AskDelta): void {
		if (d.kind === "text") {
			if (!this.answer.el.isConnected) this.work.append(this.answer.el);
			this.answer.append(d.delta);
			return;
		}
		const t = this.thought();
		t.text += d.delta;
		t.waiting += d.delta;
		inFrame(this.draw);
	}

	/** The thinking: one line that the reader may unfold. */
	private thought(): NonNullable<Aside["thinking"]> {
		if (!this.thinking) {
			const lines = h("div", { class: "thought" });
			const step = new Step("think");
			step.name.append("Thinking");
			step.el.classList.add("live");
			step.body.append(lines);
			this.thinking = { step, text: "", waiting: "", growing: new Growing(lines) };
			this.work.prepend(step.el);
		}
		return this.thinking;
	}

	private readonly draw = (): void => {
		const t = this.thinking;
		if (!t?.waiting) return;
		t.growing.append(t.waiting);
		t.waiting = "";
	};

	private done(r: Asked): void {
		// The last pieces of an answer are only in the result.
		if (r.thinking) this.grow({ ask_id: "", session_id: this.session, kind: "thinking", delta: r.thinking.slice(this.thinking?.text.length ?? 0) });
		if (r.text) {
			this.grow({ ask_id: "", session_id: this.session, kind: "text", delta: "" });
			this.answer.set(r.text, true);
		}
		if (r.model) this.who.textContent = `${this.asker.nameOf(r.model)}, ${r.model.thinking_level}`;
		const { usage } = r;
		const facts = ["not recorded"];
		if (usage?.input_tokens) facts.push(`${Math.round((100 * usage.cached_tokens) / usage.input_tokens)} % of the input was cached`);
		if (usage?.cost) facts.push(money(usage.cost));
		if (r.duration_ms !== undefined) facts.push(duration(r.duration_ms));
		this.end(facts);
		if (r.error) this.fail(r.error.message);
		else if (r.stop_reason !== "end_turn") this.fail(`The answer ended early: ${r.stop_reason}.`);
		else if (!r.text) this.fail("The model gave no answer.");
		else say("Side question answered");
		this.after(r.error !== undefined);
	}

	private end(facts: string[]): void {
		this.running = undefined;
		this.show(facts);
		if (this.answer.text) this.answer.set(this.answer.text, true);
		if (!this.thinking) return;
		const { step, text } = this.thinking;
		step.el.classList.remove("live");
		step.name.replaceChildren("Thought");
		step.gist.textContent = gist(text);
		step.gist.classList.add("away");
	}

	/** Offers what can be done after the end. */
	private after(again: boolean): void {
		this.offer(
			...(again ? [button("Ask again", "", () => this.again())] : []),
			button("Keep in a fork", "quiet", () => void this.keep()),
			h("small", {}, "asks again in a new session"));
	}

	/** Replaces the buttons. The focus stays among them. */
	private offer(...acts: HTMLElement[]): void {
		const focused = this.acts.contains(document.activeElement);
		this.acts.replaceChildren(...acts);
		if (focused) (this.acts.querySelector("button") ?? this.el.querySelector("button"))?.focus();
	}

	private again(): void {
		this.answer = new Answer();
		this.thinking = undefined;
		this.work.replaceChildren();
		void this.ask();
	}

	private fail(why: string): void {
		this.trouble.textContent = why;
		this.trouble.hidden = false;
		say(why);
	}

	private show(facts: string[]): void {
		this.facts.replaceChildren(...facts.map((f) => h("span", {}, f)));
	}

	private close(): void {
		this.running?.abort();
		this.dismiss();
	}
}
