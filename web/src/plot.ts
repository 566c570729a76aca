import { h } from "./dom.js";

/** A part of a plot: its name, its tone, and a value for each day; undefined: not known. */
export interface Series {
	name: string;
	tone: string; // a class: petrol is thinking, grey tones are the rest
	values: (number | undefined)[];
}

const space = "http://www.w3.org/2000/svg";

function svg(tag: string, attributes: Record<string, string | number>, ...children: Node[]): SVGElement {
	const e = document.createElementNS(space, tag);
	for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, String(value));
	e.append(...children);
	return e;
}

/** The smallest of 1, 2, 2.5, 5, 10 … that is not below a value. */
function ceiling(value: number): number {
	if (value <= 0) return 1;
	const power = 10 ** Math.floor(Math.log10(value));
	return ([1, 2, 2.5, 5, 10].find((f) => f * power >= value) ?? 10) * power;
}

/** A plot by day: bars on top of each other, or lines. `text` writes a value. The figures are also in a table, as the label says. */
export function plot(title: string, kind: "bars" | "lines", days: string[], series: Series[], text: (value: number) => string, most?: number): HTMLElement {
	const sums = days.map((_, i) => {
		const known = series.flatMap((s) => s.values[i] ?? []);
		if (kind === "bars") return known.reduce((sum, n) => sum + n, 0);
		return known.length > 0 ? Math.max(...known) : undefined;
	});
	const top = most ?? ceiling(Math.max(...sums.map((n) => n ?? 0), 0));
	const width = 100 / Math.max(days.length, 1);
	const drawing = svg("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img", "aria-label": sentence(title, days, sums, text) });
	for (const y of [0, 25, 50, 75]) drawing.append(svg("path", { class: "g", d: `M0 ${y}H100` }));
	if (kind === "bars") days.forEach((day, i) => drawing.append(bar(day, i, width, top, series, text)));
	else for (const s of series) line(s, width, top).forEach((e) => drawing.append(e));
	const every = Math.ceil(days.length / 8);
	return h("figure", {},
		h("figcaption", {}, h("b", {}, title), ...(series.length > 1 ? series.map((s) => h("span", { class: "legend" }, h("i", { class: `${kind} ${s.tone}` }), s.name)) : [])),
		h("div", { class: "plot" },
			h("div", { class: "y", "aria-hidden": "true" }, ...[1, 0.75, 0.5, 0.25, 0].map((f) => h("span", {}, text(f * top)))),
			drawing,
			sums.every((n) => n === undefined) ? h("p", { class: "none" }, "unknown") : undefined,
			h("div", { class: "x", "aria-hidden": "true" }, ...days.map((day, i) => h("span", {}, (days.length - 1 - i) % every === 0 ? short(day) : "")))));
}

function bar(day: string, i: number, width: number, top: number, series: Series[], text: (value: number) => string): SVGElement {
	const g = svg("g", {});
	const title = svg("title", {});
	title.textContent = `${short(day)}: ${series.map((s) => `${s.name} ${s.values[i] === undefined ? "unknown" : text(s.values[i] ?? 0)}`).join(", ")}`;
	g.append(title);
	let y = 100;
	for (const s of series) {
		const height = (100 * (s.values[i] ?? 0)) / top;
		y -= height;
		if (height > 0) g.append(svg("rect", { class: s.tone, x: (i + 0.2) * width, y, width: width * 0.6, height }));
	}
	return g;
}

/** A line with gaps where nothing is known. A day alone is a short line. */
function line(s: Series, width: number, top: number): SVGElement[] {
	let d = "";
	s.values.forEach((value, i) => {
		if (value === undefined) return;
		const [x, y] = [(i + 0.5) * width, 100 - (100 * value) / top];
		const joined = s.values[i - 1] !== undefined;
		if (!joined && s.values[i + 1] === undefined) d += `M${x - width / 4} ${y}H${x + width / 4}`;
		else d += `${joined ? "L" : "M"}${x} ${y}`;
	});
	return d ? [svg("path", { class: `l ${s.tone}`, d })] : [];
}

function sentence(title: string, days: string[], sums: (number | undefined)[], text: (value: number) => string): string {
	if (days.length === 0) return `${title}: nothing.`;
	const known = sums.filter((n) => n !== undefined);
	if (known.length === 0) return `${title} by day: unknown. The figures are in the table below.`;
	const high = sums.indexOf(Math.max(...known));
	const low = sums.indexOf(Math.min(...known));
	return `${title} by day. Highest on ${short(days[high] ?? "")} with ${text(sums[high] ?? 0)}, lowest on ${short(days[low] ?? "")} with ${text(sums[low] ?? 0)}. The figures are in the table below.`;
}

/** A day (YYYY-MM-DD) for people. */
export function short(day: string): string {
	return new Date(`${day}T00:00:00Z`).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}
