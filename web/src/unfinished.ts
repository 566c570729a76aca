import { RpcError, type Methods } from "../../clients/typescript/src/index.js";
import { button, h } from "./dom.js";
import { count, money } from "./words.js";

type Part = Methods["session/continue"]["result"]["parts"][number];

/** What continuing a turn does with its blocks, and what the model reads for it. */
export interface Preview {
	parts: Part[];
	tokens: number | undefined;
	/** In USD. Undefined without a price. */
	cost: { low: number; high: number } | undefined;
}

/** What the offer needs from its turn. */
export interface Unfinished {
	reason: string;
	/** Whether the calls are free, or counted by a plan. */
	paid: boolean;
	preview(): Promise<Preview>;
	continue(): Promise<void>;
	again: (() => void) | undefined;
}

/** Offer is the card of a turn that was cut off. It appears when the daemon has said what continuing would do; that costs nothing. */
export class Offer {
	readonly el = h("div", { class: "card warn", role: "group", "aria-label": "Continue", hidden: true });
	private on = false;

	/** Offers to continue the turn, or no longer. */
	show(turn: Unfinished | undefined): void {
		if ((turn !== undefined) === this.on) return;
		this.on = turn !== undefined;
		this.el.hidden = true;
		if (turn) void this.load(turn);
	}

	private async load(turn: Unfinished): Promise<void> {
		let preview: Preview | undefined;
		try {
			preview = await turn.preview();
		} catch (error) {
			if (error instanceof RpcError) return; // the daemon would refuse to continue
		}
		if (!this.on) return;
		if (preview?.parts.length === 0 && !turn.again) return; // the card of the failure offers to ask again, which is the same
		this.el.replaceChildren(...this.content(turn, preview));
		this.el.hidden = false;
	}

	private content(turn: Unfinished, preview: Preview | undefined): HTMLElement[] {
		const acts = h("div", { class: "acts" }, button("Continue", "main", () => void turn.continue()));
		if (turn.again) acts.append(button("Ask again", "", turn.again));
		const all: HTMLElement[] = [h("h3", {}, preview?.parts.length === 0 ? "No answer came" : (titles[turn.reason] ?? "The answer stopped in the middle"))];
		if (!preview) return [...all, h("p", {}, "Continue keeps what the model finished, and asks for the rest. Finished tools do not run again."), acts];
		all.push(h("p", {}, [summary(preview.parts), cost(preview, turn.paid)].filter(Boolean).join(" ")));
		if (preview.parts.length > 0) {
			const list = h("ul", { class: "parts", hidden: true }, ...preview.parts.map((p) => h("li", {}, `${names[p.type]?.[0] ?? p.type}: `, h("b", {}, actions[p.action]))));
			const toggle = button("Show what is sent", "quiet", () => {
				list.hidden = !list.hidden;
				toggle.setAttribute("aria-expanded", String(!list.hidden));
			});
			toggle.setAttribute("aria-expanded", "false");
			acts.append(toggle);
			all.push(list);
		}
		return [...all, acts];
	}
}

const titles: Record<string, string> = { max_tokens: "The answer reached its length limit", cancelled: "The answer was stopped" };

const names: Record<string, [one: string, many: string]> = {
	thinking: ["thought", "thoughts"],
	text: ["text", "texts"],
	tool_call: ["tool call", "tool calls"],
	tool_result: ["tool result", "tool results"],
	media: ["image", "images"],
};

const actions: Record<Part["action"], string> = {
	kept: "kept",
	prefilled: "kept, and the new text goes on directly behind it",
	requested_again: "not sent: the model thinks again",
	dropped: "not sent",
};

/** What becomes of the blocks, in sentences. */
function summary(parts: Part[]): string {
	const some = (...which: Part["action"][]) => listed(parts.filter((p) => which.includes(p.action)));
	if (parts.length === 0) return "Continue sends your message again.";
	const kept = some("kept", "prefilled");
	const ran = parts.filter((p) => p.type === "tool_result" && p.action === "kept").length;
	return [
		kept ? `Continue keeps ${kept}, and asks for the rest.` : "Nothing can be kept. The model starts again.",
		parts.some((p) => p.action === "prefilled") && "The new text goes on directly behind the old one.",
		ran > 0 && (ran === 1 ? "The finished tool does not run again." : "Finished tools do not run again."),
		kept && some("requested_again") && "The model thinks again about what it had not finished.",
		some("dropped") && `Not sent: ${some("dropped")}.`,
	].filter(Boolean).join(" ");
}

/** Counts blocks by type: "2 thoughts, 1 text". */
function listed(parts: Part[]): string {
	const types = [...new Set(parts.map((p) => p.type))];
	return types.map((type) => {
		const n = parts.filter((p) => p.type === type).length;
		return `${n} ${names[type]?.[n === 1 ? 0 : 1] ?? type}`;
	}).join(", ");
}

/** What it costs to read the conversation again. */
function cost({ parts, tokens, cost }: Preview, paid: boolean): string {
	if (!tokens) return paid ? "What it costs is unknown." : "";
	const less = parts.some((p) => p.action === "requested_again" || p.action === "dropped"); // the count has what is not sent
	const reads = `The model reads ${less ? "up to " : "~"}${count(tokens)} tokens again`;
	if (!paid) return `${reads}.`;
	if (!cost) return `${reads}. What that costs is unknown.`;
	return `${reads}: ${range(less ? { low: 0, high: cost.high } : cost)}. The new text is extra.`;
}

function range({ low, high }: { low: number; high: number }): string {
	if (high < 0.001) return "less than $0.001";
	const [from, to] = [low, high].map((amount) => money({ amount, currency: "USD" })) as [string, string];
	if (from === to) return `~${to}`;
	return low < 0.001 ? `up to ${to}` : `${from} to ${to}`;
}
