import type { Client, Level, Methods } from "../../clients/typescript/src/index.js";
import type { Choice } from "./choice.js";
import { button, byId, h, iconButton } from "./dom.js";
import { bars, type Model } from "./levels.js";
import { closePopover, show } from "./popover.js";
import { priceNow } from "./price.js";
import { keep, kept } from "./store.js";
import { count, short } from "./words.js";

type Explained = Methods["thinking/explain"]["result"];

/** What the picker needs from the page. */
export interface Chooser {
	sessionId(): string | undefined;
	running(): boolean;
	now(): Choice;
	/** The tokens of the visible session; undefined: none are known. */
	used(): number | undefined;
	apply(choice: Choice, onlyNext: boolean): Promise<void>;
	fork(choice: Choice): Promise<void>;
	keys(from: HTMLElement): void;
}

/** Another use of the picker than to choose for the session. */
export interface Purpose {
	label: string;
	now: Choice;
	take(choice: Choice): Promise<void>;
}

const wait = 150; // milliseconds on a row before the page asks the daemon for the effect of a switch

/** A condition on the listed models. */
interface Filter {
	label: string;
	fits(m: Model): boolean;
}

/** Picker chooses model and level in one step. A click on a level applies it, unless the prompt cache would be lost. */
export class Picker {
	private readonly el = byId("picker");
	private readonly list = byId("models");
	private readonly pills = byId("model-filters");
	private readonly scope = byId("model-scope");
	private readonly loss = byId("loss");
	private readonly find = byId<HTMLInputElement>("find-model");
	private models: Model[] = [];
	private default_ = "";
	private free = new Set<string>(["sim"]); // providers that need no key
	private starred = new Set<string>(JSON.parse(kept("favourites") ?? "[]") as string[]);
	private readonly on = new Set<string>(["Available"]); // filters
	private picked: Model | undefined;
	private purpose: Purpose | undefined;
	private onlyNext = false;
	private loads = 0; // responses to older requests are ignored
	private asked = 0;
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
		const mine = ++this.loads;
		const [{ models, default_model }, { providers }] = await Promise.all([this.client.call("models/list", {}), this.client.call("auth/status", {})]);
		if (mine !== this.loads) return this.models;
		this.models = models;
		this.default_ = default_model ?? "";
		this.free = new Set(["sim", ...providers.filter((p) => p.state === "not_needed").map((p) => p.provider)]);
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

	/** The favourites that can be called now. */
	favourites(): Model[] {
		return this.available().filter((m) => this.starred.has(full(m)));
	}

	/**
	 * Opens at once, so that the next key goes into the search field. The daemon may have to look for local servers before it can list
	 * the models. Until then, the picker shows the previous list.
	 */
	open(from: HTMLElement, atLevels: boolean, purpose?: Purpose): void {
		if (!this.el.hidden) {
			closePopover();
			return;
		}
		this.find.value = "";
		this.onlyNext = false;
		this.purpose = purpose;
		this.picked = this.model(this.now().model_id);
		this.el.setAttribute("aria-label", purpose?.label ?? "Model and level");
		this.drawScope();
		this.draw();
		show(this.el, from);
		this.choose(this.picked);
		if (atLevels) this.level()?.focus();
		(this.row()?.closest(".prow") ?? this.list.firstElementChild)?.scrollIntoView({ block: "nearest" });
		void this.renew();
	}

	private now(): Choice {
		return this.purpose?.now ?? this.chooser.now();
	}

	/** Requests the models, and draws them if they changed while the picker is open. Focus and choice stay. */
	private async renew(): Promise<void> {
		const before = JSON.stringify(this.models);
		const models = await this.load().catch(() => this.models); // without a connection: the previous ones
		if (this.el.hidden || !this.loss.hidden || JSON.stringify(models) === before) return; // an open question stays
		const at = document.activeElement as HTMLElement;
		const id = at.closest<HTMLElement>(".prow")?.dataset["id"];
		const within = this.list.contains(at) && id ? `.prow[data-id="${id}"] ${at.dataset["level"] ? `[data-level="${at.dataset["level"]}"]` : at.classList.contains("star") ? ".star" : ".m"}` : "";
		this.picked = this.picked && this.model(full(this.picked));
		this.draw();
		if (within) this.list.querySelector<HTMLElement>(within)?.focus();
	}

	private filters(): Filter[] {
		const used = this.chooser.used();
		return [
			{ label: "Available", fits: (m) => m.available },
			{ label: "Favourites", fits: (m) => this.starred.has(full(m)) },
			{ label: "Thinks", fits: (m) => m.supports_thinking },
			{ label: "Reads images", fits: (m) => m.input?.includes("image") ?? false },
			...(used ? [{ label: `Fits ${short(used)}`, fits: (m: Model) => (m.context_window ?? 0) > used }] : []),
			{ label: "Local", fits: (m) => m.provider !== "sim" && this.free.has(m.provider) },
		];
	}

	private drawFilters(filters: Filter[]): void {
		if (this.pills.contains(document.activeElement)) return; // a pressed one draws itself
		this.pills.replaceChildren(...filters.map(({ label }) => {
			const pill = button(label, "pill", () => {
				if (!this.on.delete(label)) this.on.add(label);
				pill.setAttribute("aria-pressed", String(this.on.has(label)));
				this.draw();
			});
			pill.setAttribute("aria-pressed", String(this.on.has(label)));
			return pill;
		}));
	}

	/** Draws the rows: favourites, available models by provider, those that are not available, and simulators. */
	private draw(): void {
		const query = this.find.value.trim().toLowerCase();
		const filters = this.filters();
		this.drawFilters(filters);
		const named = this.models.filter((m) => !query || full(m).toLowerCase().includes(query) || m.name.toLowerCase().includes(query));
		const fits = named.filter((m) => filters.every((f) => !this.on.has(f.label) || f.fits(m) || m === this.picked));
		const now = this.now().model_id;
		const rest = fits.filter((m) => !this.starred.has(full(m)));
		const mine = rest.filter((m) => m.available && m.provider !== "sim");
		const providers = [...new Set(mine.map((m) => m.provider))].sort((a, b) => Number(now.startsWith(`${b}/`)) - Number(now.startsWith(`${a}/`)));
		const groups = [
			group("Favourites", fits.filter((m) => this.starred.has(full(m))).map((m) => this.entry(m))),
			...providers.map((p) => group(this.free.has(p) ? `${p}, needs no key` : p, mine.filter((m) => m.provider === p).map((m) => this.entry(m)))),
			group("Not available", rest.filter((m) => !m.available).map((m) => this.entry(m))),
			this.simulators(rest.filter((m) => m.available && m.provider === "sim"), query !== "" || now.startsWith("sim/") || mine.length === 0),
		];
		const hidden = this.on.has("Available") ? named.filter((m) => !m.available && m !== this.picked).length : 0;
		const more = hidden > 0 ? button(hidden === 1 ? "1 more is not available" : `${count(hidden)} more are not available`, "quiet", () => {
			this.on.delete("Available");
			this.draw();
			this.list.querySelector<HTMLElement>(".prow.off .m")?.focus();
		}) : undefined;
		this.list.replaceChildren(...groups.filter((g) => g !== undefined), ...(fits.length === 0 ? [h("p", { class: "grp" }, "No model fits.")] : []), ...(more ? [more] : []));
		this.mark();
	}

	private simulators(list: Model[], open: boolean): HTMLElement | undefined {
		if (list.length === 0) return undefined;
		return h("details", { open }, h("summary", {}, h("b", {}, "Simulators"), ` ${list.length}, for tests without cost`), ...list.map((m) => this.entry(m)));
	}

	/** The row of a model. */
	private entry(m: Model): HTMLElement {
		const id = full(m);
		const star = iconButton("star", "", () => {
			if (!this.starred.delete(id)) this.starred.add(id);
			keep("favourites", JSON.stringify([...this.starred]));
			this.draw();
			this.list.querySelector<HTMLElement>(`.prow[data-id="${id}"] .star`)?.focus();
		});
		const is = this.starred.has(id);
		star.classList.add("star");
		star.setAttribute("aria-pressed", String(is));
		star.setAttribute("aria-label", `Favourite: ${m.name}`);
		star.title = is ? "Remove from the favourites" : "Add to the favourites";
		const why = !m.available ? (m.why ?? "not available") : !m.supports_thinking ? "does not think" : "";
		const name = h("button", { class: "m", type: "button", "data-id": id, title: id, "aria-disabled": !m.available && "true", "aria-current": id === this.now().model_id && "true", onclick: (e) => this.click(m, e.detail === 0) },
			h("span", {}, m.name), ...badges(m), why ? h("small", {}, ...coded(why)) : undefined);
		const row = h("div", { class: "prow", "data-id": id }, star, name, h("span", { class: "p" }, this.priceOf(m)), h("span", { class: "w" }, m.context_window ? `${guessed(m, "limits")}${short(m.context_window)}` : ""));
		row.classList.toggle("off", !m.available);
		return row;
	}

	private priceOf(m: Model): string {
		if (!m.available && !m.price) return "";
		if (this.free.has(m.provider)) return "free";
		if (!m.price) return m.premium_multiplier === undefined ? "unknown" : `${m.premium_multiplier} premium`;
		const price = priceNow(m.price);
		const mark = guessed(m, "price");
		return `${mark}${price.input.toFixed(2)} / ${mark}${price.output.toFixed(2)}`;
	}

	private click(m: Model, byKey: boolean): void {
		if (!m.available) {
			this.chooser.keys(byId("pick-model"));
			return;
		}
		this.choose(m);
		if (!m.supports_thinking) void this.take(undefined);
		else if (byKey) this.level()?.focus();
	}

	/** Opens the row of a model. */
	private choose(m: Model | undefined): void {
		this.picked = m?.available ? m : undefined;
		this.loss.hidden = true;
		this.mark();
		byId("cacheline").textContent = this.chooser.running() && !this.purpose ? "Applies to the next turn." : "";
		clearTimeout(this.timer);
		if (m && !this.purpose && this.chooser.sessionId()) this.timer = setTimeout(() => void this.explain(m), wait);
	}

	/** Shows the levels in the row of the chosen model. That row alone is a stop of the Tab key. */
	private mark(): void {
		const id = this.picked && full(this.picked);
		for (const row of this.list.querySelectorAll<HTMLElement>(".prow")) {
			const is = row.dataset["id"] === id;
			row.classList.toggle("on", is);
			row.querySelector(".lvls")?.remove();
			const name = row.querySelector<HTMLElement>(".m");
			const levels = is && this.picked?.supports_thinking;
			if (row.classList.contains("off") || (is && !levels)) name?.removeAttribute("aria-expanded");
			else name?.setAttribute("aria-expanded", String(is));
			for (const e of row.querySelectorAll<HTMLElement>("button")) e.tabIndex = is ? 0 : -1;
			if (is && this.picked && levels) row.append(this.levels(this.picked));
		}
		if (!this.row()) this.rows()[0]?.setAttribute("tabindex", "0");
	}

	private levels(m: Model): HTMLElement {
		const now = this.now();
		const here = now.model_id === full(m);
		const preferred = (m.thinking_levels as string[]).includes(now.level ?? "") ? now.level : m.default_thinking_level;
		const list = h("div", { class: "lvls", role: "radiogroup", "aria-label": `Thinking level of ${m.name}` });
		for (const l of m.thinking_levels) {
			list.append(h("button", { class: "lvl", type: "button", role: "radio", "aria-checked": here && now.level === l ? "true" : "false", tabindex: l === preferred ? 0 : -1, "data-level": l, onclick: () => void this.take(l) },
				bars(m.thinking_levels, l), l));
		}
		const said = [`default: ${m.default_thinking_level}`, !m.thinking.can_disable && "cannot be switched off", origin(m)].filter(Boolean).join(" · ");
		list.append(h("small", {}, said), ...notes(m).map((text) => h("small", { class: "note" }, text)));
		if (!list.querySelector("[tabindex='0']")) list.querySelector("button")?.setAttribute("tabindex", "0");
		return list;
	}

	/** For how long a choice holds. */
	private drawScope(): void {
		this.scope.hidden = this.purpose !== undefined;
		this.scope.replaceChildren(...([["This session", false], ["Next turn only", true]] as const).map(([label, only]) => {
			const b = button(label, "", () => {
				this.onlyNext = only;
				for (const e of this.scope.children) e.setAttribute("aria-pressed", String(e === b));
			});
			b.setAttribute("aria-pressed", String(only === this.onlyNext));
			return b;
		}));
	}

	private async explain(m: Model): Promise<void> {
		const session_id = this.chooser.sessionId();
		if (!session_id) return;
		const mine = ++this.asked;
		try {
			const answer: Explained = await this.client.call("thinking/explain", { session_id, model_id: full(m) });
			if (mine !== this.asked || this.picked !== m) return;
			const cache = answer.cache ? `Prompt cache: ${answer.cache}.` : "";
			byId("cacheline").textContent = [this.chooser.running() ? "Applies to the next turn." : "", cache, consequence(answer)].filter(Boolean).join(" ");
		} catch {
			// The effect of a switch is unknown: it is shown after the switch.
		}
	}

	private async take(level: Level | undefined): Promise<void> {
		const m = this.picked;
		if (!m) return;
		const choice = { model_id: full(m), level };
		const { purpose } = this;
		if (purpose) {
			await this.done(() => purpose.take(choice));
			return;
		}
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

	/** The names of the visible rows. */
	private rows(): HTMLElement[] {
		return [...this.list.querySelectorAll<HTMLElement>(".m")].filter((e) => e.checkVisibility());
	}

	/** The name in the open row. */
	private row(): HTMLElement | undefined {
		return this.rows().find((e) => e.parentElement?.classList.contains("on"));
	}

	/** The level in the open row that has the focus next. */
	private level(): HTMLElement | null {
		return this.list.querySelector<HTMLElement>(".lvl[tabindex='0']");
	}

	/** Up and down move through the models and open them, left and right through the levels of the open one. */
	private key(event: KeyboardEvent): void {
		const at = document.activeElement as HTMLElement;
		const rows = this.rows();
		const i = rows.findIndex((r) => r.parentElement?.contains(at));
		const levels = [...(at.closest(".lvls")?.querySelectorAll<HTMLElement>(".lvl") ?? [])];
		const to: Record<string, number> = { ArrowDown: i + 1, ArrowUp: i - 1, ...(i >= 0 && { Home: 0, End: rows.length - 1 }) };
		const next = to[event.key];
		if (next !== undefined && (i >= 0 || (event.key === "ArrowDown" && at === this.find))) {
			event.preventDefault();
			const row = rows[Math.min(rows.length - 1, next)];
			if (next < 0 || !row) this.find.focus();
			else this.enter(row);
		} else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
			const step = event.key === "ArrowRight" ? 1 : -1;
			const l = levels.indexOf(at);
			if (l < 0 && (step < 0 || i < 0)) return;
			event.preventDefault();
			if (l < 0) this.level()?.focus();
			else if (l + step < 0) rows[i]?.focus();
			else levels[l + step]?.focus();
		} else if (event.key === "Enter" && at === this.find) {
			event.preventDefault();
			const first = rows[0];
			if (!first) return;
			this.enter(first);
			this.level()?.focus();
		}
	}

	private enter(row: HTMLElement): void {
		this.choose(this.model(row.dataset["id"] ?? ""));
		row.focus();
		row.parentElement?.scrollIntoView({ block: "nearest" });
	}
}

function group(name: string, rows: HTMLElement[]): HTMLElement | undefined {
	return rows.length === 0 ? undefined : h("div", { role: "group", "aria-label": name }, h("h3", { "aria-hidden": "true" }, name), ...rows);
}

/** ~ marks what nobody confirmed. */
function guessed(m: Model, fact: "price" | "limits"): string {
	return ["family", "table"].includes(m.facts?.[fact]?.state ?? "") ? "~" : "";
}

/** When a model retires, and whether it is a preview. */
function badges(m: Model): HTMLElement[] {
	const end = m.lifecycle;
	if (end?.state === "retired") return [h("span", { class: "src-tag warn" }, "retired")];
	if (end?.retires) return [h("span", { class: "src-tag warn" }, `retires ${end.retires}`)];
	return end?.state === "preview" ? [h("span", { class: "src-tag" }, "preview")] : [];
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

/** Who states the model's levels. */
function origin(m: Model): string {
	const levels = m.facts?.levels;
	switch (levels?.state) {
		case undefined: return "levels not known";
		case "family": return `levels guessed from its name: ${levels.source ?? ""}`;
		case "table": return `levels from a public table: ${levels.source ?? ""}`;
		case "learned": return `levels learned from a refusal, ${levels.as_of ?? ""}`;
		default: return "";
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

/** A sentence of the daemon, with its commands as code. */
function coded(text: string): (Node | string)[] {
	return text.split("`").map((part, i) => (i % 2 === 1 ? h("code", {}, part) : part));
}
