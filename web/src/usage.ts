import type { Client, Methods } from "../../clients/typescript/src/index.js";
import { button, h } from "./dom.js";
import { save } from "./markdown.js";
import { plot, short as dayText } from "./plot.js";
import { count, money, short } from "./words.js";

type Report = Methods["usage/report"]["result"];
type Row = Report["rows"][number];
type By = Report["by"];

const groups: [by: By, label: string][] = [["model", "model"], ["level", "level"], ["session", "session"], ["provider", "provider"], ["payer", "payer"], ["purpose", "purpose"]];
const ranges: [days: number, label: string][] = [[1, "Today"], [7, "7 days"], [30, "30 days"], [0, "Dates…"]];
const day = 86_400_000; // milliseconds

/** Usage is the view of what model calls used and cost. */
export class UsageView {
	readonly title = "Usage";
	private days = 7; // 0: from and to
	private from = "";
	private to = "";
	private by: By = "model";
	private asked = 0; // responses to older requests are ignored
	private body = h("div", {});
	private shown: { days: Report; rows: Report } | undefined;

	constructor(private readonly client: Client, private readonly nameOf: (id: string) => string) {}

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
		const by = h("select", { class: "sel", "aria-label": "Group the table by" }, ...groups.map(([value, label]) => h("option", { value, selected: value === this.by }, `By ${label}`)));
		by.addEventListener("change", () => {
			this.by = by.value as By;
			void this.load();
		});
		return h("div", { class: "tools" }, range, dates, by, h("span", { class: "sp" }),
			button("CSV", "", () => this.shown && save(csv(this.shown.rows), "csv", "usage")),
			button("JSON", "", () => this.shown && save(JSON.stringify(this.shown, null, "\t"), "json", "usage")));
	}

	/** Loads the range. Until then the last figures stay. */
	private async load(): Promise<void> {
		const mine = ++this.asked;
		const now = Date.now();
		const range = this.days > 0 ? { from: iso(now - (this.days - 1) * day), to: iso(now) } : { from: this.from, to: this.to };
		try {
			const [days, rows] = await Promise.all([this.client.call("usage/report", { ...range, by: "day" }), this.client.call("usage/report", { ...range, by: this.by })]);
			if (mine !== this.asked) return;
			this.shown = { days, rows };
			this.draw(days, rows);
		} catch (error) {
			if (mine === this.asked) this.body.replaceChildren(h("p", { class: "warnline", role: "alert" }, (error as Error).message));
		}
	}

	private draw(days: Report, rows: Report): void {
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
		const known = (value: (r: Row) => number | undefined) => list.map((d) => {
			const r = days.rows.find((row) => row.day === d);
			return r && value(r);
		});
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
				plot("Cost", "bars", list, [{ name: "cost", tone: "a", values: of((r) => r.usage.cost?.amount ?? 0) }], (v) => money({ amount: v, currency: u.cost?.currency ?? "USD" })),
				plot("Thinking, share of output", "lines", list, [{ name: "thinking", tone: "t", values: known(thinking) }], (v) => percent(v), 1),
				plot("Read from cache", "lines", list, [{ name: "cache", tone: "a", values: known(cached) }], (v) => percent(v), 1)),
			this.table(rows),
			h("p", { class: "lead" }, `Days are UTC. Every model call counts: those of turns, summaries, titles and side questions.${u.cost?.partial ? " Some calls have an unknown price and are not in the sum." : ""}${u.estimated ? " Some of the figures are estimates." : ""}`),
			budgets(days));
	}

	private table(rows: Report): HTMLElement {
		const label = groups.find(([by]) => by === rows.by)?.[1] ?? rows.by;
		const heads = [label.charAt(0).toUpperCase() + label.slice(1), "Calls", "Input", "From cache", "Output", "Thinking", "Share", "Cost", "A call"];
		return h("div", { class: "tbl", tabindex: 0, role: "group", "aria-label": `Usage by ${label}` }, h("table", {},
			h("thead", {}, h("tr", {}, ...heads.map((t) => h("th", { scope: "col" }, t)))),
			h("tbody", {}, ...rows.rows.map((r) => this.row(this.nameOfRow(r, rows.by), r))),
			h("tfoot", {}, this.row("All", rows.total))));
	}

	private row(name: string | Node, r: Row): HTMLElement {
		const u = r.usage;
		const cost = u.cost ? money(u.cost) : "unknown";
		return h("tr", {}, h("td", {}, name), ...[
			count(r.calls), short(u.input_tokens), percent(cached(r)), short(u.output_tokens), u.reasoning_tokens === null ? "unknown" : short(u.reasoning_tokens), percent(thinking(r)),
			u.cost?.partial ? `${cost}, partly` : cost, u.cost && !u.cost.partial && r.calls > 0 ? money({ ...u.cost, amount: u.cost.amount / r.calls }) : "",
		].map((t) => h("td", {}, t)));
	}

	private nameOfRow(r: Row, by: By): string | Node {
		switch (by) {
			case "model": return r.model_id ? this.nameOf(r.model_id) : "unknown";
			case "session": {
				if (!r.session_id) return "unknown";
				const title = r.title || "Untitled";
				return r.deleted ? "deleted session" : h("a", { href: `#/${r.session_id}` }, title);
			}
			case "level": return r.thinking_level ?? "unknown";
			case "provider": return r.provider ?? "unknown";
			case "payer": return r.payer ?? "unknown";
			case "purpose": return r.purpose ?? "unknown";
			default: return r.day ? dayText(r.day) : "unknown";
		}
	}
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
	const rows = r.rows.map((row) => [row.day ?? row.model_id ?? row.thinking_level ?? row.session_id ?? row.provider ?? row.payer ?? row.purpose ?? "unknown", row.title, row.calls, row.usage.input_tokens,
		row.usage.cached_tokens, row.usage.cache_write_tokens, row.usage.output_tokens, row.usage.reasoning_tokens, row.usage.cost?.amount, row.usage.cost?.currency]);
	return [[r.by, "title", "calls", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "cost", "currency"], ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}
