import type { Told } from "../../clients/typescript/src/index.js";
import { byId, copy, h, iconButton } from "./dom.js";
import { inFrame } from "./frames.js";

const kept = 2000; // updates
const shown = 300; // rows

interface Row {
	first: number;
	last: number;
	count: number;
	told: Told;
}

/** Raw shows updates as they are on the wire, for those who write clients. Deltas of a block that follow each other are one row. */
export class Raw {
	private readonly panel = byId("raw");
	private readonly list = byId("rawlist");
	private readonly toggle = byId("raw-toggle");
	private rows: Row[] = [];

	constructor() {
		this.toggle.addEventListener("click", () => this.show(this.panel.hidden));
		byId("raw-close").addEventListener("click", () => this.show(false));
		byId("raw-copy").addEventListener("click", (event) => void copy(this.rows.map((r) => JSON.stringify(r.told)).join("\n"), event.currentTarget as HTMLElement));
		// A row's JSON is made when it is opened.
		this.list.addEventListener("toggle", (event) => {
			const details = event.target as HTMLDetailsElement;
			const row = this.rows.find((r) => String(r.first) === details.dataset["first"]);
			if (!row || !details.open || details.querySelector("pre")) return;
			const text = JSON.stringify(row.told, null, 1);
			const copier = iconButton("copy", "Copy", () => void copy(text, copier));
			details.append(h("pre", { class: "out", tabindex: 0 }, text), copier);
		}, true);
	}

	show(on: boolean): void {
		this.panel.hidden = !on;
		this.toggle.setAttribute("aria-pressed", String(on));
		if (on) inFrame(this.draw);
	}

	get open(): boolean {
		return !this.panel.hidden;
	}

	clear(): void {
		this.rows = [];
		inFrame(this.draw);
	}

	add(told: Told): void {
		const { seq } = told.params;
		const first = ("first_seq" in told.params && told.params.first_seq) || seq;
		const last = this.rows.at(-1);
		if (last && last.told.method === told.method && "delta" in told.params && "delta" in last.told.params && told.params.block === last.told.params.block) {
			last.count += seq - first + 1;
			last.last = seq;
			last.told = { method: told.method, params: { ...told.params, first_seq: last.first, delta: last.told.params.delta + told.params.delta } } as Told;
		} else {
			this.rows.push({ first, last: seq, count: seq - first + 1, told });
			if (this.rows.length > kept) this.rows.splice(0, this.rows.length - kept);
		}
		if (this.open) inFrame(this.draw);
	}

	private readonly draw = (): void => {
		if (!this.open) return;
		const now = this.rows.slice(-shown);
		const old = new Map([...this.list.children].map((e) => [(e.firstElementChild as HTMLElement).dataset["first"], e as HTMLElement]));
		const wanted = now.map((r) => {
			const known = old.get(String(r.first));
			const label = r.count > 1 ? `× ${r.count}` : "";
			if (known) {
				const i = known.querySelector("i:last-child");
				if (i && i.textContent !== label) i.textContent = label;
				return known;
			}
			const kind = r.told.method.startsWith("thinking") ? "th" : "";
			return h("li", {}, h("details", { "data-first": r.first }, h("summary", {}, h("i", {}, String(r.first)), h("span", { class: kind }, r.told.method), h("i", {}, label))));
		});
		const keep = new Set(wanted);
		for (const e of old.values()) if (!keep.has(e as HTMLLIElement)) e.remove();
		for (const e of wanted) if (!e.isConnected) this.list.append(e);
		this.list.scrollTop = 1e9;
	};
}
