import type { Block, Error as Failure } from "../../clients/typescript/src/index.js";
import { button, forOwner, h } from "./dom.js";
import { twiceASecond } from "./frames.js";
import { note } from "./step.js";
import { duration } from "./words.js";

/** What the page offers after a failure. */
export interface Ways {
	setKey(provider: string, key: string): Promise<void>;
	again(content: Block[]): void;
	simulate(content: Block[]): void;
	pick(): void;
}

const titles: Record<string, string> = {
	auth: "The provider needs a key",
	rate_limit: "Too many requests",
	overloaded: "The provider is overloaded",
	quota: "The quota is used up",
	context_too_long: "The conversation is too long",
	refused: "Refused",
	other_model: "Another model answered",
	transport: "The connection to the provider was lost",
	stalled: "The provider stopped responding",
};

/** What happened, and what to do. */
export interface Trouble {
	el: HTMLElement;
	card: HTMLElement;
}

/** What happened, what is stored, and what to do. `live` is false for a failure of the history: how long it asked to wait counts from then. */
export function troubleCard(e: Failure, provider: string, content: Block[], ways: Ways, live: boolean): Trouble {
	const kind = e.data?.kind ?? "";
	const facts = [e.data?.status && String(e.data.status), kind, e.data?.request_id].filter(Boolean) as string[];
	const step = note("bad", titles[kind] ?? "The turn failed", e.message, ...facts);
	const acts = h("div", { class: "acts" });
	const card = h("div", { class: "card bad", role: "group", "aria-label": "What you can do" }, h("p", {}, "Your message is kept."));
	if (kind === "auth" && provider) card.append(forOwner(keyField(provider, ways, () => ways.again(content))));
	acts.append(button("Ask again", "", () => ways.again(content)), forOwner(button("Another model", "", () => ways.pick())), forOwner(button("Use the simulator", "quiet", () => ways.simulate(content))));
	card.append(acts);
	const wait = live && e.data?.retry_after_ms;
	if (wait) {
		const until = Date.now() + wait;
		const line = h("p", {});
		card.prepend(line);
		const tick = () => {
			line.textContent = Date.now() < until ? `It asks to wait for ${duration(until - Date.now())}.` : "You can try again now.";
			return Date.now() < until && step.isConnected;
		};
		tick();
		twiceASecond(tick);
	}
	step.append(card);
	return { el: step, card };
}

/** A field for a provider's key. The key goes only to the daemon, and the page does not keep it. */
export function keyField(provider: string, ways: Pick<Ways, "setKey">, done: () => void): HTMLElement {
	const input = h("input", { type: "password", autocomplete: "off", "aria-label": `Key for ${provider}`, placeholder: `Key for ${provider}` });
	const why = h("p", { class: "warnline", role: "alert", hidden: true });
	const save = async (event: Event) => {
		event.preventDefault();
		const key = input.value.trim();
		if (!key) return;
		try {
			await ways.setKey(provider, key);
			input.value = "";
			done();
		} catch (error) {
			why.textContent = (error as globalThis.Error).message;
			why.hidden = false;
		}
	};
	return h("form", { class: "field", onsubmit: (e) => void save(e) }, input, h("button", { class: "btn main", type: "submit" }, "Save"), why);
}
