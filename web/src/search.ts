import type { Client, Methods } from "../../clients/typescript/src/index.js";
import { button, h, icon, iconButton, say } from "./dom.js";
import { number, type Listed, type Tidy } from "./tidy.js";
import { count, moment } from "./words.js";

type Query = Methods["session/search"]["params"];
type Found = Methods["session/search"]["result"]["found"][number];
type Excerpt = Found["excerpts"][number];
type Place = Excerpt["in"];

/** A place in a session. */
export interface At {
	session: string;
	message?: string | undefined;
	block?: number | undefined;
	text?: string | undefined; // to mark there
}

/** What the search needs from the page. */
export interface Finder {
	open(at: At): void;
	models(): { id: string; name: string }[];
	folders(): string[];
}

const enough = 20; // sessions before the page waits for "Show more"
const dayMs = 86_400_000;

const places: [value: string, label: string, list: Place[] | undefined][] = [
	["", "all except thoughts", undefined],
	["all", "all text", ["title", "prompt", "thought", "answer", "tool"]],
	["prompt", "prompts", ["prompt"]],
	["thought", "thoughts", ["thought"]],
	["answer", "answers", ["answer"]],
	["tool", "tools", ["tool"]],
	["title", "titles", ["title"]],
];
const dates: [value: string, label: string][] = [["", "any time"], ["1", "today"], ["7", "7 days"], ["30", "30 days"], ["365", "12 months"]];

/**
 * SearchView finds sessions by text and filters, and changes several of them at once. Without a text it lists them. The address has the
 * text and the filters.
 */
export class SearchView {
	readonly title = "Search";
	private query = new URLSearchParams();
	private found: Found[] = [];
	private cursor: string | undefined;
	private read = 0;
	private unreadable = 0;
	private busy = false;
	private asked = 0; // responses to older requests are ignored
	private timer: ReturnType<typeof setTimeout> | undefined;
	private readonly chosen = new Set<string>();
	private renaming = "";
	private asking = false; // whether the chosen ones are to be deleted
	private field = h("input", { type: "search" });
	private state = h("p", {});
	private bar = h("div", {});
	private list = h("ul", {});
	private more = h("div", {});

	constructor(private readonly client: Client, private readonly tidy: Tidy, private readonly finder: Finder) {}

	show(into: HTMLElement, query: URLSearchParams): void {
		this.query = query;
		this.chosen.clear();
		this.renaming = "";
		this.asking = false;
		this.field = h("input", { type: "search", dir: "auto", autocomplete: "off", placeholder: "Search all sessions" });
		this.field.value = query.get("q") ?? "";
		this.field.addEventListener("input", () => this.set("q", this.field.value.trim(), 250));
		this.state = h("p", { class: "lead", role: "status" });
		this.bar = h("div", { class: "selbar", hidden: true });
		this.list = h("ul", { class: "hits" });
		this.more = h("div", { class: "acts" });
		const col = h("div", { class: "wide-col findcol" },
			h("label", { class: "bigfind" }, icon("find"), h("span", { class: "vh" }, "Search all sessions"), this.field),
			this.filters(), h("h2", { class: "vh" }, "Results"), this.state, this.bar, this.list, this.more);
		col.addEventListener("keydown", (event) => this.key(event));
		into.append(col);
		void this.load();
		if (matchMedia("(hover: hover)").matches) this.field.focus();
	}

	hide(): void {
		this.asked++;
		clearTimeout(this.timer);
	}

	/** Something changed in the list of sessions. */
	changed(changed: Listed[], removed: string[]): void {
		const by = new Map(changed.map((s) => [s.session_id, s]));
		if (!this.found.some((f) => by.has(f.session.session_id) || removed.includes(f.session.session_id))) return;
		this.found = this.found.filter((f) => !removed.includes(f.session.session_id)).map((f) => ({ ...f, session: by.get(f.session.session_id) ?? f.session }));
		for (const id of removed) this.chosen.delete(id);
		if (this.list.isConnected) this.draw();
	}

	private filters(): HTMLElement {
		const select = (name: string, label: string, options: [string, string][]) => {
			const e = h("select", { name }, ...options.map(([value, text]) => h("option", { value, selected: value === (this.query.get(name) ?? "") }, text)));
			e.addEventListener("change", () => this.set(name, e.value));
			return h("label", { class: "sel" }, h("span", {}, label), e);
		};
		const model = this.query.get("model");
		const models = this.finder.models().map((m): [string, string] => [m.id, m.name]);
		if (model && !models.some(([id]) => id === model)) models.push([model, model]);
		const folders = this.finder.folders();
		const folder = this.query.get("folder");
		if (folder && !folders.includes(folder)) folders.push(folder);
		const archived = button("Archived too", "pill", () => {
			const on = archived.getAttribute("aria-pressed") !== "true";
			archived.setAttribute("aria-pressed", String(on));
			this.set("archived", on ? "too" : "");
		});
		archived.setAttribute("aria-pressed", String(this.query.get("archived") === "too"));
		return h("div", { class: "tools", role: "group", "aria-label": "Filters" },
			select("model", "Model", [["", "any"], ...models]),
			select("folder", "Folder", [["", "any"], ...folders.map((f): [string, string] => [f, f])]),
			select("date", "Changed", dates),
			select("in", "In", places.map(([value, label]): [string, string] => [value, label])),
			archived);
	}

	private set(name: string, value: string, wait = 0): void {
		if (value) this.query.set(name, value);
		else this.query.delete(name);
		const query = this.query.toString();
		history.replaceState(null, "", `#/search${query ? `?${query}` : ""}`);
		clearTimeout(this.timer);
		this.timer = setTimeout(() => void this.load(), wait);
	}

	private params(): Omit<Query, "text"> {
		const q = this.query;
		const days = Number(q.get("date"));
		const midnight = new Date().setHours(0, 0, 0, 0);
		return {
			...(q.get("model") && { model_id: q.get("model") as string }),
			...(q.get("folder") && { cwd: q.get("folder") as string }),
			...(days > 0 && { since: midnight - (days - 1) * dayMs }),
			...(q.get("archived") !== "too" && { archived: false }),
		};
	}

	/** Starts again. Until something is found, the last results stay. */
	private async load(): Promise<void> {
		this.cursor = undefined;
		this.read = this.unreadable = 0;
		await this.fetch([], enough);
	}

	/** Reads on until so many sessions are there, or there are no more. */
	private async fetch(found: Found[], upto: number): Promise<void> {
		const mine = ++this.asked;
		this.busy = true;
		this.status();
		try {
			do {
				const page = await this.page(upto - found.length);
				if (mine !== this.asked) return;
				found = merge(found, page);
				if (page.length > 0 || !this.cursor) {
					this.found = found;
					this.draw();
				}
				this.status();
			} while (this.cursor && found.length < upto);
		} catch (error) {
			if (mine === this.asked) this.state.textContent = (error as Error).message;
			return;
		} finally {
			if (mine === this.asked) this.busy = false;
		}
		this.draw();
		say(this.state.textContent ?? "");
	}

	private async page(limit: number): Promise<Found[]> {
		const text = this.query.get("q") ?? "";
		const at = { ...this.params(), limit, ...(this.cursor && { cursor: this.cursor }) };
		if (!text) {
			const { sessions, next_cursor } = await this.client.call("session/list", at);
			this.cursor = next_cursor || undefined;
			return sessions.map((session) => ({ session, hits: 0, excerpts: [] }));
		}
		const list = places.find(([value]) => value === (this.query.get("in") ?? ""))?.[2];
		const r = await this.client.call("session/search", { text, ...(list && { in: list }), ...at });
		this.cursor = r.next_cursor || undefined;
		this.read += r.read;
		this.unreadable += r.unreadable ?? 0;
		return r.found;
	}

	private status(): void {
		const text = this.query.get("q") ?? "";
		const n = this.found.length;
		const read = text ? `${count(this.read)} read${this.busy ? " so far" : ""}` : "";
		const bad = this.unreadable ? `, ${this.unreadable} cannot be read` : "";
		if (this.busy) this.state.textContent = text ? `Searching, ${read}…` : "Loading…";
		else if (n === 0) this.state.textContent = text ? `Nothing found${this.filtered()}. ${read}${bad}.` : `There is no session${this.filtered()}.`;
		else this.state.textContent = [`${number(this.found)}, the last changed first`, read && `${read}${bad}`].filter(Boolean).join(". ") + ".";
	}

	/** The filters that are on, for people. */
	private filtered(): string {
		const names: Record<string, string> = { model: "model", folder: "folder", date: "date", in: "place" };
		const on = Object.keys(names).filter((name) => this.query.get(name)).map((name) => names[name]);
		if (this.query.get("archived") !== "too") on.push("not archived");
		return on.length ? ` with these filters: ${on.join(", ")}` : "";
	}

	private draw(): void {
		this.status();
		const at = this.list.contains(document.activeElement) ? document.activeElement?.closest<HTMLElement>("li")?.dataset["id"] : undefined;
		this.list.replaceChildren(...this.found.map((f) => this.row(f)));
		if (at && !this.renaming) this.rowOf(at)?.querySelector<HTMLElement>("h3 a")?.focus();
		this.more.replaceChildren(...(this.cursor && !this.busy ? [button("Show more", "", () => void this.fetch(this.found, this.found.length + enough))] : []));
		this.select();
	}

	private rowOf(id: string): HTMLElement | null {
		return this.list.querySelector(`li[data-id="${id}"]`);
	}

	private row(f: Found): HTMLElement {
		const s = f.session;
		const name = s.title || "Untitled";
		const check = h("input", { type: "checkbox", "aria-label": `Select ${name}` });
		check.checked = this.chosen.has(s.session_id);
		check.addEventListener("change", () => this.choose(s.session_id, check.checked));
		const act = (symbol: string, label: string, run: () => void, pressed?: boolean) => {
			const b = iconButton(symbol, `${label} ${name}`, run);
			b.title = label;
			if (pressed !== undefined) b.setAttribute("aria-pressed", String(pressed));
			return b;
		};
		const more = act("more", "More for", () => this.tidy.menu(more, s, () => this.after([s])));
		more.setAttribute("aria-haspopup", "dialog");
		const change = (order: { pinned: boolean } | { archived: boolean }) => void this.change([s], order);
		const title = this.renaming === s.session_id ? this.renameForm(s)
			: h("h3", {}, s.pinned ? icon("pin") : undefined, h("a", { href: `#/${s.session_id}`, dir: "auto", onclick: (e) => this.open(e, { session: s.session_id }) }, name),
				s.needs === "approval" ? h("span", { class: "tag ask" }, "asks you") : undefined, s.archived ? h("span", { class: "src-tag" }, "archived") : undefined, s.owner ? h("span", { class: "src-tag" }, `shared by ${s.owner}`) : undefined);
		return h("li", { "data-id": s.session_id, class: check.checked ? "on" : "" }, check,
			h("div", {}, title,
				h("p", { class: "meta" }, ...[moment(s.updated), s.model.id, s.cwd, f.hits ? `${count(f.hits)} ${f.hits === 1 ? "hit" : "hits"}` : ""].filter(Boolean).map((t) => h("span", {}, t))),
				...f.excerpts.filter((x) => x.in !== "title").map((x) => this.excerpt(s.session_id, x))),
			h("div", { class: "ra" },
				act("pin", s.pinned ? "Unpin" : "Pin", () => change({ pinned: !s.pinned }), s.pinned === true),
				act("pen", "Rename", () => this.rename(s.session_id)),
				act("box", s.archived ? "Bring back" : "Archive", () => change({ archived: !s.archived }), s.archived === true),
				act("bin", "Delete", () => this.ask([s.session_id])), more));
	}

	private excerpt(session: string, x: Excerpt): HTMLElement {
		const at = { session, message: x.message_id, block: x.block ?? 0, text: this.query.get("q") ?? "" };
		return h("blockquote", {}, h("a", { href: link(at), onclick: (e) => this.open(e, at) }, h("b", { class: x.in === "thought" ? "t" : "" }, x.in), h("span", { dir: "auto" }, ...marked(x))));
	}

	private open(event: MouseEvent, at: At): void {
		if (event.metaKey || event.ctrlKey || event.shiftKey) return; // the browser opens a new tab
		event.preventDefault();
		this.finder.open(at);
	}

	private renameForm(s: Listed): HTMLElement {
		const title = h("input", { type: "text", "aria-label": "New title", dir: "auto", maxlength: 200 });
		title.value = s.title;
		const end = () => {
			this.renaming = "";
			this.draw();
			this.rowOf(s.session_id)?.querySelector<HTMLElement>("h3 a")?.focus();
		};
		return h("form", { class: "field", onsubmit: (event) => {
			event.preventDefault();
			this.tidy.rename(s, title.value).then(() => {
				s.title = title.value;
				end();
			}, (error: Error) => this.fail(error));
		}, onkeydown: (event) => {
			if (event.key !== "Escape") return;
			event.stopPropagation();
			end();
		} }, title, h("button", { class: "btn main", type: "submit" }, "Rename"), button("Cancel", "quiet", end));
	}

	private rename(id: string): void {
		this.renaming = id;
		this.draw();
		const field = this.rowOf(id)?.querySelector<HTMLInputElement>("form input");
		field?.focus();
		field?.select();
	}

	// Several sessions

	private choose(id: string, on: boolean): void {
		if (on) this.chosen.add(id);
		else this.chosen.delete(id);
		this.asking = false;
		this.rowOf(id)?.classList.toggle("on", on);
		this.select();
	}

	private ask(ids: string[]): void {
		this.chosen.clear();
		for (const id of ids) this.chosen.add(id);
		this.asking = true;
		this.draw();
	}

	private selected(): Listed[] {
		return this.found.map((f) => f.session).filter((s) => this.chosen.has(s.session_id));
	}

	/** Draws the bar for the chosen sessions. */
	private select(): void {
		const list = this.selected();
		this.bar.hidden = list.length === 0;
		if (list.length === 0) {
			this.bar.replaceChildren();
			return;
		}
		const clear = iconButton("x", "Clear the selection", () => {
			this.chosen.clear();
			this.asking = false;
			this.draw();
			this.field.focus();
		});
		this.bar.setAttribute("role", this.asking ? "alertdialog" : "toolbar");
		this.bar.setAttribute("aria-label", this.asking ? `Delete ${number(list)}` : `For the ${number(list)} selected`);
		if (this.asking) {
			const cancel = button("Cancel", "", () => {
				this.asking = false;
				this.select();
			});
			this.bar.replaceChildren(h("b", {}, `Delete ${number(list)} permanently?`), h("span", { class: "sp" }), cancel,
				button("Delete", "quiet bad", () => void this.tidy.remove(list).then(() => this.gone(list), (e: Error) => this.fail(e))));
			cancel.focus();
			return;
		}
		const pinned = list.every((s) => s.pinned);
		const archived = list.every((s) => s.archived);
		const run = (what: Promise<void>) => void what.catch((e: Error) => this.fail(e));
		this.bar.replaceChildren(clear, h("b", {}, `${list.length} selected`), h("span", { class: "sp" }),
			button(pinned ? "Unpin" : "Pin", "quiet", () => void this.change(list, { pinned: !pinned })),
			button(archived ? "Bring back" : "Archive", "quiet", () => void this.change(list, { archived: !archived })),
			button("Markdown", "quiet", () => run(this.tidy.export(list, "markdown"))),
			button("JSON", "quiet", () => run(this.tidy.export(list, "json"))),
			button("Delete…", "quiet bad", () => this.ask(list.map((s) => s.session_id))));
	}

	private async change(list: Listed[], order: { pinned: boolean } | { archived: boolean }): Promise<void> {
		try {
			await this.tidy.set(list, order);
			for (const s of list) Object.assign(s, order);
		} catch (error) {
			this.fail(error as Error);
		}
		this.draw();
	}

	/** The menu of a session did something. */
	private after(list: Listed[]): void {
		for (const s of list) {
			this.client.call("session/state", { session_id: s.session_id }).then(({ session }) => this.changed([session], []), () => this.gone([s]));
		}
	}

	private gone(list: Listed[]): void {
		this.asking = false;
		this.changed([], list.map((s) => s.session_id));
		this.field.focus();
	}

	private fail(error: Error): void {
		this.state.textContent = error.message;
	}

	private key(event: KeyboardEvent): void {
		const rows = [...this.list.querySelectorAll<HTMLElement>("h3 a")];
		const id = (event.target as Element).closest<HTMLElement>("li")?.dataset["id"];
		const typing = (event.target as Element).matches("input:not([type=checkbox]), select");
		if (event.key === "Enter" && event.target === this.field) {
			event.preventDefault();
			rows[0]?.focus();
		} else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && (!typing || (event.target === this.field && event.key === "ArrowDown"))) {
			event.preventDefault();
			const at = rows.findIndex((a) => a.closest("li")?.dataset["id"] === id);
			const next = at + (event.key === "ArrowDown" ? 1 : -1);
			if (next < 0) this.field.focus();
			else rows[Math.min(next, rows.length - 1)]?.focus();
		} else if (event.key === "F2" && id) {
			event.preventDefault();
			this.rename(id);
		} else if (event.key === "x" && id && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
			event.preventDefault();
			const check = this.rowOf(id)?.querySelector<HTMLInputElement>("input[type=checkbox]");
			if (check) this.choose(id, (check.checked = !check.checked));
		}
	}
}

/** The address of a place. */
export function link(at: At): string {
	const query = new URLSearchParams({ ...(at.message && { m: at.message, b: String(at.block ?? 0) }), ...(at.text && { q: at.text }) }).toString();
	return `#/${at.session}${query ? `?${query}` : ""}`;
}

/** The place that an address names. */
export function placeOf(session: string, query: URLSearchParams): At {
	return { session, message: query.get("m") ?? undefined, block: Number(query.get("b") ?? 0), text: query.get("q") ?? undefined };
}

/** An excerpt with its matches marked. They are places in its UTF-8. */
export function marked(x: Excerpt): (Node | string)[] {
	const bytes = new TextEncoder().encode(x.text);
	const part = (from: number, upto?: number) => new TextDecoder().decode(bytes.subarray(from, upto));
	const list: (Node | string)[] = [];
	let at = 0;
	for (const { start, end } of x.matches) {
		list.push(part(at, start), h("mark", {}, part(start, end)));
		at = end;
	}
	return [...list, part(at)];
}

/** Adds what a page found. A session that is on two pages has the hits of both, and the excerpts of the first. */
function merge(found: Found[], page: Found[]): Found[] {
	const by = new Map(found.map((f) => [f.session.session_id, f]));
	for (const f of page) {
		const known = by.get(f.session.session_id);
		by.set(f.session.session_id, known ? { ...known, hits: known.hits + f.hits, excerpts: [...known.excerpts, ...f.excerpts].slice(0, 3) } : f);
	}
	return [...by.values()];
}
