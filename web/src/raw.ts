import type { SessionUpdate } from "../../clients/typescript/src/index.js";
import { byId, copy, h, iconButton } from "./dom.js";
import { inFrame } from "./frames.js";

const kept = 2000; // updates
const shown = 300; // rows

interface Row {
	first: number;
	last: number;
	count: number;
	update: SessionUpdate;
}

/** Raw shows updates as they are on the wire, for authors of clients. Consecutive deltas of a block are one row. */
export class Raw {
	private readonly panel = byId("raw");
	private readonly list = byId("rawlist");
	private readonly toggle = byId("raw-toggle");
	private rows: Row[] = [];

	constructor() {
		this.toggle.addEventListener("click", () => this.show(this.panel.hidden));
		byId("raw-close").addEventListener("click", () => this.show(false));
		byId("raw-copy").addEventListener("click", (event) => void copy(this.rows.map((r) => JSON.stringify(r.update)).join("\n"), event.currentTarget as HTMLElement));
		// The JSON of a row is created when the row opens.
		this.list.addEventListener("toggle", (event) => {
			const details = event.target as HTMLDetailsElement;
			const row = this.rows.find((r) => String(r.first) === details.dataset["first"]);
			if (!row || !details.open || details.querySelector("pre")) return;
			const text = JSON.stringify(row.update, null, 1);
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

	add(update: SessionUpdate): void {
		const { seq } = update.params;
		const first = ("first_seq" in update.params && update.params.first_seq) || seq;
		const last = this.rows.at(-1);
		if (last && last.update.method === update.method && "delta" in update.params && "delta" in last.update.params && update.params.block === last.update.params.block) {
			last.count += seq - first + 1;
			last.last = seq;
			last.update = { method: update.method, params: { ...update.params, first_seq: last.first, delta: last.update.params.delta + update.params.delta } } as SessionUpdate;
		} else {
			this.rows.push({ first, last: seq, count: seq - first + 1, update });
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
			const kind = r.update.method.startsWith("thinking") ? "th" : "";
			return h("li", {}, h("details", { "data-first": r.first }, h("summary", {}, h("i", {}, String(r.first)), h("span", { class: kind }, r.update.method), h("i", {}, label))));
		});
		const keep = new Set(wanted);
		for (const e of old.values()) if (!keep.has(e as HTMLLIElement)) e.remove();
		for (const e of wanted) if (!e.isConnected) this.list.append(e);
		this.list.scrollTop = 1e9;
	};
}
