import type { Client, Methods } from "../../clients/typescript/src/index.js";
import { button, h } from "./dom.js";
import { bars, type Model } from "./levels.js";
import { save } from "./markdown.js";
import { plot, short as dayText, type Series } from "./plot.js";
import { count, money, short } from "./words.js";

type Report = Methods["usage/report"]["result"];
type Row = Report["rows"][number];
type By = Report["by"];

/** How the table is grouped. The plots have a part for each `by`. */
interface Group {
	by: By;
	split?: By;
	heads: string[];
}

const groups: Record<string, Group> = {
	"model and level": { by: "model", split: "level", heads: ["Model", "Level"] },
	model: { by: "model", heads: ["Model"] },
	level: { by: "level", heads: ["Level"] },
	session: { by: "session", heads: ["Session"] },
	provider: { by: "provider", heads: ["Provider"] },
	payer: { by: "payer", heads: ["Payer"] },
	purpose: { by: "purpose", heads: ["Purpose"] },
	user: { by: "user", heads: ["User"] },
};
const parts = 3; // of a plot: what used the most, and the rest together
const ranges: [days: number, label: string][] = [[1, "Today"], [7, "7 days"], [30, "30 days"], [0, "Dates…"]];
const day = 86_400_000; // milliseconds

/** Usage is the view of what model calls used and cost. */
export class UsageView {
	readonly title = "Usage";
	private days = 7; // 0: from and to
	private from = "";
	private to = "";
	private group = "model and level";
	private only = ""; // model; empty: all
	private models: string[] = []; // that were used in the range
	private asked = 0; // responses to older requests are ignored
	private body = h("div", {});
	private readonly filter = h("select", { "aria-label": "Model" });
	private shown: { days: Report; rows: Report } | undefined;

	constructor(private readonly client: Client, private readonly model: (id: string) => Model | undefined) {
		this.filter.addEventListener("change", () => {
			this.only = this.filter.value;
			void this.load();
		});
	}

	show(into: HTMLElement): void {
		this.body = h("div", {});
		into.append(h("div", { class: "wide-col" }, this.tools(), this.body));
		void this.load();
	}

	/** What was spent today; undefined: nothing, or it is not known. */
	async today(): Promise<string | undefined> {
		const today = iso(Date.now());
		const { total } = await this.client.call("usage/report", { from: today, to: today, by: "day" });
		return total.usage.cost && total.usage.cost.amount > 0 ? money(total.usage.cost) : undefined;
	}

	private tools(): HTMLElement {
		const dates = h("span", { class: "dates", hidden: this.days > 0 });
		const range = h("div", { class: "seg", role: "group", "aria-label": "Range" });
		for (const [days, label] of ranges) {
			const b = button(label, "", () => {
				this.days = days;
				dates.hidden = days > 0;
				for (const e of range.children) e.setAttribute("aria-pressed", String(e === b));
				void this.load();
			});
			b.setAttribute("aria-pressed", String(days === this.days));
			range.append(b);
		}
		for (const [label, name] of [["From", "from"], ["To", "to"]] as const) {
			const input = h("input", { type: "date", class: "inp", "aria-label": label, max: iso(Date.now()) });
			input.value = this[name] || iso(Date.now() - (name === "from" ? 6 * day : 0));
			this[name] = input.value;
			input.addEventListener("change", () => {
				this[name] = input.value;
				void this.load();
			});
			dates.append(input);
		}
		const by = h("select", { "aria-label": "By" }, ...Object.keys(groups).map((name) => h("option", { selected: name === this.group }, name)));
		by.addEventListener("change", () => {
			this.group = by.value;
			void this.load();
		});
		return h("div", { class: "tools" }, range, dates, h("label", { class: "sel" }, h("span", {}, "By"), by), h("label", { class: "sel" }, h("span", {}, "Model"), this.filter), h("span", { class: "sp" }),
			button("CSV", "", () => this.shown && save(csv(this.shown.rows), "csv", "usage")),
			button("JSON", "", () => this.shown && save(JSON.stringify(this.shown, null, "\t"), "json", "usage")));
	}

	/** The models of the range, to choose one of. */
	private drawFilter(): void {
		const list = [...new Set([...this.models, this.only])].filter(Boolean);
		this.filter.replaceChildren(h("option", { value: "" }, "all"), ...list.map((id) => h("option", { value: id, selected: id === this.only }, this.nameOf(id))));
	}

	private nameOf(id: string): string {
		return this.model(id)?.name ?? id;
	}

	/** Loads the range. Until then the last figures stay. */
	private async load(): Promise<void> {
		const mine = ++this.asked;
		const now = Date.now();
		const range = this.days > 0 ? { from: iso(now - (this.days - 1) * day), to: iso(now) } : { from: this.from, to: this.to };
		const { by, split } = groups[this.group] as Group;
		const report = (params: object) => this.client.call("usage/report", { ...range, ...(this.only && { model_id: this.only }), ...params });
		try {
			const [days, of, rows, models] = await Promise.all([report({ by: "day" }), report({ by: "day", split: by }), report({ by, ...(split && { split }) }), report({ by: "model", model_id: "" })]);
			if (mine !== this.asked) return;
			this.shown = { days, rows };
			this.models = models.rows.flatMap((r) => r.model_id ?? []);
			this.drawFilter();
			this.draw(days, of, rows, by);
		} catch (error) {
			if (mine === this.asked) this.body.replaceChildren(h("p", { class: "warnline", role: "alert" }, (error as Error).message));
		}
	}

	private draw(days: Report, parted: Report, rows: Report, by: By): void {
		const range = days.from === days.to ? dayText(days.to) : `${dayText(days.from)} to ${dayText(days.to)}`;
		if (days.rows.length === 0) {
			this.body.replaceChildren(h("p", { class: "lead", role: "status" }, days.from === days.to ? `No model calls on ${range}.` : `No model calls from ${range}.`));
			return;
		}
		const all = days.total;
		const u = all.usage;
		const list = everyDay(days.from, days.to);
		const of = (value: (r: Row) => number | undefined) => list.map((d) => {
			const r = days.rows.find((row) => row.day === d);
			return r ? value(r) : 0;
		});
		// What used the most has a part of its own, in another tone or dash.
		const keys = [...new Set(parted.rows.map((r) => keyOf(r, by)))];
		const sums = new Map(keys.map((k) => [k, parted.rows.filter((r) => keyOf(r, by) === k)]));
		const weight = (list: Row[]) => list.reduce((n, r) => n + (r.usage.cost?.amount ?? 0) * 1e9 + r.usage.input_tokens + r.usage.output_tokens, 0);
		keys.sort((a, b) => weight(sums.get(b) ?? []) - weight(sums.get(a) ?? []));
		const own = keys.slice(0, keys.length > parts ? parts - 1 : parts);
		const cell = (k: string, d: string) => sums.get(k)?.find((r) => r.day === d);
		const name = (k: string) => this.plain(sums.get(k)?.[0], by);
		const costs: Series[] = own.map((k, i) => ({ name: name(k), tone: ["a", "n", "c"][i] ?? "c", values: list.map((d) => cell(k, d)?.usage.cost?.amount ?? 0) }));
		if (own.length < keys.length) costs.push({ name: "others", tone: "c", values: list.map((d) => keys.slice(own.length).reduce((n, k) => n + (cell(k, d)?.usage.cost?.amount ?? 0), 0)) });
		const lines = (tone: string, value: (r: Row) => number | undefined): Series[] => keys.slice(0, parts).map((k, i) => ({ name: name(k), tone: `${tone} d${i}`, values: list.map((d) => {
			const r = cell(k, d);
			return r && value(r);
		}) }));
		this.body.replaceChildren(
			h("dl", { class: "sums" },
				sum(`Cost, ${range}`, u.cost ? money(u.cost) : "unknown", u.cost && list.length > 1 ? `${money({ ...u.cost, amount: u.cost.amount / list.length })} a day` : ""),
				sum("Tokens", short(u.input_tokens + u.output_tokens), `in ${count(all.calls)} ${all.calls === 1 ? "call" : "calls"}`),
				sum("Thinking, share of output", percent(thinking(all)), u.reasoning_tokens === null ? "" : `${short(u.reasoning_tokens)} tokens`),
				sum("Read from cache", percent(cached(all)), `${short(u.cached_tokens)} of ${short(u.input_tokens)} tokens`)),
			h("div", { class: "plots" },
				plot("Tokens", "bars", list, [
					{ name: "from cache", tone: "c", values: of((r) => r.usage.cached_tokens) },
					{ name: "new input", tone: "n", values: of((r) => r.usage.input_tokens - r.usage.cached_tokens) },
					{ name: "thinking", tone: "t", values: of((r) => r.usage.reasoning_tokens ?? 0) },
					{ name: "answer", tone: "a", values: of((r) => r.usage.output_tokens - (r.usage.reasoning_tokens ?? 0)) },
				], short),
				plot("Cost", "bars", list, costs, (v) => money({ amount: v, currency: u.cost?.currency ?? "USD" })),
				plot("Thinking, share of output", "lines", list, lines("t", thinking), (v) => percent(v), 1),
				plot("Read from cache", "lines", list, lines("a", cached), (v) => percent(v), 1)),
			this.table(this.group, groups[this.group] as Group, rows),
			h("details", { class: "figures" }, h("summary", {}, "Figures by day"), this.table("day", { by: "day", heads: ["Day"] }, days)),
			h("p", { class: "lead" }, `Days are UTC. Every model call counts: those of turns, summaries, titles and side questions.${u.cost?.partial ? " Some calls have an unknown price and are not in the sum." : ""}${u.estimated ? " Some of the figures are estimates." : ""}`),
			budgets(days));
	}

	private table(group: string, { by, split, heads }: Group, rows: Report): HTMLElement {
		const all = [...heads, "Calls", "Input", "From cache", "Output", "Thinking", "Share", "Cost", "A call"];
		const cells = (r: Row) => [this.named(r, by), ...(split ? [this.named(r, split)] : [])];
		return h("div", { class: split ? "tbl two" : "tbl", tabindex: 0, role: "group", "aria-label": `Usage by ${group}` }, h("table", {},
			h("thead", {}, h("tr", {}, ...all.map((t) => h("th", { scope: "col" }, t)))),
			h("tbody", {}, ...rows.rows.map((r) => this.row(cells(r), r))),
			h("tfoot", {}, this.row(["All", ...(split ? [""] : [])], rows.total))));
	}

	private row(names: (string | Node)[], r: Row): HTMLElement {
		const u = r.usage;
		const cost = u.cost ? money(u.cost) : "unknown";
		return h("tr", {}, ...names.map((n) => h("td", {}, n)), ...[
			count(r.calls), short(u.input_tokens), percent(cached(r)), short(u.output_tokens), u.reasoning_tokens === null ? "unknown" : short(u.reasoning_tokens), percent(thinking(r)),
			u.cost?.partial ? `${cost}, partly` : cost, u.cost && !u.cost.partial && r.calls > 0 ? money({ ...u.cost, amount: u.cost.amount / r.calls }) : "",
		].map((t) => h("td", {}, t)));
	}

	/** What a row is about, for the table. */
	private named(r: Row, by: By): string | Node {
		if (by === "session" && r.session_id && !r.deleted) return h("a", { href: `#/${r.session_id}`, dir: "auto" }, r.title || "Untitled");
		if (by === "level" && r.thinking_level && r.thinking_level !== "auto") {
			const levels = r.model_id ? this.model(r.model_id)?.thinking_levels : undefined;
			return h("span", { class: "levelnow" }, ...(levels ? [bars(levels, r.thinking_level)] : []), r.thinking_level);
		}
		return this.plain(r, by);
	}

	/** What a row is about, as text. */
	private plain(r: Row | undefined, by: By): string {
		if (by === "session" && r?.session_id) return r.deleted ? "deleted session" : r.title || "Untitled";
		const key = r && keyOf(r, by);
		return !key ? "unknown" : by === "model" ? this.nameOf(key) : by === "day" ? dayText(key) : key;
	}
}

/** What a row is about; empty: that is not known. */
function keyOf(r: Row, by: By): string {
	return { day: r.day, model: r.model_id, level: r.thinking_level, session: r.session_id, provider: r.provider, payer: r.payer, purpose: r.purpose, user: r.user }[by] ?? "";
}

/** What is left of the budgets of all sessions. */
function budgets(report: Report): HTMLElement {
	const names: Record<string, string> = { max_day_cost: "Budget for a day", max_cost_unattended: "Budget while nobody is there" };
	const usd = (amount: number) => money({ amount, currency: "USD" });
	return h("div", {}, ...report.budgets.map((b) => {
		const bar = h("i", {});
		bar.style.setProperty("--used", String(b.most > 0 ? Math.min(1, b.used / b.most) : 0));
		return h("div", { class: "srow" }, h("div", {}, h("b", {}, names[b.limit] ?? b.limit), h("small", {}, `${usd(b.used)} of ${usd(b.most)} spent`)), h("span", { class: "gauge", "aria-hidden": "true" }, bar), h("span", { class: "src-tag" }, b.limit));
	}));
}

function sum(name: string, value: string, more: string): HTMLElement {
	return h("div", {}, h("dt", {}, name), h("dd", {}, value, more ? h("small", {}, ` ${more}`) : undefined));
}

function thinking(r: Row): number | undefined {
	const { reasoning_tokens: t, output_tokens: all } = r.usage;
	return t === null || all === 0 ? undefined : t / all;
}

function cached(r: Row): number | undefined {
	const { cached_tokens: c, input_tokens: all } = r.usage;
	return all === 0 ? undefined : c / all;
}

function percent(part: number | undefined): string {
	return part === undefined ? "unknown" : `${Math.round(100 * part)} %`;
}

function iso(ms: number): string {
	return new Date(ms).toISOString().slice(0, 10);
}

function everyDay(from: string, to: string): string[] {
	const list: string[] = [];
	for (let t = Date.parse(from); t <= Date.parse(to) && list.length < 400; t += day) list.push(iso(t));
	return list;
}

/** Cells of a table program. One that could be a formula gets a quote in front. */
function csv(r: Report): string {
	const cell = (v: unknown) => {
		const s = String(v ?? "");
		const text = /^[=+\-@\t]/.test(s) && !/^-?[\d.]+$/.test(s) ? `'${s}` : s;
		return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
	};
	const about = [r.by, ...(r.split ? [r.split] : [])];
	const rows = r.rows.map((row) => [...about.map((by) => keyOf(row, by) || "unknown"), row.title, row.calls, row.usage.input_tokens,
		row.usage.cached_tokens, row.usage.cache_write_tokens, row.usage.output_tokens, row.usage.reasoning_tokens, row.usage.cost?.amount, row.usage.cost?.currency]);
	return [[...about, "title", "calls", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "cost", "currency"], ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}
