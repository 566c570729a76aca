// Comparisons: one prompt, answered by two or three models or levels side by side. Each column is a session of its own, mostly a fork, so the
// address of a comparison is the list of its sessions: #/compare?c=ID,ID. Without that list, the view prepares one.
import type { Block, Client, Message, Methods, Session } from "../../clients/typescript/src/index.js";
import { join } from "./branch.js";
import type { Choice } from "./choice.js";
import { Column, type Around } from "./column.js";
import { attach } from "./conversation.js";
import { button, h, iconButton, say } from "./dom.js";
import type { Model } from "./levels.js";
import { save } from "./markdown.js";
import { menu } from "./popover.js";
import { keep, kept } from "./store.js";
import { clock, money } from "./words.js";

type Info = Methods["session/state"]["result"]["session"];

const fewest = 2; // columns
const most = 3;

/** What the columns begin with. */
export interface Source {
	/** The session that is forked; undefined: each column is a new session. */
	session?: Info;
	/** The prompt that is asked again: it is not part of the columns. */
	prompt?: string;
	/** The last message that the columns begin with; empty: they have none. */
	after: string;
	/** Of the prompt, besides its text. */
	files: Block[];
}

/** What the comparison needs from the page. */
export interface Comparer extends Pick<Around, "acts" | "model"> {
	now(): Choice;
	/** Other models than the current one that are worth a comparison, the best first. */
	others(): Model[];
	pick(from: HTMLElement, now: Choice, take: (choice: Choice) => void): void;
	/** The params of a new session. */
	params(): Methods["session/new"]["params"];
	/** The tool mode of a new session; undefined: the usual one. */
	mode(): Info["tool_mode"];
	/** The number of columns: a text goes to all of them. */
	columns(n: number): void;
	go(address: string): void;
}

/** Compare is the view of a comparison. */
export class Compare {
	readonly title = "Compare";
	private readonly source_: Source = { after: "", files: [] };
	private source = this.source_;
	private choices: Choice[] = [];
	private columns: Column[] = [];
	private following: Promise<Column>[] = []; // the same, from the start of attach: hide() also leaves sessions that still open
	private into = h("div", {});
	private shown = 0; // a comparison that opens slowly does not replace a later one
	private at = 0; // column that a phone shows
	private readonly lead = h("p", { class: "lead" });
	private readonly tabs = h("div", { class: "tabs seg", role: "group", "aria-label": "Column" });
	private leaving: Promise<unknown> = Promise.resolve();

	constructor(private readonly client: Client, private readonly comparer: Comparer) {}

	/** Prepares a comparison. */
	prepare(source: Source): void {
		this.source = source;
		this.choices = [];
	}

	show(into: HTMLElement, query: URLSearchParams): void {
		const mine = ++this.shown;
		this.into = h("div", { class: "compare" });
		into.append(this.into);
		const ids = (query.get("c") ?? "").split(",").filter((id) => /^[0-9A-Z]{26}$/.test(id)).slice(0, most);
		if (ids.length === 0) {
			this.drawChoices();
			return;
		}
		this.comparer.columns(ids.length);
		const before = this.leaving;
		this.following = ids.map(async (id) => {
			await before;
			return this.follow(await attach(this.client, id));
		});
		Promise.all(this.following).then((columns) => mine === this.shown && this.draw(columns), (error: Error) => mine === this.shown && this.fail(error));
	}

	hide(): void {
		this.shown++;
		this.leaving = Promise.all(this.following.map((following) => following.then((c) => c.leave(), () => {}))); // one that failed follows nothing
		this.following = [];
		this.columns = [];
	}

	/** Resolves when no column follows its session any more. */
	async left(): Promise<void> {
		await this.leaving;
	}

	/** Sends a prompt to all columns. The first one creates them. */
	async send(content: Block[]): Promise<void> {
		if (this.columns.length > 0) {
			await Promise.all(this.columns.map((c) => this.client.call("session/prompt", { session_id: c.id, content })));
			return;
		}
		const text = content.flatMap((b) => (b.type === "text" ? [b.text] : [])).join("\n");
		const all = [...this.source.files, ...content];
		const title = this.source.session?.title || (text.trim().split("\n")[0] ?? "").slice(0, 80);
		keep("comparison", JSON.stringify(this.choices));
		const ids: string[] = [];
		const { session, prompt, after } = this.source;
		try {
			for (const choice of this.choices) ids.push(await this.column(choice, title));
			await join(this.client, session, after, [...(prompt && session ? [session.session_id] : []), ...ids]);
		} catch (error) {
			await Promise.all(ids.map((session_id) => this.client.call("session/delete", { session_id }).catch(() => {}))); // nothing was asked yet
			throw error;
		}
		await Promise.all(ids.map((session_id) => this.client.call("session/prompt", { session_id, content: all })));
		this.source = this.source_;
		this.comparer.go(`/compare?c=${ids.join(",")}`);
	}

	/** Folds the thoughts of all columns, or unfolds them. */
	foldAll(): void {
		const open = !this.columns.some((c) => c.thoughtOpen);
		for (const c of this.columns) c.fold(open);
	}

	/** Creates the session of a column. Its title names the model, so that the columns differ in lists. */
	private async column(choice: Choice, title: string): Promise<string> {
		const { session, prompt } = this.source;
		const name = `${this.text(choice)}: ${title}`;
		const model = { model_id: choice.model_id, ...(choice.level && { thinking_level: choice.level }) };
		if (!session) {
			const mode = this.comparer.mode();
			const { session_id } = await this.client.call("session/new", { ...this.comparer.params(), ...model, title: name });
			await this.client.call("session/update", { session_id, metadata: { [before]: title }, ...(mode && { tool_mode: mode }) });
			await this.client.call("session/detach", { session_id });
			return session_id;
		}
		const { session_id } = await this.client.call("session/fork", { session_id: session.session_id, ...(prompt && { before_message_id: prompt }) });
		await this.client.call("model/set", { session_id, ...model });
		await this.client.call("session/update", { session_id, title: name, metadata: { [before]: title } });
		return session_id;
	}

	private text({ model_id, level }: Choice): string {
		return [this.comparer.model(model_id)?.name ?? model_id, level].filter(Boolean).join(", ");
	}

	// Before the prompt is sent

	/** What the columns are at first: those of the last comparison, with the current model first. */
	private proposed(): Choice[] {
		const last = (JSON.parse(kept("comparison") ?? "[]") as Choice[]).filter((c) => this.comparer.model(c.model_id)?.available);
		const list = [this.comparer.now(), ...last, ...this.comparer.others().map((m): Choice => ({ model_id: `${m.provider}/${m.id}`, level: m.supports_thinking ? m.default_thinking_level : undefined }))];
		const differ = list.filter((c, i) => list.findIndex((d) => d.model_id === c.model_id && d.level === c.level) === i);
		return differ.slice(0, Math.min(most, Math.max(fewest, last.length)));
	}

	private drawChoices(): void {
		if (this.choices.length === 0) this.choices = this.proposed();
		const n = this.choices.length;
		this.comparer.columns(n);
		const cards = this.choices.map((c, i) => {
			const m = this.comparer.model(c.model_id);
			const change = button(this.text(c), "", () => this.comparer.pick(change, c, (choice) => {
				this.choices[i] = choice;
				this.drawChoices();
				this.into.querySelectorAll<HTMLElement>(".choice")[i]?.focus();
			}));
			change.className = "btn choice";
			change.setAttribute("aria-haspopup", "dialog");
			change.setAttribute("aria-expanded", "false");
			return h("article", { "aria-label": `Column ${i + 1}` }, h("div", { class: "chosen" }, change, ...(n > fewest ? [iconButton("x", `Remove column ${i + 1}`, () => {
				this.choices.splice(i, 1);
				this.drawChoices();
			})] : [])), h("p", { class: "fine" }, m?.provider ?? ""));
		});
		const files = this.source.files.length;
		this.lead.textContent = `${this.source.prompt ? "The prompt is asked again" : this.source.session ? `The columns begin with “${this.source.session.title || "Untitled"}”` : "Each column is a new session"}${files ? `, with ${files === 1 ? "its file" : `its ${files} files`}` : ""}. Each column becomes a session of its own: nothing is added to another one.`;
		this.into.replaceChildren(h("div", { class: "wide-col" }, h("div", { class: "tools" }, this.lead, h("span", { class: "sp" }), ...(n < most ? [this.adder((choice) => {
			this.choices.push(choice);
			this.drawChoices();
		})] : []))), h("div", { class: "trio", "data-n": n }, ...cards));
	}

	private adder(add: (choice: Choice) => void): HTMLElement {
		const b = button("Add a column", "quiet", () => this.comparer.pick(b, this.comparer.now(), add));
		b.setAttribute("aria-haspopup", "dialog");
		b.setAttribute("aria-expanded", "false");
		return b;
	}

	// The answers

	private follow(session: Session): Column {
		return new Column(this.client, session, {
			...this.comparer,
			acts: (session) => this.comparer.acts(session),
			model: (id) => this.comparer.model(id),
			chosen: (c) => void this.goOn(c).catch((e: Error) => this.fail(e)),
			changed: () => this.figures(),
		});
	}

	private draw(columns: Column[]): void {
		this.columns = columns;
		const prompt = this.columns[0]?.prompt();
		const said = h("div", { class: "said" }, h("span", { class: "vh" }, "You: "));
		for (const b of prompt?.content ?? []) said.append(b.type === "text" ? h("p", { dir: "auto" }, b.text) : h("p", { class: "fine" }, "A file"));
		const exporter = button("Export", "quiet", () => menu(exporter, "Export the comparison", [
			{ label: "Markdown", what: "Prompt, thinking, answers and costs", act: () => void this.export("markdown").catch((e: Error) => this.fail(e)) },
			{ label: "JSON", what: "The sessions and their messages, as the daemon has them", act: () => void this.export("json").catch((e: Error) => this.fail(e)) },
		]));
		exporter.setAttribute("aria-haspopup", "dialog");
		exporter.setAttribute("aria-expanded", "false");
		const add = this.columns.length < most && prompt ? [this.adder((choice) => void this.another(choice, prompt).catch((e: Error) => this.fail(e)))] : [];
		this.into.replaceChildren(h("div", { class: "wide-col" }, said, h("div", { class: "tools" }, this.lead, h("span", { class: "sp" }), ...add, exporter)),
			this.tabs, h("div", { class: "trio", "data-n": this.columns.length }, ...this.columns.map((c) => c.el)));
		this.figures();
	}

	/** Draws what is known of all columns together. */
	private figures(): void {
		const list = this.columns;
		if (list.length === 0) return;
		const known = list.flatMap((c) => c.cost ?? []);
		const sum = known.length === 0 ? "Its cost is known at the end" : `Together ${money({ amount: known.reduce((n, c) => n + c.amount, 0), currency: known[0]?.currency ?? "USD" })}${known.length < list.length ? " where the cost is known" : ""}${list.some((c) => c.busy) ? " so far" : ""}`;
		const at = list[0]?.prompt()?.at;
		this.lead.textContent = `${list.length} columns${at ? `, asked at ${clock(at)}` : ""}. ${sum}. Each column is a session of its own: nothing is added to another one.`;
		const focused = [...this.tabs.children].indexOf(document.activeElement as Element);
		this.tabs.replaceChildren(...list.map((c, i) => {
			const tab = h("button", { class: "btn", type: "button", "aria-pressed": String(i === this.at), onclick: () => {
				this.at = i;
				this.figures();
			} }, h("b", {}, c.modelName), h("small", {}, `${c.level} · ${c.state}`));
			c.el.classList.toggle("at", i === this.at);
			return tab;
		}));
		if (focused >= 0) (this.tabs.children[focused] as HTMLElement).focus();
	}

	/** Asks another model the first prompt. */
	private async another(choice: Choice, prompt: { id: string; content: Block[] }): Promise<void> {
		const [first] = this.columns;
		if (!first) return;
		const { session } = await this.client.call("session/state", { session_id: first.id });
		const after = Object.keys(session.metadata).find((name) => name.startsWith("branches "))?.slice("branches ".length) ?? "start";
		this.source = { session, prompt: prompt.id, after: after === "start" ? "" : after, files: [] };
		const id = await this.column(choice, base(session));
		this.source = this.source_;
		await join(this.client, session, after === "start" ? "" : after, [id]);
		await this.client.call("session/prompt", { session_id: id, content: prompt.content.map(({ block: _, ...b }) => b) as Block[] });
		this.comparer.go(`/compare?c=${[...this.columns.map((c) => c.id), id].join(",")}`);
	}

	/** Goes on with the session of a column, which gets its title back. The other ones stay. */
	private async goOn(c: Column): Promise<void> {
		const title = base({ title: c.title, metadata: c.metadata });
		if (title !== c.title) await this.client.call("session/update", { session_id: c.id, title, metadata: { [before]: null } });
		say(`Goes on with ${c.name}`);
		this.comparer.go(`/${c.id}`);
	}

	/** Saves the comparison. */
	private async export(format: "markdown" | "json"): Promise<void> {
		const all = await Promise.all(this.columns.map(async (c) => {
			const { session } = await this.client.call("session/state", { session_id: c.id });
			const { messages } = await this.client.call("session/history", { session_id: c.id, limit: 1000 });
			return { session, messages: messages.filter((m) => (m.ts ?? 0) >= session.created) };
		}));
		if (format === "json") save(JSON.stringify(all, null, "\t"), "json", "comparison");
		else save([`# ${all[0] ? base(all[0].session) : "Comparison"}\n`, ...all.map((c, i) => markdown(this.columns[i]?.name ?? "", c.session, c.messages))].join("\n"), "md", "comparison");
		say("Exported");
	}

	private fail(error: Error): void {
		this.into.prepend(h("p", { class: "warnline", role: "alert" }, error.message));
	}
}

const before = "compared"; // the member of a column's metadata that has the title without the model

function base(s: Pick<Info, "title" | "metadata">): string {
	const title = s.metadata[before];
	return typeof title === "string" ? title : s.title;
}

/** A column as Markdown: each prompt, what the model thought and answered, and what that cost. */
function markdown(name: string, session: Info, messages: Message[]): string {
	const parts = [`## ${name}\n`];
	for (const m of messages) {
		for (const b of m.content) {
			if (b.type === "thinking" && b.text) parts.push(`${b.text.replace(/^/gm, "> ")}\n`);
			else if (b.type === "text") parts.push(m.role === "user" ? `**${b.text}**\n` : `${b.text}\n`);
			else if (b.type === "tool_call") parts.push(`*${b.name}*\n`);
			else if (b.type === "media") parts.push(`*${b.mime_type}*\n`);
		}
	}
	const { cost, reasoning_tokens, cached_tokens } = session.usage;
	parts.push(`Cost ${cost ? money(cost) : "unknown"}, thinking ${reasoning_tokens === null ? "unknown" : `${reasoning_tokens} tokens`}, ${cached_tokens} tokens from the cache.\n`);
	return parts.join("\n");
}
