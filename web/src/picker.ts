import type { Client, Level, Methods } from "../../clients/typescript/src/index.js";
import { button, byId, h, icon, iconButton } from "./dom.js";
import { bars, option, type Model } from "./levels.js";
import { closePopover, show } from "./popover.js";
import { priceNow } from "./price.js";
import { count, short } from "./words.js";

type Explained = Methods["thinking/explain"]["result"];

/** A choice for the session, or for the next turn only. */
export interface Choice {
	model_id: string;
	level: Level | undefined;
}

/** What the picker needs from the page. */
export interface Chooser {
	sessionId(): string | undefined;
	running(): boolean;
	now(): Choice;
	apply(choice: Choice, onlyNext: boolean): Promise<void>;
	fork(choice: Choice): Promise<void>;
	keys(from: HTMLElement): void;
}

const wait = 150; // milliseconds on a row before the page asks the daemon for the effect of a switch

/** Picker chooses a model, then one of that model's own levels. One click on a level applies it, unless the prompt cache would be lost. */
export class Picker {
	private readonly el = byId("picker");
	private readonly list = byId("models");
	private readonly levels = byId("levels");
	private readonly loss = byId("loss");
	private readonly find = byId<HTMLInputElement>("find-model");
	private models: Model[] = [];
	private default_ = "";
	private picked: Model | undefined;
	private onlyNext = false;
	private asked = 0; // responses to older requests are ignored
	private timer: ReturnType<typeof setTimeout> | undefined;

	constructor(private readonly client: Client, private readonly chooser: Chooser) {
		for (const id of ["pick-model", "pick-level"]) {
			const from = byId(id);
			from.addEventListener("click", () => this.open(from, id === "pick-level"));
		}
		this.find.addEventListener("input", () => this.draw());
		this.el.addEventListener("keydown", (event) => this.key(event));
	}

	/** The latest list of models. */
	async load(): Promise<Model[]> {
		const { models, default_model } = await this.client.call("models/list", {});
		this.models = models;
		this.default_ = default_model ?? "";
		return this.models;
	}

	/** The model of a new session, if nobody names one. */
	get defaultModel(): string {
		return this.default_;
	}

	model(id: string): Model | undefined {
		return this.models.find((m) => full(m) === id);
	}

	/** The models that can be called now. */
	available(): Model[] {
		return this.models.filter((m) => m.available);
	}

	/**
	 * Opens at once, so that the next key goes into the search field. The daemon may have to look for local servers before it can list
	 * the models. Until then, the picker shows the previous list.
	 */
	open(from: HTMLElement, atLevels: boolean): void {
		if (!this.el.hidden) {
			closePopover();
			return;
		}
		this.find.value = "";
		this.onlyNext = false;
		this.picked = this.model(this.chooser.now().model_id);
		this.el.classList.toggle("step2", atLevels);
		this.draw();
		this.choose(this.picked);
		show(this.el, from);
		if (atLevels) this.levels.querySelector<HTMLElement>("[role=radio][tabindex='0']")?.focus();
		this.list.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
		void this.renew();
	}

	/** Requests the models, and draws them if they changed while the picker is open. Focus and choice stay. */
	private async renew(): Promise<void> {
		const before = JSON.stringify(this.models);
		const models = await this.load().catch(() => this.models); // without a connection: the previous ones
		if (this.el.hidden || !this.loss.hidden || JSON.stringify(models) === before) return; // an open question stays
		const at = document.activeElement as HTMLElement;
		const within = this.list.contains(at) ? `#models [data-id="${at.dataset["id"] ?? ""}"]` : this.levels.contains(at) ? `#levels [data-level="${at.dataset["level"] ?? ""}"]` : "";
		const picked = this.picked && this.model(full(this.picked));
		this.picked = picked; // set it before the rows are drawn: a row that gets the focus selects its model
		this.draw();
		this.choose(picked);
		if (within) document.querySelector<HTMLElement>(within)?.focus();
	}

	private draw(): void {
		const query = this.find.value.trim().toLowerCase();
		const now = this.chooser.now().model_id;
		const fits = this.models.filter((m) => !query || full(m).toLowerCase().includes(query) || m.name.toLowerCase().includes(query));
		// The chosen model's provider, then available models, then those that are not, and simulators last.
		const rank = (m: Model) => (full(m) === now ? 0 : m.provider === "sim" ? 3 : m.available ? 1 : 2);
		const providers = [...new Set(fits.map((m) => m.provider))];
		const best = (p: string) => Math.min(...fits.filter((m) => m.provider === p).map(rank));
		providers.sort((a, b) => best(a) - best(b));
		const rows: HTMLElement[] = [];
		for (const p of providers) {
			const group = h("div", { role: "group", "aria-label": p }, h("h3", { "aria-hidden": "true" }, p));
			for (const m of fits.filter((f) => f.provider === p)) {
				const row = option(m.name, {
					role: "option", tabindex: -1, "aria-selected": m === this.picked, "aria-disabled": !m.available && "true",
					"data-id": full(m), title: m.available ? undefined : m.why,
				}, h("span", {}, m.name, ...(m.available ? [] : [h("small", {}, ` ${m.why ?? "not available"}`)])), h("small", {}, ...figures(m)), icon("check"));
				row.classList.toggle("cur", full(m) === now);
				row.addEventListener("click", () => {
					if (!m.available) {
						this.chooser.keys(byId("pick-model"));
						return;
					}
					this.choose(m);
					this.el.classList.add("step2");
				});
				row.addEventListener("focus", () => m.available && m !== this.picked && this.choose(m));
				group.append(row);
			}
			rows.push(group);
		}
		if (rows.length === 0) rows.push(h("p", { class: "grp" }, "No model has that name."));
		this.list.replaceChildren(...rows);
		(this.list.querySelector<HTMLElement>("[aria-selected=true]") ?? this.list.querySelector<HTMLElement>("[role=option]"))?.setAttribute("tabindex", "0");
	}

	private choose(m: Model | undefined): void {
		this.picked = m;
		for (const row of this.list.querySelectorAll<HTMLElement>("[role=option]")) {
			const is = m !== undefined && row.dataset["id"] === full(m);
			row.setAttribute("aria-selected", String(is));
			row.tabIndex = is ? 0 : -1;
		}
		this.loss.hidden = true;
		this.drawLevels();
		clearTimeout(this.timer);
		if (m && this.chooser.sessionId()) this.timer = setTimeout(() => void this.explain(m), wait);
	}

	private drawLevels(): void {
		const m = this.picked;
		if (!m) {
			this.levels.replaceChildren(h("p", { class: "why" }, "Choose a model."));
			return;
		}
		const now = this.chooser.now();
		const here = now.model_id === full(m);
		const list = h("div", { role: "radiogroup", "aria-label": "Thinking level", "aria-disabled": m.supports_thinking ? undefined : "true" });
		const levels = m.supports_thinking ? m.thinking_levels : [];
		const preferred = now.level ?? m.default_thinking_level;
		for (const l of levels) {
			const row = option(l, { role: "radio", "aria-checked": here && now.level === l ? "true" : "false", tabindex: l === preferred ? 0 : -1, "data-level": l },
				bars(levels, l), h("span", {}, l), h("small", {}, l === m.default_thinking_level ? "its default" : ""), icon("check"));
			row.addEventListener("click", () => void this.take(l));
			list.append(row);
		}
		if (!list.querySelector("[tabindex='0']")) list.querySelector("button")?.setAttribute("tabindex", "0");
		const why = !m.supports_thinking ? `${m.name} does not think, so there is no level to choose.`
			: !m.thinking.can_disable ? "Cannot be switched off." : "";
		const scope = h("div", { class: "seg", role: "group", "aria-label": "For how long" });
		for (const [label, only] of [["This session", false], ["Next turn only", true]] as const) {
			const b = button(label, "", () => {
				this.onlyNext = only;
				for (const e of scope.children) e.setAttribute("aria-pressed", String(e === b));
			});
			b.setAttribute("aria-pressed", String(only === this.onlyNext));
			scope.append(b);
		}
		const back = iconButton("back", "Back to the models", () => {
			this.el.classList.remove("step2");
			this.list.querySelector<HTMLElement>("[tabindex='0']")?.focus();
		});
		back.classList.add("backbtn");
		this.levels.replaceChildren(
			h("div", { class: "levelhead" }, back, h("div", {}, h("h2", {}, m.name), h("p", { class: "src" }, origin(m)))),
			list,
			...notes(m).map((text) => h("p", { class: "why fact" }, text)),
			...(why ? [h("p", { class: "why" }, why)] : []),
			...(levels.length === 0 ? [button(`Use ${m.name}`, "main", () => void this.take(undefined))] : []),
			h("div", { class: "end" }, scope,
				h("p", { class: "cacheline", id: "cacheline" }, this.chooser.running() ? "Applies to the next turn." : "")),
		);
	}

	private async explain(m: Model): Promise<void> {
		const session_id = this.chooser.sessionId();
		if (!session_id) return;
		const mine = ++this.asked;
		try {
			const answer: Explained = await this.client.call("thinking/explain", { session_id, model_id: full(m) });
			if (mine !== this.asked || this.picked !== m) return;
			const line = document.getElementById("cacheline");
			const text = [this.chooser.running() ? "Applies to the next turn." : "", consequence(answer)].filter(Boolean).join(" ");
			if (line) line.textContent = text;
		} catch {
			// The effect of a switch is unknown: it is shown after the switch.
		}
	}

	private async take(level: Level | undefined): Promise<void> {
		const m = this.picked;
		if (!m) return;
		const choice = { model_id: full(m), level };
		const session_id = this.chooser.sessionId();
		if (session_id && !this.onlyNext) {
			try {
				const answer: Explained = await this.client.call("thinking/explain", { session_id, model_id: choice.model_id, ...(level && { level }) });
				if (cacheOf(answer) === "lost") {
					this.warn(choice, answer);
					return;
				}
			} catch {
				// As above. The daemon refuses an invalid choice.
			}
		}
		await this.done(() => this.chooser.apply(choice, this.onlyNext));
	}

	private warn(choice: Choice, answer: Explained): void {
		const act = (label: string, kind: string, run: () => Promise<void>) => button(label, kind, () => void this.done(run));
		this.loss.replaceChildren(
			h("h2", {}, "The prompt cache would be lost"),
			h("p", {}, [answer.cache_why ? sentence(answer.cache_why) : "", "The next turn reads the whole conversation again.", consequence(answer)].filter(Boolean).join(" ")),
			h("div", { class: "acts" },
				act("Switch", "main", () => this.chooser.apply(choice, false)),
				act("Next turn only", "", () => this.chooser.apply(choice, true)),
				act("Fork instead", "quiet", () => this.chooser.fork(choice))));
		this.loss.hidden = false;
		this.loss.querySelector("button")?.focus();
	}

	private async done(run: () => Promise<void>): Promise<void> {
		try {
			await run();
			closePopover();
		} catch (error) {
			this.loss.replaceChildren(h("h2", {}, "The request was refused"), h("p", {}, (error as Error).message));
			this.loss.hidden = false;
		}
	}

	private key(event: KeyboardEvent): void {
		const at = document.activeElement as HTMLElement;
		const inLevels = this.levels.contains(at);
		const rows = [...(inLevels ? this.levels : this.list).querySelectorAll<HTMLElement>(inLevels ? "[role=radio]" : "[role=option]")];
		const i = rows.indexOf(at);
		const to: Record<string, number> = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: rows.length - 1 };
		if (event.key in to && (i >= 0 || event.key === "ArrowDown")) {
			event.preventDefault();
			const next = rows[Math.max(0, Math.min(rows.length - 1, to[event.key] ?? 0))];
			if (i === 0 && event.key === "ArrowUp" && !inLevels) this.find.focus();
			else next?.focus();
		} else if (event.key === "ArrowRight" && !inLevels && i >= 0) {
			event.preventDefault();
			this.el.classList.add("step2");
			(this.levels.querySelector<HTMLElement>("[role=radio][tabindex='0']") ?? this.levels.querySelector<HTMLElement>(".btn.main"))?.focus();
		} else if (event.key === "ArrowLeft" && inLevels && i >= 0) {
			event.preventDefault();
			this.el.classList.remove("step2");
			this.list.querySelector<HTMLElement>("[tabindex='0']")?.focus();
		} else if (event.key === "Enter" && at === this.find) {
			event.preventDefault();
			rows[0]?.click();
			this.levels.querySelector<HTMLElement>("[role=radio][tabindex='0']")?.focus();
		}
	}
}

export function full(m: { provider: string; id: string }): string {
	return `${m.provider}/${m.id}`;
}

function cacheOf(e: Explained): string {
	return e.cache ?? "unknown";
}

/** Turns a clause of the daemon into a sentence. */
function sentence(clause: string): string {
	return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
}

/** What happens to earlier thoughts. */
function consequence(e: Explained): string {
	const b = e.blocks;
	if (!b || b.converted + b.dropped === 0) return "";
	const parts = [b.kept && `${count(b.kept)} go along as they are`, b.converted && `${count(b.converted)} go along as text`, b.dropped && `${count(b.dropped)} stay behind`].filter(Boolean);
	return `Of ${count(b.kept + b.converted + b.dropped)} earlier thoughts, ${parts.join(", ")}.`;
}

/** What a list shows of a model: when it retires, its price, and its window. ~ marks what nobody confirmed. */
function figures(m: Model): (Node | string)[] {
	const guess = (fact: "price" | "limits") => (["family", "table"].includes(m.facts?.[fact]?.state ?? "") ? "~" : "");
	const end = m.lifecycle;
	const price = m.price && priceNow(m.price);
	const text = [
		price ? `${guess("price")}$${price.input}/${price.output}` : "",
		m.context_window ? `${guess("limits")}${short(m.context_window)}` : "",
	].filter(Boolean).join(" · ");
	return [...(end?.state === "retired" || end?.retires ? [h("span", { class: "src-tag warn" }, end.state === "retired" ? "retired" : `retires ${end.retires}`), " "] : end?.state === "preview" ? [h("span", { class: "src-tag" }, "preview"), " "] : []), text];
}

/** Who states the model's levels. */
function origin(m: Model): string {
	const levels = m.facts?.levels;
	switch (levels?.state) {
		case undefined: return "Its levels are not known";
		case "family": return `Levels guessed from its name: ${levels.source ?? ""}`;
		case "table": return `Levels from a public table, not confirmed: ${levels.source ?? ""}`;
		case "learned": return `Levels learned from a refusal · ${levels.as_of ?? ""}`;
		default: return `Its own levels · ${m.thinking.source}`;
	}
}

/** The model's unconfirmed facts, and when it retires. */
function notes(m: Model): string[] {
	const list: string[] = [];
	const guesses = Object.entries(m.facts ?? {}).filter(([name, f]) => name !== "levels" && (f.state === "family" || f.state === "table"));
	for (const [name, f] of guesses) list.push(`${name}: ${f.state === "family" ? "guessed" : "not confirmed"} (${f.source ?? ""}).`);
	const end = m.lifecycle;
	if (end && (end.state === "retired" || end.retires)) {
		list.push(`${end.state === "retired" ? "Retired" : "Retires"}${end.retires ? ` ${end.retires}` : ""}.${end.replaced_by ? ` Its successor is ${end.replaced_by}.` : ""}`);
	} else if (end?.state === "preview") {
		list.push("A preview.");
	}
	return list;
}
