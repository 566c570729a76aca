import type { Methods, Notifications, Spending } from "../../clients/typescript/src/index.js";
import { button, forOwner, h, say } from "./dom.js";
import { twiceASecond } from "./frames.js";
import { closePopover, popover } from "./popover.js";
import { figures, range } from "./quote.js";
import { duration, moment, money } from "./words.js";

type Model = Methods["models/list"]["result"]["models"][number];

/** Why and until when a turn waits. */
export type Wait = Omit<Notifications["turn_parked"], "session_id" | "seq" | "ts" | "turn_id" | "first_seq">;

/** What the card of a parked turn offers. */
export interface Ways {
	/** Resumes the turn now, also with another model. */
	resume(model?: Model): Promise<unknown>;
	/** Resumes a turn that waits at a budget, and raises that limit by an amount in USD. */
	raise(usd: number): Promise<unknown>;
	/** Summarises earlier turns, and then sends the prompt that waits for an answer. */
	compact(): Promise<unknown>;
	/** The models that the turn can resume with. */
	models(): Model[];
	end(): Promise<unknown>;
}

/** Parked is the step of a turn that waits: why, until when, and what can be done. One step shows the wait and its later attempts. */
export class Parked {
	readonly el = h("div", { class: "step warn" });
	private readonly name = h("span", { class: "name" });
	private readonly span = h("span", { class: "gist" });
	private readonly kind = h("span", { class: "kind w" });
	private readonly slot = h("div", {});
	private since = 0;
	private waiting: Wait | undefined;
	private sent = false;

	constructor(private readonly provider: () => string, private readonly ways: Ways) {
		this.el.append(h("p", { class: "head inline" }, this.name, this.span, h("span", { class: "facts" }, this.kind)), this.slot);
	}

	/** Whether a wait is a later attempt of this one. */
	goesOn(w: Wait): boolean {
		return w.since === this.since;
	}

	/** Shows the card. Live: it is news, and is announced. */
	show(w: Wait, live: boolean): void {
		this.since = w.since;
		this.waiting = w;
		this.sent = false;
		this.name.textContent = w.why === "budget" ? "Asks you" : "Parked";
		this.span.textContent = w.why === "budget" ? `before it spends more, since ${moment(w.since)}` : `since ${moment(w.since)}`;
		this.kind.textContent = w.why;
		this.slot.replaceChildren(this.card(w));
		if (live) say(`Parked. ${this.heading(w)}`);
	}

	/** Shows a wait that is over, without its card. */
	past(w: Wait, how: string, at: number): void {
		this.since = w.since;
		this.waiting = w;
		this.kind.textContent = w.why;
		this.done(how, at);
	}

	/** The turn goes on, or has ended. */
	done(how: string, at = Date.now()): void {
		if (!this.waiting) return;
		this.name.textContent = this.waiting.why === "budget" ? "Asked you" : "Parked";
		this.waiting = undefined;
		this.span.textContent = `from ${moment(this.since)} to ${moment(at)}, ${how}`;
		if (this.slot.contains(document.activeElement)) {
			this.el.tabIndex = -1; // the focus stays in the turn
			this.el.focus();
		}
		this.slot.replaceChildren();
	}

	private card(w: Wait): HTMLElement {
		const heading = h("h3", {}, this.heading(w));
		const left = h("span", { "aria-hidden": "true" }); // the heading has the time: a countdown is not read aloud
		const card = h("div", { class: "card warn", role: "group", "aria-label": "Parked turn" }, heading,
			w.error && h("p", { class: "reason" }, w.error.message), w.spending && w.spending.limit !== "ask_above" && bar(w.spending), h("p", {}, left, consequence(w)),
			w.spending?.quote && figures(w.spending.quote), this.acts(w));
		const { until } = w;
		if (!until || (w.why === "client" && w.resumes === "on_request")) return card;
		const tick = () => {
			const ms = until - Date.now();
			if (ms > 0) left.textContent = `${duration(Math.max(1000, ms))} left. `;
			else left.textContent = w.resumes === "automatically" ? "Trying again. " : "";
			return this.waiting === w && card.isConnected;
		};
		tick();
		twiceASecond(tick);
		return card;
	}

	private heading({ why, until, resumes, spending }: Wait): string {
		const to = until ? ` until ${moment(until)}` : "";
		switch (why) {
			case "quota": return `Waiting for quota at ${this.provider()}${to}`;
			case "outage": return `Waiting for ${this.provider()}${to}`;
			case "approval": return "Waiting for your answer";
			case "client": return resumes === "automatically" ? `Waiting${to}` : "Waiting for you";
			case "budget": return !spending ? "Spend more?" : spending.limit === "ask_above" ? `This prompt may cost up to ${usd(spending.next)}` : `${budgets[spending.limit](usd(spending.most))} ${spending.used < spending.most / 2 ? "has no room for the next step" : "is nearly spent"}`;
		}
	}

	private acts(w: Wait): HTMLElement {
		const end = button("End the turn", w.why === "approval" ? "bad" : "quiet bad", () => this.act(() => this.ways.end()));
		if (w.why === "approval") return h("div", { class: "acts" }, end); // an answer resumes it
		const { spending } = w;
		if (w.why === "budget" && spending) {
			if (spending.limit === "ask_above") {
				const c = spending.quote?.compact_first;
				return h("div", { class: "acts" }, button("Send it", "main", () => this.act(() => this.ways.resume())),
					c && forOwner(button(`Compact first: ${range(c.cost)}`, "", () => this.act(() => this.ways.compact()))), h("span", { class: "sp" }), end);
			}
			return h("div", { class: "acts" }, button("Allow this step", "main", () => this.act(() => this.ways.resume())),
				button(`Allow ${usd(spending.most)} more${spending.limit === "max_day_cost" ? " today" : ""}`, "", () => this.act(() => this.ways.raise(spending.most))), h("span", { class: "sp" }), end);
		}
		const resume = button("Resume now", "main", () => this.act(() => this.ways.resume()));
		const change = button("Change model…", "", () => choose(change, this.ways.models(), (m) => this.act(() => this.ways.resume(m))));
		change.setAttribute("aria-haspopup", "dialog");
		change.setAttribute("aria-expanded", "false");
		return h("div", { class: "acts" }, resume, change, h("span", { class: "sp" }), end);
	}

	/** Does it once. If it is refused, the card says why, and it can be tried again. */
	private act(act: () => Promise<unknown>): void {
		if (this.sent) return;
		this.sent = true;
		act().catch((error: Error) => {
			this.sent = false;
			const why = this.slot.querySelector(".warnline") ?? h("p", { class: "warnline" });
			why.textContent = error.message;
			this.slot.querySelector(".card")?.append(why);
			say(error.message);
		});
	}
}

const budgets: Record<Exclude<Spending["limit"], "ask_above">, (amount: string) => string> = {
	max_day_cost: (amount) => `Today’s budget of ${amount}`,
	max_cost_unattended: (amount) => `The budget of ${amount} while nobody is there`,
};

function usd(amount: number): string {
	return money({ amount, currency: "USD" });
}

/** How much of a budget is spent, and what the next step may take of it. */
function bar(s: Spending): HTMLElement {
	const part = (kind: string, share: number) => {
		const i = h("i", { class: kind });
		i.style.setProperty("--share", String(Math.max(0, Math.min(1, share))));
		return i;
	};
	return h("div", { class: "meterbar", role: "img", "aria-label": `${usd(s.used)} of ${usd(s.most)} spent, the next step may cost up to ${usd(s.next)}` }, part("", s.used / s.most), part("w", Math.min(s.next, s.most - s.used) / s.most));
}

/** What makes the turn go on, and what happens meanwhile. */
function consequence({ why, until, resumes, spending }: Wait): string {
	if (spending?.limit === "ask_above") return `The vendor may no longer have this conversation in its cache. Prompts that may cost more than ${usd(spending.most)} wait for an answer. No tool is running.`;
	if (why === "budget" && spending) return `${usd(spending.used)} spent, or reserved by calls that run. The next step may cost up to ${usd(spending.next)}, so it could pass the limit. No tool is running.`;
	const stored = "What it has finished is stored. No tool is running.";
	if (why === "approval") return `Your answer to the question resumes the turn. There is no time limit. ${stored}`;
	if (why === "client") {
		if (resumes === "automatically") return "The prompt is sent then. No tool is running.";
		return `The prompt was to be sent at ${moment(until ?? Date.now())}. The daemon was restarted, and now waits for somebody to resume the turn. No tool is running.`;
	}
	return resumes === "automatically" ? `The turn then resumes by itself. ${stored}` : `The turn waits until somebody resumes it. ${stored}`;
}

const most = 50; // rows

/** Lists models, with a search. */
function choose(from: HTMLElement, models: Model[], done: (m: Model) => void): void {
	const list = h("div", { class: "choices" });
	const find = h("input", { type: "search", "aria-label": "Find a model", placeholder: "Find a model", autocomplete: "off" });
	const draw = () => {
		const query = find.value.trim().toLowerCase();
		const fits = models.filter((m) => `${m.provider}/${m.id} ${m.name}`.toLowerCase().includes(query)).slice(0, most);
		list.replaceChildren(...fits.map((m) => h("button", { class: "opt", type: "button", onclick: () => {
			closePopover();
			done(m);
		} }, h("b", {}, m.name), h("small", {}, m.provider))));
		if (fits.length === 0) list.append(h("p", { class: "fine" }, "No available model has that name."));
	};
	find.addEventListener("input", draw);
	find.addEventListener("keydown", (event) => {
		if (event.key === "Enter") list.querySelector("button")?.click();
		else if (event.key === "ArrowDown") list.querySelector("button")?.focus();
		else return;
		event.preventDefault();
	});
	draw();
	popover(from, "Resume with another model", h("div", {}, h("p", {}, "The turn ends here, and a new one continues it. The session keeps its model."), h("div", { class: "field" }, find), list), "small");
}
