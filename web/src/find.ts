import type { Client, Methods } from "../../clients/typescript/src/index.js";
import { byId, h, icon, iconButton, say } from "./dom.js";
import type { At } from "./search.js";
import { count } from "./words.js";

type Excerpt = Methods["session/search"]["result"]["found"][number]["excerpts"][number];

const most = 1000; // places of a session
const page = 200;

/** FindBar finds text in the visible session, also in messages that are not loaded, and goes from place to place. */
export class FindBar {
	private readonly el = byId("findbar");
	private readonly field = h("input", { type: "search", autocomplete: "off", placeholder: "Find in this session", "aria-label": "Find in this session" });
	private readonly state = h("span", { role: "status" });
	private readonly thoughts = h("input", { type: "checkbox" });
	private places: Excerpt[] = [];
	private session = "";
	private at = 0;
	private asked = 0; // responses to older requests are ignored
	private timer: ReturnType<typeof setTimeout> | undefined;

	constructor(private readonly client: Client, private readonly reveal: (at: At) => Promise<boolean>, private readonly done: () => void) {
		const previous = iconButton("down", "Previous place", () => this.go(-1));
		previous.classList.add("previous");
		this.el.append(h("label", { class: "find" }, icon("find"), this.field), this.state, h("label", { class: "check" }, this.thoughts, "Thoughts"), h("span", { class: "sp" }),
			previous, iconButton("down", "Next place", () => this.go(1)), iconButton("x", "Close the search", () => this.close()));
		this.field.addEventListener("input", () => {
			clearTimeout(this.timer);
			this.timer = setTimeout(() => void this.find(), 250);
		});
		this.thoughts.addEventListener("change", () => void this.find());
		this.el.addEventListener("keydown", (event) => {
			if (event.key === "Escape") {
				event.stopPropagation();
				this.close();
			} else if (event.key === "Enter" && event.target === this.field) {
				event.preventDefault();
				this.go(event.shiftKey ? -1 : 1);
			}
		});
	}

	open(session: string, text = this.field.value): void {
		this.el.hidden = false;
		this.field.value = text;
		this.field.focus();
		this.field.select();
		if (session !== this.session || text) {
			this.session = session;
			void this.find();
		}
	}

	/** Another session, or none, is visible. */
	leave(): void {
		this.asked++;
		this.el.hidden = true;
		this.places = [];
		mark("");
	}

	private close(): void {
		this.leave();
		this.done();
	}

	private async find(): Promise<void> {
		const mine = ++this.asked;
		const text = this.field.value.trim();
		this.places = [];
		this.at = 0;
		this.state.textContent = "";
		if (!text) return;
		try {
			let cursor: string | undefined;
			do {
				const r = await this.client.call("session/search", {
					text, session_id: this.session, limit: page, in: ["prompt", "answer", "tool", ...(this.thoughts.checked ? ["thought" as const] : [])], ...(cursor && { cursor }),
				});
				if (mine !== this.asked) return;
				const first = this.places.length === 0;
				this.places.push(...r.found.flatMap((f) => f.excerpts));
				cursor = r.next_cursor || undefined;
				if (first && this.places.length > 0) this.go(0);
				else this.show();
			} while (cursor && this.places.length < most);
			if (this.places.length === 0) this.state.textContent = "Nothing found";
		} catch (error) {
			if (mine === this.asked) this.state.textContent = (error as Error).message;
		}
	}

	private show(): void {
		this.state.textContent = this.places.length === 0 ? "" : `${count(this.at + 1)} of ${count(this.places.length)}`;
	}

	private go(by: number): void {
		const n = this.places.length;
		if (n === 0) return;
		this.at = (this.at + by + n) % n;
		this.show();
		const place = this.places[this.at] as Excerpt;
		void this.reveal({ session: this.session, message: place.message_id, block: place.block ?? 0, text: this.field.value.trim() }).then((ok) => {
			if (!ok) say("That message is not in this session any more");
		});
	}
}

/** Marks a text in an element; an empty text unmarks all. */
export function mark(text: string, within?: HTMLElement): Range | undefined {
	if (!("highlights" in CSS)) return undefined; // the place itself is outlined
	CSS.highlights.delete("found");
	const words = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
	if (!within || words.length === 0) return undefined;
	const ranges: Range[] = [];
	const nodes = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
	const pattern = new RegExp(words.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+"), "giu");
	for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
		for (const m of (node.nodeValue ?? "").matchAll(pattern)) {
			const range = new Range();
			range.setStart(node, m.index);
			range.setEnd(node, m.index + m[0].length);
			ranges.push(range);
		}
	}
	CSS.highlights.set("found", new Highlight(...ranges));
	return ranges[0];
}
