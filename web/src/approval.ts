import type { Notifications } from "../../clients/typescript/src/index.js";
import { button, copy, h, iconButton, say } from "./dom.js";
import { reveal, unseen } from "./visible.js";
import { count, duration } from "./words.js";

export type Question = Omit<Notifications["confirm"], "session_id" | "seq" | "ts">;
type Part = Question["parts"][number];
type Grant = Question["grants"][number];

/** A person's answer to a question. */
export interface Ruling {
	action: "allow" | "deny";
	grant?: string;
}

const pause = 500; // ms in which a new card ignores clicks: a click may be meant for what was there before

/**
 * Approval asks about one call. Nothing of the call is cut off: text wraps, and a long part scrolls in its own box. "Allow
 * once" is disabled until the end of each part was visible. The daemon supplies the question, the parts, the grants and the denials.
 */
export class Approval {
	readonly el: HTMLElement;
	private readonly left = h("span", { class: "left" });
	private readonly seen = h("p", { class: "seen" });
	private readonly closed: HTMLButtonElement[] = []; // disabled until all was visible
	private readonly unread = new Map<HTMLElement, HTMLElement>(); // by the mark at its end
	private readonly watch: IntersectionObserver;
	private readonly sizes = new ResizeObserver(() => this.refresh());
	private sent = false;

	constructor(private readonly q: Question, private readonly answer: (r: Ruling) => Promise<unknown>) {
		const id = `q-${q.confirm_id}`;
		this.seen.id = `seen-${q.confirm_id}`;
		this.watch = new IntersectionObserver((list) => {
			for (const e of list) if (e.isIntersecting) this.read(e.target as HTMLElement);
		});
		const parts = this.parts();
		this.el = h("div", { class: "card ask warn fresh", role: "group", "aria-labelledby": id },
			h("header", {}, h("h3", { id }, ...reveal(q.message)), this.left, this.origin()),
			...parts, ...this.warning(), this.seen, ...this.acts());
		setTimeout(() => this.el.classList.remove("fresh"), pause);
		this.refresh();
	}

	/** Shows the time that is left, and the number of this question. */
	tick(until: number, at: number, of: number): void {
		const end = until > 0 ? `denied automatically in ${duration(Math.max(0, until - Date.now()))}` : "waits until somebody answers";
		this.left.textContent = `${of > 1 ? `${at} of ${of} · ` : ""}${end}`;
	}

	/** Stops the timer and the observers. */
	close(): void {
		this.watch.disconnect();
		this.sizes.disconnect();
	}

	private origin(): HTMLElement {
		const { origin, name } = this.q;
		const fact = (what: string, value: string) => h("span", {}, `${what} `, h("b", {}, ...reveal(value)));
		return h("p", { class: "origin" }, fact("Model", `${origin.provider}/${origin.model}`),
			origin.server ? fact("MCP server", origin.server) : undefined,
			fact("Tool", origin.host === "builtin" ? `${name}, built in` : origin.host === "client" ? `${name}, run by a client` : name),
			origin.folder ? fact("Folder", origin.folder) : undefined,
			fact("Effect", origin.effect));
	}

	private parts(): HTMLElement[] {
		const out: HTMLElement[] = [];
		const values = this.q.parts.filter((p) => p.kind === "value");
		for (const p of this.q.parts) {
			if (p.kind === "command") out.push(this.part(h("span", {}, `Command · ${size(p.text)}`), text(p), p.text));
			else if (p.kind === "diff") out.push(this.part(head(p, changes(p.text)), diff(p.text)));
			else if (p.kind === "content") out.push(this.part(head(p, size(p.text)), text(p)));
		}
		if (values.length > 0) out.push(this.part(h("span", {}, `Arguments · ${values.length === 1 ? "1 value" : `${values.length} values`}`), list(values)));
		return out;
	}

	private part(caption: HTMLElement, body: HTMLElement, command?: string): HTMLElement {
		const end = h("i", { class: "endmark", "aria-hidden": "true" });
		const box = h("div", { class: "box", tabindex: 0, role: "group", "aria-label": caption.textContent ?? "" }, body, end);
		this.unread.set(end, box);
		this.watch.observe(end);
		this.sizes.observe(box);
		box.addEventListener("scroll", () => this.refresh(), { passive: true });
		const copier = command === undefined ? undefined : iconButton("copy", "Copy command", () => void copy(command, copier as HTMLElement));
		return h("div", { class: "part" }, h("div", { class: "cap" }, caption, copier ? h("span", { class: "sp" }) : undefined, copier), box);
	}

	private warning(): HTMLElement[] {
		const n = this.q.parts.reduce((sum, p) => sum + unseen(p.text) + unseen(p.name ?? ""), 0);
		if (n === 0) return [];
		return [h("p", { class: "seen" }, n === 1 ? "Contains 1 invisible character. It is shown as a code and sent unchanged." : `Contains ${n} invisible characters. They are shown as codes and sent unchanged.`)];
	}

	private acts(): HTMLElement[] {
		const { q } = this;
		const acts = h("div", { class: "acts" });
		const standing: HTMLElement[] = [];
		if (q.actions.includes("allow")) {
			const allow = button("Allow once", "main", () => this.send({ action: "allow" }));
			this.closed.push(allow);
			acts.append(allow);
		}
		acts.append(button("Deny", "", () => this.send({ action: "deny" })), h("span", { class: "sp" }));
		const lists: ["allow" | "deny", Grant[]][] = [["allow", q.grants], ["deny", q.denials]];
		for (const [action, list] of lists) {
			if (list.length === 0) continue;
			const { box, open } = this.standing(action, list);
			acts.append(open);
			standing.push(box);
		}
		return [acts, ...standing];
	}

	/** A list of standing answers, which a button opens. Approvals are disabled until all of the call was visible. */
	private standing(action: "allow" | "deny", grants: Grant[]): { box: HTMLElement; open: HTMLButtonElement } {
		const id = `${action}-${this.q.confirm_id}`;
		const verb = action === "allow" ? "Allow" : "Deny";
		const radios = grants.map((g, i) => h("input", { type: "radio", name: id, value: g.id, checked: i === 0 }));
		const grant = button(action === "allow" ? "Grant and allow" : "Always deny", "", () => this.send({ action, grant: radios.find((r) => r.checked)?.value ?? "" }));
		const show = (on: boolean) => {
			box.hidden = !on;
			open.setAttribute("aria-expanded", String(on));
			(on ? radios.find((r) => r.checked) : open)?.focus();
		};
		const box = h("div", { class: "grants", role: "group", "aria-label": `Always ${action}`, hidden: true },
			h("fieldset", {}, h("legend", {}, `${verb} this call, and later calls in this session that match:`),
				...grants.map((g, i) => h("label", { class: "grant" }, radios[i], h("span", {}, h("b", {}, ...coded(g.text)), h("small", {}, reach[g.scope] ?? ""))))),
			h("div", { class: "acts" }, grant, button("Back", "quiet", () => show(false)), h("small", {}, "It ends with the session. To revoke it earlier, open the list in the header.")));
		const open = button(`Always ${action}…`, "quiet", () => this.ready() && show(box.hidden));
		open.setAttribute("aria-expanded", "false");
		if (action === "allow") this.closed.push(open, grant);
		return { box, open };
	}

	private read(end: HTMLElement): void {
		this.watch.unobserve(end);
		this.unread.delete(end);
		this.refresh();
	}

	/** Shows what is still to be read, and enables the answers after that. */
	private refresh(): void {
		const { limit } = this.q;
		const unread = [...this.unread.values()];
		for (const b of this.closed) {
			b.disabled = unread.length > 0 || this.sent;
			if (unread.length > 0) b.setAttribute("aria-describedby", this.seen.id);
			else b.removeAttribute("aria-describedby");
		}
		let note = "";
		if (limit) note = `It has more than ${count(limit)} bytes. A call that cannot be shown completely cannot be allowed.`;
		else if (unread.length > 0) {
			const box = unread[0] as HTMLElement;
			const line = parseFloat(getComputedStyle(box).lineHeight) || 20;
			const below = Math.round((box.scrollHeight - box.scrollTop - box.clientHeight) / line);
			note = `Read to the end first.${below > 0 ? ` ${below === 1 ? "1 line is" : `${below} lines are`} below.` : ""}`;
		}
		if (this.seen.textContent !== note) this.seen.textContent = note;
		this.seen.hidden = note === "";
	}

	private ready(): boolean {
		return !this.el.classList.contains("fresh");
	}

	private send(r: Ruling): void {
		if (this.sent || !this.ready() || (r.action === "allow" && this.unread.size > 0)) return;
		this.sent = true;
		this.refresh();
		// All clients are notified of the result. After a refused answer the person can answer again.
		this.answer(r).catch((error: Error) => {
			this.sent = false;
			this.refresh();
			say(error.message);
		});
	}
}

const reach: Record<string, string> = {
	prefix: "One simple command. No pipe, redirection, substitution, pattern, assignment or second line.",
	folder: "Only this tool, and only in this folder and the folders below it.",
	tool: "Any call of this tool, without a question.",
};

/** A text in which words between backticks are code. */
export function coded(text: string): (string | HTMLElement)[] {
	return text.split("`").flatMap((part, i) => (i % 2 === 1 ? [h("code", {}, ...reveal(part))] : reveal(part)));
}

function size(text: string): string {
	const lines = text.replace(/\n$/, "").split("\n").length;
	const n = [...text].length;
	return `${count(n)} ${n === 1 ? "character" : "characters"}${lines > 1 ? `, ${count(lines)} lines` : ""}, whole`;
}

function text(p: Part): HTMLElement {
	return h("pre", {}, ...(p.text === "" ? [h("small", {}, "(empty)")] : reveal(p.text)));
}

function head(p: Part, facts: string): HTMLElement {
	return h("span", {}, h("code", {}, ...reveal(oneLine(p.name ?? ""))), ` ${facts}`);
}

const oneLine = (name: string) => name.replaceAll("\n", "␊");

function changes(text: string): string {
	const lines = text.split("\n");
	return `+${lines.filter((l) => l.startsWith("+")).length} −${lines.filter((l) => l.startsWith("-")).length}`;
}

function list(values: Part[]): HTMLElement {
	return h("dl", { class: "vals" }, ...values.flatMap((p) => [h("dt", {}, ...reveal(oneLine(p.name ?? ""))),
		h("dd", { class: p.text.includes("\n") ? "sub" : "" }, ...(p.text === "" ? [h("small", {}, "(empty)")] : reveal(p.text)))]));
}

/** Hunks of a unified diff, with the numbers of their lines before and after. */
function diff(text: string): HTMLElement {
	let from = 0;
	let to = 0;
	let numbered = false;
	const rows = text.replace(/\n$/, "").split("\n").map((line) => {
		const rest = line.slice(1);
		switch (line[0]) {
			case "@": {
				const m = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
				numbered = m !== null;
				if (m) [from, to] = [Number(m[1]), Number(m[2])];
				return h("tr", { class: "h2" }, h("td", { colspan: 4 }, ...reveal(line)));
			}
			case "-":
				return row("d", from++, undefined, h("span", { "aria-label": "removed" }, "−"), rest);
			case "+":
				return row("a", undefined, to++, h("span", { "aria-label": "added" }, "+"), rest);
			case " ":
				return row("", from++, to++, "", rest);
		}
		return h("tr", { class: "h2" }, h("td", { colspan: 4 }, ...reveal(line)));
	});
	function row(kind: string, before: number | undefined, after: number | undefined, sign: string | HTMLElement, line: string): HTMLElement {
		const number = (n: number | undefined) => h("td", {}, n !== undefined && numbered ? String(n) : "");
		return h("tr", { class: kind }, number(before), number(after), h("td", {}, sign), h("td", {}, ...reveal(line)));
	}
	return h("div", { class: "diff" }, h("table", {}, h("tbody", {}, ...rows)));
}
