import type { Message, Summary } from "../../clients/typescript/src/index.js";
import { button, forOwner, h, iconButton, say } from "./dom.js";
import { Step } from "./step.js";
import { count, money, short } from "./words.js";

const few = 2; // covered prompts that are listed at first

/** What the divider needs from the page. */
export interface Kept {
	/** The messages that a summary covers. */
	covered(s: Summary): Promise<Message[]>;
	pin(messageId: string, on: boolean): Promise<unknown>;
	undo(summaryId: string): Promise<unknown>;
	forkBefore(summaryId: string): Promise<unknown>;
	modelName(modelId: string): string;
	pinned(): string[];
}

/** Divider is the line in the conversation behind which models get a summary of what stands before it. */
export class Divider {
	readonly el: HTMLElement;
	private readonly step = new Step("ok");
	private readonly acts = h("div", { class: "acts" });
	private readonly list = h("ul", { class: "covers", "aria-label": "Covered messages" });
	private loaded = false;

	constructor(private s: Summary, private readonly kept: Kept) {
		this.el = h("div", { class: "rail divider", "data-summary": s.summary_id }, this.step.el);
		this.step.el.addEventListener("toggle", () => {
			if (this.step.el.open && !this.loaded) void this.load();
		});
		this.step.body.append(this.text(), this.list, this.acts);
		this.update(s);
	}

	/** The summary changed: it was undone, or cannot be undone any more. */
	update(s: Summary): void {
		this.s = s;
		this.step.name.replaceChildren(s.undone ? "Compacted, undone" : "Compacted");
		this.step.el.classList.toggle("void", s.undone === true);
		const sizes = s.tokens_before !== undefined && s.tokens_after !== undefined ? `${short(s.tokens_before)} to ~${short(s.tokens_after)} tok` : undefined;
		this.step.show(sizes, [`${count(s.messages)} messages`, "kind"]);
		const fork = forOwner(button("Fork before it", "quiet", () => this.act(() => this.kept.forkBefore(s.summary_id))));
		const undo = forOwner(button("Undo", "", () => this.act(() => this.kept.undo(s.summary_id))));
		this.acts.replaceChildren(...(s.undoable && !s.undone ? [undo, fork, forOwner(h("small", {}, "Undo is possible until the next prompt."))] : [fork]));
	}

	private text(): HTMLElement {
		const { s } = this;
		const by = s.model_id ? ` Written by ${this.kept.modelName(s.model_id)}${s.usage.cost ? ` for ${money(s.usage.cost)}` : ""}.` : "";
		return h("div", {}, h("p", { class: "note" }, `${count(s.messages)} messages are covered by this summary.${by} The messages stay stored.`),
			h("div", { class: "summary-text", tabindex: 0, role: "group", "aria-label": "Summary" }, ...s.text.split("\n").map((line) => h("p", { dir: "auto" }, line))));
	}

	private async load(): Promise<void> {
		this.loaded = true;
		const messages = (await this.kept.covered(this.s).catch(() => [] as Message[])).filter((m) => m.role === "user" && m.content.some((b) => b.type === "text"));
		this.draw(messages, false);
	}

	private draw(messages: Message[], all: boolean): void {
		const pinned = new Set(this.kept.pinned());
		const first = all ? messages : [...messages.filter((m) => pinned.has(m.id)), ...messages.filter((m) => !pinned.has(m.id)).slice(0, few)];
		const rest = messages.length - first.length;
		this.list.replaceChildren(...first.map((m) => this.row(m, pinned.has(m.id), () => this.draw(messages, all))),
			...(rest > 0 ? [h("li", {}, h("span", {}), button(rest === 1 ? "Show the other prompt" : `Show the other ${count(rest)} prompts`, "quiet", () => this.draw(messages, true)))] : []));
	}

	private row(m: Message, on: boolean, changed: () => void): HTMLElement {
		const text = m.content.map((b) => (b.type === "text" ? b.text : "")).join(" ").slice(0, 200);
		const pin = iconButton("pin", on ? "Unpin this message" : "Pin this message", () => {
			pin.disabled = true;
			this.kept.pin(m.id, !on).then(() => {
				say(on ? "Unpinned" : "Pinned: later summaries keep it word for word");
				changed();
			}, (error: Error) => {
				pin.disabled = false;
				say(error.message);
			});
		pin.classList.add("writers");
		});
		pin.setAttribute("aria-pressed", String(on));
		return h("li", {}, pin, h("span", { dir: "auto" }, text), h("small", {}, on ? "pinned: kept as it is" : ""));
	}

	private act(run: () => Promise<unknown>): void {
		for (const b of this.acts.querySelectorAll("button")) b.disabled = true;
		run().catch((error: Error) => {
			this.update(this.s);
			this.acts.append(h("p", { class: "warnline", role: "alert" }, error.message));
		});
	}
}
