import type { Client, Notifications } from "../../clients/typescript/src/index.js";
import { byId, h, iconButton } from "./dom.js";
import type { Listed, Tidy } from "./tidy.js";
import { day, when } from "./words.js";

/** Sessions is the list on the left: pinned ones first, then by day, with a search by title. The daemon sends what changes in it. */
export class Sessions {
	private readonly list = byId("sessions");
	private readonly find = byId<HTMLInputElement>("find");
	private readonly found = byId("found");
	private sessions: Listed[] = [];
	private of = ""; // the search that found them
	private cursor: string | undefined;
	private asked = 0; // loads: the response to an older one is ignored
	private timer: ReturnType<typeof setTimeout> | undefined;
	current = "";
	asks = false; // the visible session waits for a person

	constructor(private readonly client: Client, private readonly tidy: Tidy, private readonly open: (id: string) => void) {
		this.find.addEventListener("input", () => {
			this.found.textContent = ""; // until it counts what this text finds
			this.soon(150);
		});
		this.list.addEventListener("scroll", () => {
			if (this.cursor && this.list.scrollTop + this.list.clientHeight > this.list.scrollHeight - 200) void this.load(true);
		}, { passive: true });
		this.list.addEventListener("click", (event) => {
			const row = (event.target as Element).closest<HTMLAnchorElement>("a.row");
			if (!row || event.metaKey || event.ctrlKey || event.shiftKey) return; // the browser opens a new tab
			event.preventDefault();
			this.open(row.dataset["id"] ?? "");
		});
		for (const e of [this.find, this.list]) e.addEventListener("keydown", (event) => this.key(event));
	}

	/** Follows the list. Call it for each new connection: a subscription ends with its connection. */
	async watch(): Promise<void> {
		await this.client.call("session/watch", { limit: 0 });
		await this.load(false);
	}

	/** Draws the list again: another session is visible, or it asks. */
	redraw(): void {
		this.draw();
	}

	/** What changed in the list. */
	update(u: Notifications["list_update"]): void {
		if (u.stale) {
			void this.watch().catch(() => {}); // without a connection: after the next one
			return;
		}
		if (this.find.value.trim() || this.of) { // which sessions fit, only the daemon knows
			this.soon();
			return;
		}
		const gone = new Set(u.removed ?? []);
		const news = [...(u.created ?? []), ...(u.changed ?? [])];
		const oldest = this.cursor ? (this.sessions.findLast((s) => !s.pinned)?.updated ?? 0) : 0;
		for (const s of news) gone.add(s.session_id);
		const rest = this.sessions.filter((s) => !gone.has(s.session_id));
		// Sessions older than the loaded pages come with the next page. Pinned ones and those that others share are all loaded.
		this.sessions = sorted([...rest, ...news.filter((s) => !s.archived && (s.pinned || s.owner || s.updated >= oldest))]);
		this.draw();
	}

	/** Whether nothing is listed. */
	get empty(): boolean {
		return this.sessions.length === 0;
	}

	/** The folders of the listed sessions, the last used first. */
	folders(): string[] {
		return [...new Set(this.sessions.map((s) => s.cwd).filter(Boolean))].slice(0, 20);
	}

	/** Loads the list again, once for several changes. */
	soon(ms = 300): void {
		clearTimeout(this.timer);
		this.timer = setTimeout(() => void this.load(false), ms);
	}

	async load(more: boolean): Promise<number> {
		const mine = ++this.asked;
		const query = this.find.value.trim();
		const limit = more ? 100 : Math.max(100, Math.min(1000, this.sessions.length));
		try {
			const list = (params: object) => this.client.call("session/list", { archived: false, ...(query && { query }), ...params });
			// What others share is behind one's own, which can be many pages.
			const [answer, top, shared] = await Promise.all([list({ limit, ...(more && this.cursor && { cursor: this.cursor }) }),
				...(more ? [] : [list({ limit: 1000, pinned: true }), this.client.daemon?.identity ? list({ limit: 1000, shared: true }) : undefined])]);
			if (mine !== this.asked) return this.sessions.length;
			const known = new Map((more ? this.sessions : []).map((s) => [s.session_id, s]));
			for (const s of [...answer.sessions, ...(top?.sessions ?? []), ...(shared?.sessions ?? [])]) known.set(s.session_id, s);
			this.sessions = sorted([...known.values()]);
			this.cursor = answer.next_cursor || undefined;
			this.of = query;
			this.draw();
		} catch {
			// The connection is lost, as the banner shows. The list is loaded again after a reconnect.
		}
		return this.sessions.length;
	}

	private draw(): void {
		const query = this.of;
		const focused = (document.activeElement as HTMLElement | null)?.dataset["id"];
		const top = this.list.scrollTop;
		const rows: HTMLElement[] = [];
		let group = "";
		for (const s of this.sessions) {
			const name = s.pinned ? "Pinned" : day(s.updated);
			if (name !== group && !query) rows.push(h("h2", {}, (group = name)));
			rows.push(this.row(s, query));
		}
		if (rows.length === 0) rows.push(h("p", { class: "grp" }, query ? "No session title contains this text." : "Your sessions appear here. They are stored on this machine."));
		if (query) rows.push(h("a", { class: "grp all", href: `#/search?${new URLSearchParams({ q: query })}` }, "Search all text"));
		this.found.textContent = query && query === this.find.value.trim() ? `${this.sessions.length}${this.cursor ? " or more" : ""} found` : "";
		this.list.replaceChildren(...rows);
		this.list.scrollTop = top;
		const links = [...this.list.querySelectorAll<HTMLElement>("a.row")];
		// The list has one Tab stop.
		const stop = links.find((a) => a.dataset["id"] === (focused ?? this.current)) ?? links[0];
		for (const a of links) a.tabIndex = a === stop ? 0 : -1;
		if (focused && stop?.dataset["id"] === focused) stop.focus();
	}

	private row(s: Listed, query: string): HTMLElement {
		const here = s.session_id === this.current;
		const asks = s.needs === "approval" || s.status === "waiting" || (here && this.asks);
		const state = asks ? h("span", { class: "tag ask" }, "asks you")
			: s.needs === "read" && !here ? h("span", { class: "tag new" }, "new")
			: s.status === "running" ? h("span", { class: "tag live" }, "thinking")
			: s.status === "parked" ? h("span", { class: "tag ask" }, "parked")
			: s.status === "held" ? h("span", { class: "tag ask" }, "held")
			: s.status === "damaged" ? h("span", { class: "tag err" }, "damaged")
			: h("time", {}, when(s.updated));
		const more = iconButton("more", `More for ${s.title || "Untitled"}`, () => this.tidy.menu(more, s, () => this.find.focus()));
		more.setAttribute("aria-haspopup", "dialog");
		more.setAttribute("aria-expanded", "false");
		more.tabIndex = -1; // the arrow keys reach it: the list has one Tab stop
		return h("div", { class: "rowbox" }, h("a", { class: "row", href: `#/${s.session_id}`, "data-id": s.session_id, "aria-current": here && "page" }, h("b", { dir: "auto" }, ...marked(s.title || "Untitled", query)), s.owner ? h("span", { title: `Shared by ${s.owner}` }, h("span", { class: "tag" }, h("span", { class: "vh" }, "shared by "), s.owner, " "), state) : state), more);
	}

	private key(event: KeyboardEvent): void {
		const box = (event.target as Element).closest(".rowbox");
		if (box && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
			event.preventDefault();
			box.querySelector<HTMLElement>(event.key === "ArrowRight" ? "button" : "a")?.focus();
			return;
		}
		const links = [...this.list.querySelectorAll<HTMLElement>("a.row")];
		const at = links.indexOf((box?.querySelector("a") ?? document.activeElement) as HTMLElement);
		const to: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: links.length - 1 };
		const next = to[event.key];
		if (next === undefined || (at < 0 && event.key !== "ArrowDown")) return;
		event.preventDefault();
		(next < 0 ? this.find : links[Math.min(next, links.length - 1)])?.focus();
	}
}

/** Pinned sessions first, and then the last changed first. */
function sorted(list: Listed[]): Listed[] {
	return list.sort((a, b) => Number(b.pinned ?? false) - Number(a.pinned ?? false) || b.updated - a.updated || (a.session_id < b.session_id ? 1 : -1));
}

/** A title with the search text marked. */
function marked(title: string, query: string): (Node | string)[] {
	const at = query ? title.toLowerCase().indexOf(query.toLowerCase()) : -1;
	if (at < 0) return [title];
	return [title.slice(0, at), h("mark", {}, title.slice(at, at + query.length)), title.slice(at + query.length)];
}
