import type { Client, Methods } from "../../clients/typescript/src/index.js";
import { button, byId, h, say } from "./dom.js";
import { closePopover, popover } from "./popover.js";
import { keep, kept } from "./store.js";
import { count } from "./words.js";

type NewSession = Methods["session/new"]["params"];
type Info = Methods["session/state"]["result"]["session"];
type Mode = NonNullable<Info["tool_mode"]>;
type Storage = NonNullable<Info["thinking_storage"]>;

/** What a new session begins with, besides model and level. */
interface Setup {
	cwd: string;
	builtin: boolean;
	mode: Mode;
	agent: string;
	servers: string; // one on each line: a name, and an address or a command
	storage: Storage; // what is kept of thinking
	ephemeral: boolean;
}

const none: Setup = { cwd: "", builtin: false, mode: "ask", agent: "", servers: "", storage: "full", ephemeral: false };

const modes: { mode: Mode; what: string }[] = [
	{ mode: "ask", what: "Edits and commands ask you first." },
	{ mode: "edit", what: "Edits in the folder run. Commands ask you first." },
	{ mode: "read", what: "Only reads run. All other calls are denied." },
];

const storages: { storage: Storage; what: string }[] = [
	{ storage: "full", what: "all of it" },
	{ storage: "opaque", what: "only what the vendor wants back, without its text" },
	{ storage: "none", what: "nothing" },
];

/** What the setup needs from the page. */
export interface Shown {
	/** The visible session; undefined: a new one is being prepared. */
	session(): Info | undefined;
	folders(): string[];
	/** What a new session can keep of its model's thinking. */
	storages(): readonly Storage[];
}

/** SetupControl chooses folder, tools, agent and MCP servers of a new session, and shows those of the visible one. */
export class SetupControl {
	private readonly el = byId("setup");
	private readonly label = byId("setup-now");
	private draft: Setup = { ...none, ...(JSON.parse(kept("setup") ?? "{}") as Partial<Setup>) };

	constructor(private readonly client: Client, private readonly shown: Shown) {
		this.el.addEventListener("click", () => void this.open());
	}

	/** The params of session/new. */
	params(): NewSession {
		const { cwd, builtin, agent, storage, ephemeral } = this.draft;
		const may = this.client.daemon?.capabilities;
		const servers = may?.mcp_servers ? readServers(this.draft.servers) : [];
		return {
			...(cwd && { cwd }),
			...(cwd && may?.builtin_tools && { tools: builtin ? ("builtin" as const) : [] }),
			...(agent && { agent }),
			...(storage !== "full" && { thinking_storage: storage }),
			...(ephemeral && { ephemeral }),
			...(servers.length > 0 && { mcp_servers: servers }),
		};
	}

	/** The tool mode of a new session; undefined: the usual one. */
	mode(): Mode | undefined {
		return this.draft.mode === "ask" ? undefined : this.draft.mode;
	}

	/** Shows what is in effect. */
	show(): void {
		const s = this.shown.session();
		const words = s ? inEffect(s) : planned(this.draft, this.client.daemon?.capabilities.builtin_tools === true);
		this.label.textContent = words.join(" · ") || "No folder";
		this.el.title = words.join(", ") || "No folder, no tools";
	}

	private async open(): Promise<void> {
		const s = this.shown.session();
		if (s) popover(this.el, "Folder and tools", this.details(s), "small");
		else popover(this.el, "Folder and tools of the new session", await this.form(), "small");
	}

	/** What the visible session has. Only the tool mode can change. */
	private details(s: Info): HTMLElement {
		const tools = s.tools ?? [];
		const by = new Map<string, string[]>();
		for (const t of tools) {
			const host = t.host === "mcp" ? `MCP server ${t.source ?? ""}` : t.host === "builtin" ? "Built-in tools" : "Tools of clients";
			by.set(host, [...(by.get(host) ?? []), t.name]);
		}
		const rows = [...by].flatMap(([host, names]) => [h("dt", {}, host), h("dd", {}, names.join(", "))]);
		const files = (s.project_instructions ?? []).map((f) => h("div", {}, f.path, " ", h("small", {}, `${count(f.bytes)} bytes${f.cut ? ", the rest is cut off" : ""}`)));
		const storage = storages.find((k) => k.storage === (s.thinking_storage ?? "full"));
		const box = h("div", {}, h("dl", { class: "pairs" },
			h("dt", {}, "Folder"), h("dd", {}, s.cwd || "none"),
			...(s.agent ? [h("dt", {}, "Agent"), h("dd", {}, s.agent)] : []),
			...(rows.length > 0 ? rows : [h("dt", {}, "Tools"), h("dd", {}, "none")]),
			...(tools.some((t) => t.host === "builtin") ? [h("dt", {}, "Instructions"), h("dd", {}, ...(files.length > 0 ? files : ["none of the project"]))] : []),
			h("dt", {}, "Kept of thinking"), h("dd", {}, storage?.what ?? s.thinking_storage ?? ""),
			...(s.ephemeral ? [h("dt", {}, "Kept of the session"), h("dd", {}, "nothing: it is in memory only, and ends with the daemon")] : [])));
		if (tools.length > 0) {
			box.append(this.modes(s.tool_mode ?? "ask", async (mode) => {
				await this.client.call("session/update", { session_id: s.session_id, tool_mode: mode });
				say(`Tool mode ${mode}`);
			}));
		}
		box.append(h("p", { class: "fine" }, "Apart from the tool mode, all of this is fixed when a session is created."));
		return box;
	}

	private async form(): Promise<HTMLElement> {
		const { agents } = await this.client.call("agents/list", {});
		const may = this.client.daemon?.capabilities;
		const set = (change: Partial<Setup>) => {
			this.draft = { ...this.draft, ...change };
			keep("setup", JSON.stringify(this.draft));
			builtin.disabled = !this.draft.cwd || !may?.builtin_tools;
			this.show();
		};
		const recent = h("datalist", { id: "folders" }, ...this.shown.folders().map((f) => h("option", { value: f })));
		const cwd = h("input", { type: "text", list: "folders", placeholder: "/home/me/project", autocomplete: "off", spellcheck: "false", oninput: () => set({ cwd: cwd.value.trim() }) });
		cwd.value = this.draft.cwd;
		const builtin = h("input", { type: "checkbox", checked: this.draft.builtin, onchange: () => set({ builtin: builtin.checked }) });
		const agent = h("select", { onchange: () => set({ agent: agent.value }) }, h("option", { value: "" }, "none"), ...agents.map((a) => h("option", { value: a.agent, selected: a.agent === this.draft.agent }, a.agent)));
		const servers = h("textarea", { rows: 2, spellcheck: "false", placeholder: "files mcp-server-filesystem /home/me\nweb https://tools.example.com/mcp", oninput: () => set({ servers: servers.value }) });
		servers.value = this.draft.servers;
		const allowed = this.shown.storages();
		const storage = h("select", { onchange: () => set({ storage: storage.value as Storage }) }, ...storages.map((k) => h("option", { value: k.storage, selected: k.storage === this.draft.storage, disabled: !allowed.includes(k.storage) }, `${k.storage}: ${k.what}${allowed.includes(k.storage) ? "" : " (not with this model)"}`)));
		const ephemeral = h("input", { type: "checkbox", checked: this.draft.ephemeral, onchange: () => set({ ephemeral: ephemeral.checked }) });
		const form = h("form", { class: "setup", onsubmit: (e) => {
			e.preventDefault();
			closePopover();
		} },
			h("label", {}, h("span", {}, "Folder"), cwd), recent,
			h("label", { class: "check" }, builtin, h("span", {}, "Tools for files and commands in this folder")),
			...(may?.builtin_tools ? [] : [h("p", { class: "fine" }, "The daemon's config does not allow these tools for pages. To allow them, set builtin = true under [tools], then run thinkd stop and start it again.")]),
			this.modes(this.draft.mode, (mode) => set({ mode })),
			...(agents.length > 0 ? [h("label", {}, h("span", {}, "Agent"), agent)] : []),
			...(may?.mcp_servers ? [h("label", {}, h("span", {}, "MCP servers, one on each line"), servers)] : [h("p", { class: "fine" }, "MCP servers come from the daemon's config. Pages may not add others, unless it has mcp_from_clients = true under [serve].")]),
			h("label", {}, h("span", {}, "Keep of the thinking"), storage),
			h("label", { class: "check" }, ephemeral, h("span", {}, "In memory only: the session ends with the daemon")),
			h("div", { class: "acts" }, h("button", { class: "btn main", type: "submit" }, "Done"), button("No folder, no tools", "quiet", () => {
				set({ ...none });
				closePopover();
			})));
		builtin.disabled = !this.draft.cwd || !may?.builtin_tools;
		return form;
	}

	private modes(now: Mode, chosen: (mode: Mode) => unknown): HTMLElement {
		return h("fieldset", { class: "modes" }, h("legend", {}, "Tool mode"), ...modes.map(({ mode, what }) =>
			h("label", { class: "grant" }, h("input", { type: "radio", name: "mode", value: mode, checked: mode === now, onchange: () => void chosen(mode) }), h("span", {}, h("b", {}, mode), h("small", {}, what)))));
	}
}

/** The end of a path, which tells folders apart. */
function short(path: string): string {
	const parts = path.split(/[\\/]/).filter(Boolean);
	return parts.at(-1) ?? path;
}

function inEffect(s: Info): string[] {
	const tools = s.tools?.length ?? 0;
	return [s.cwd && short(s.cwd), s.agent, tools > 0 && (tools === 1 ? "1 tool" : `${tools} tools`), tools > 0 && (s.tool_mode ?? "ask") !== "ask" && `mode ${s.tool_mode}`, (s.thinking_storage ?? "full") !== "full" && `thinking: ${s.thinking_storage}`, s.ephemeral && "in memory"].filter((w): w is string => Boolean(w));
}

function planned(d: Setup, may: boolean): string[] {
	const tools = d.cwd !== "" && d.builtin && may;
	return [d.cwd && short(d.cwd), d.agent, tools && "tools", tools && d.mode !== "ask" && `mode ${d.mode}`, d.storage !== "full" && `thinking: ${d.storage}`, d.ephemeral && "in memory"].filter((w): w is string => Boolean(w));
}

/** Servers as people write them: a name, then an address or a command. */
function readServers(text: string): NonNullable<NewSession["mcp_servers"]> {
	return text.split("\n").map((line) => line.trim().split(/\s+/)).filter((words) => words.length > 1).map(([name = "", ...rest]) =>
		/^https?:\/\//.test(rest[0] ?? "") ? { name, url: rest[0] ?? "" } : { name, command: rest });
}
