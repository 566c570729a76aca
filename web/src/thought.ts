import type { Notifications } from "../../clients/typescript/src/index.js";
import { h, say } from "./dom.js";
import { inFrame, twiceASecond } from "./frames.js";
import { Growing } from "./growing.js";
import { Step } from "./step.js";
import { count, duration, gist } from "./words.js";

export type Kind = Notifications["thinking_end"]["kind"];
type End = { text: string; kind: Kind; signed: boolean; tokens?: number; estimated?: boolean; duration_ms?: number };

const fold = 400; // milliseconds after its end

/** Thought shows a block of thinking: unfolded while it streams, one line afterwards. */
export class Thought {
	readonly step = new Step("think");
	text = "";
	private shown = 0; // characters that are in the DOM
	private growing: Growing | undefined;
	private window: HTMLElement | undefined;
	private follow = true;
	private began = Date.now();
	private over = false;
	private signed = false;

	/** True if the thought ended without the vendor's signature. */
	get loose(): boolean {
		return this.over && !this.signed;
	}

	get done(): boolean {
		return this.over;
	}

	constructor() {
		const { el } = this.step;
		// A folded thought has no DOM nodes.
		el.addEventListener("toggle", () => {
			if (!this.over) return;
			if (el.open) this.build();
			else this.step.body.replaceChildren();
		});
	}

	/** The thought streams; `since` is when it began. */
	live(since: number): void {
		this.began = since;
		const { el, name, body } = this.step;
		el.classList.add("live");
		el.open = true;
		name.replaceChildren("Thinking");
		const first = h("i", { class: "first", "aria-hidden": "true" });
		const lines = h("div", {});
		const window_ = h("div", { class: "thought window", tabindex: 0, role: "group", "aria-label": "Thought, live" }, first, lines);
		this.growing = new Growing(lines);
		this.window = window_;
		const touch = () => {
			this.step.touched = true;
			this.follow = window_.scrollHeight - window_.scrollTop - window_.clientHeight < 24;
		};
		for (const event of ["wheel", "touchmove", "keydown", "selectstart"]) window_.addEventListener(event, touch, { passive: true });
		window_.addEventListener("scroll", () => {
			if (this.step.touched) touch();
		}, { passive: true });
		new IntersectionObserver(([e]) => window_.classList.toggle("more", !e?.isIntersecting), { root: window_ }).observe(first);
		body.replaceChildren(window_);
		this.tick();
		twiceASecond(() => this.tick());
		say("Thinking");
	}

	append(delta: string): void {
		this.text += delta;
		inFrame(this.draw);
	}

	/** Shows the whole text so far, and appends what is missing. */
	grow(text: string): void {
		if (!text.startsWith(this.text)) {
			this.text = "";
			this.shown = 0;
			this.growing?.el.replaceChildren();
			this.growing = this.growing && new Growing(this.growing.el);
		}
		this.append(text.slice(this.text.length));
	}

	end(end: End, quiet = false): void {
		const wasLive = this.window !== undefined && !this.over;
		this.text = end.text;
		this.over = true;
		this.signed = end.signed;
		const { el, name } = this.step;
		el.classList.remove("live");
		const hidden = !end.text && (end.kind === "redacted" || end.kind === "omitted");
		el.classList.toggle("sealed", hidden);
		name.replaceChildren(end.kind === "redacted" ? "Redacted thinking" : hidden ? "Thought, not shown" : "Thought");
		this.step.gist.textContent = gist(end.text);
		this.step.gist.classList.add("away");
		this.step.show(
			end.tokens ? `${end.estimated ? "~" : ""}${count(end.tokens)} tok` : undefined,
			end.duration_ms === undefined ? undefined : [duration(end.duration_ms), "time"],
			[end.kind, "kind"],
		);
		if (!wasLive) {
			if (el.open) this.build();
			return;
		}
		if (!quiet) say(`Thought for ${duration(end.duration_ms ?? Date.now() - this.began)}`);
		if (this.step.touched) {
			this.draw();
			this.window?.classList.add("tall");
			return;
		}
		setTimeout(() => {
			if (!this.step.touched && !getSelection()?.containsNode(el, true)) el.open = false;
		}, fold);
	}

	/** The thought was cut off: nothing goes back to the model. */
	cut(): void {
		if (!this.over) this.end({ text: this.text, kind: "full", signed: false });
		this.step.name.replaceChildren("Thought, cut off");
		this.step.show(["kept here only", "kind"]);
		this.step.el.classList.add("sealed");
	}

	void_(attempt: number): void {
		this.step.el.classList.add("void");
		this.step.name.replaceChildren("Void");
		this.step.show([`attempt ${attempt}`, "kind"]);
		this.step.el.open = false;
	}

	private tick(): boolean {
		if (this.over || !this.step.el.isConnected && this.text) return !this.over;
		this.step.show(this.text ? `~${count(Math.round(this.text.length / 4))} tok` : undefined, [duration(Math.max(0, Date.now() - this.began)), "time"]);
		return true;
	}

	private readonly draw = (): void => {
		if (!this.growing || this.shown >= this.text.length) return;
		this.growing.append(this.text.slice(this.shown));
		this.shown = this.text.length;
		if (this.follow && this.window) this.window.scrollTop = 1e9; // this reads no layout
	};

	private build(): void {
		this.window = this.growing = undefined;
		if (!this.text) {
			this.step.body.replaceChildren(h("div", { class: "note" }, this.step.el.classList.contains("sealed")
				? "The provider sent no text. Its encrypted data goes back with the next call, so that the model can continue."
				: "No text."));
			return;
		}
		const box = h("div", { class: "thought" });
		new Growing(box).append(this.text);
		this.step.body.replaceChildren(box);
	}
}
