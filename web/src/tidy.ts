import type { Client, Methods } from "../../clients/typescript/src/index.js";
import { button, h, say } from "./dom.js";
import { save } from "./markdown.js";
import { arrows, closePopover, popover } from "./popover.js";
import { shareForm } from "./share.js";

export type Listed = Methods["session/list"]["result"]["sessions"][number];

/** What of a session its menu needs. */
export type Entry = Pick<Listed, "session_id" | "title" | "pinned" | "archived" | "owner">;

type Order = Pick<Methods["session/update"]["params"], "archived" | "pinned">;

/** Tidy is what can be done with sessions of a list. A change of several is one call for each; the first failure ends it. */
export class Tidy {
	constructor(private readonly client: Client) {}

	async set(list: Entry[], order: Order): Promise<void> {
		for (const { session_id } of list) await this.client.call("session/update", { session_id, ...order });
		const what = order.archived !== undefined ? (order.archived ? "archived" : "back in the list") : order.pinned ? "pinned" : "no longer pinned";
		say(`${number(list)} ${what}`);
	}

	async rename(s: Entry, title: string): Promise<void> {
		await this.client.call("session/update", { session_id: s.session_id, title });
	}

	async remove(list: Entry[]): Promise<void> {
		for (const { session_id } of list) await this.client.call("session/delete", { session_id });
		say(`${number(list)} deleted`);
	}

	/** Saves sessions in one file: as Markdown, or as JSON lines, each session before its messages. */
	async export(list: Entry[], format: "markdown" | "json"): Promise<void> {
		const parts: string[] = [];
		for (const { session_id } of list) {
			let cursor: string | undefined;
			do {
				const page = await this.client.call("session/export", { session_id, format, ...(cursor && { cursor }) });
				if (format === "json") parts.push(...[...(cursor ? [] : [page.session]), ...(page.messages ?? [])].map((line) => `${JSON.stringify(line)}\n`));
				else parts.push(page.text ?? "");
				cursor = page.next_cursor || undefined;
			} while (cursor);
		}
		const one = list.length === 1 ? list[0]?.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) : "";
		save(parts.join(format === "markdown" ? "\n" : ""), format === "markdown" ? "md" : "jsonl", one || "sessions");
		say(`${number(list)} exported`);
	}

	/** The menu of one session, with rows for what else its place offers. */
	menu(from: HTMLElement, s: Entry, done: () => void, more: { label: string; act(): void }[] = []): void {
		const box = h("div", { class: "ways" });
		const trouble = h("p", { class: "warnline", role: "alert", hidden: true });
		const run = (what: Promise<void>) => void what.then(() => {
			closePopover();
			done();
		}, (error: Error) => {
			trouble.textContent = error.message;
			trouble.hidden = false;
		});
		const row = (label: string, act: () => void, kind = "") => h("button", { class: `opt ${kind}`, type: "button", onclick: act }, h("b", {}, label));
		const title = h("input", { type: "text", "aria-label": "Title", dir: "auto", maxlength: 200 });
		title.value = s.title;
		if (s.owner) { // the rest is for the owner
			box.append(h("p", {}, `Of ${s.owner}, who shares it with you`), row("Export as Markdown", () => run(this.export([s], "markdown"))), row("Export as JSON", () => run(this.export([s], "json"))), trouble);
			arrows(box);
			popover(from, s.title || "Untitled", box, "small");
			return;
		}
		box.append(
			h("form", { class: "field", onsubmit: (event) => {
				event.preventDefault();
				run(this.rename(s, title.value));
			} }, title, h("button", { class: "btn", type: "submit" }, "Rename")),
			row(s.pinned ? "Unpin" : "Pin to the top", () => run(this.set([s], { pinned: !s.pinned }))),
			row(s.archived ? "Bring back from the archive" : "Archive", () => run(this.set([s], { archived: !s.archived }))),
			row("Export as Markdown", () => run(this.export([s], "markdown"))),
			row("Export as JSON", () => run(this.export([s], "json"))),
			...(this.client.daemon?.identity ? [row("Share…", () => {
				const form = shareForm(this.client, s.session_id, trouble);
				box.replaceChildren(form, trouble);
				form.querySelector("input")?.focus();
			})] : []),
			...more.map(({ label, act }) => row(label, () => {
				closePopover();
				act();
			})),
			row("Delete…", () => {
				const keep = button("Cancel", "", () => closePopover());
				box.replaceChildren(h("p", {}, "It is deleted permanently."), h("div", { class: "acts" }, keep, button("Delete", "quiet bad", () => run(this.remove([s])))), trouble);
				keep.focus();
			}, "bad"),
			trouble);
		arrows(box);
		popover(from, s.title || "Untitled", box, "small");
	}
}

export function number(list: { length: number }): string {
	return list.length === 1 ? "1 session" : `${list.length} sessions`;
}
