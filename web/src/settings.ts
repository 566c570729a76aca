import type { Client, Methods } from "../../clients/typescript/src/index.js";
import { button, h, say } from "./dom.js";
import { keyField } from "./failure.js";
import type { Model } from "./levels.js";
import { mayNotify, notifies, setNotifies } from "./notify.js";
import { askAbove } from "./quote.js";
import { keep } from "./store.js";
import { setTheme, theme, type Theme } from "./theme.js";
import { logOut } from "./token.js";
import { count } from "./words.js";

type Provider = Methods["providers/list"]["result"]["providers"][number];
type Key = Methods["auth/status"]["result"]["providers"][number];
type Agent = Methods["agents/list"]["result"]["agents"][number];

/** What the settings need from the page. */
export interface Around {
	models(): Model[];
	defaultModel(): string;
	/** The keys changed. */
	changed(): void;
	shortcuts(from: HTMLElement): void;
}

const efforts = ["auto", "off", "on", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** Settings is the view of what is in effect for all sessions, and of this page. */
export class Settings {
	readonly title = "Settings";

	constructor(private readonly client: Client, private readonly around: Around) {}

	show(into: HTMLElement): void {
		const sections: [name: string, fill: (to: HTMLElement) => unknown][] = [
			["Model and level", (to) => this.models(to)],
			["Providers and keys", (to) => this.keys(to)],
			["Agents", (to) => this.agents(to)],
			["This page", (to) => this.page(to)],
		];
		const links = h("nav", { "aria-label": "Sections" });
		const body = h("div", {});
		for (const [name, fill] of sections) {
			const section = h("section", { "aria-label": name }, h("h2", {}, name));
			const link = button(name, "quiet", () => {
				section.scrollIntoView({ block: "start" });
				section.querySelector<HTMLElement>("button, select, input")?.focus({ preventScroll: true });
			});
			links.append(link);
			body.append(section);
			const rows = h("div", {});
			section.append(rows);
			void Promise.resolve(fill(rows)).catch((error: Error) => rows.append(h("p", { class: "warnline", role: "alert" }, error.message)));
		}
		into.append(h("div", { class: "set" }, links, body));
	}

	private async models(to: HTMLElement): Promise<void> {
		const { providers } = await this.client.call("providers/list", {});
		to.append(h("p", {}, "For new sessions. A level that a model lacks becomes the nearest lower one."));
		to.append(row("Default model", this.around.defaultModel(), [], "config, or the first provider with a key"));
		for (const p of providers.filter((p) => p.available && p.provider !== "sim")) to.append(this.level(p));
	}

	private level(p: Provider): HTMLElement {
		const now = p.reasoning_defaults?.effort ?? "";
		const choice = select(`Level at ${p.provider}`, [["", "as configured"], ...efforts.map((e): [string, string] => [e, e])], now, async (effort) => {
			await this.client.call("providers/set", { provider: p.provider, ...(effort && { reasoning_defaults: { effort: effort as typeof efforts[number] } }) });
			say(`Level at ${p.provider}: ${effort || "as configured"}, from the next turn`);
		});
		return row(`Level at ${p.provider}`, "Applies from the next turn, to sessions without a level of their own", [choice], now ? "set" : "default");
	}

	private async keys(to: HTMLElement): Promise<void> {
		const { providers } = await this.client.call("auth/status", {});
		const rows = providers.filter((p) => p.state !== "not_needed").sort((a, b) => Number(a.state === "missing") - Number(b.state === "missing")).map((p) => this.key(p, to));
		to.replaceChildren(h("p", {}, "The daemon stores keys in a file that only its user can read. Of a key, only the last four characters are shown."), ...rows);
	}

	private key(p: Key, all: HTMLElement): HTMLElement {
		const slot = h("div", { class: "slot" });
		const set = async (provider: string, key: string) => {
			await this.client.call("auth/set_key", { provider, key });
			this.around.changed();
		};
		const add = button(p.state === "ready" ? "Replace" : "Add a key", "", () => {
			const field = keyField(p.provider, { setKey: set }, () => void this.keys(all));
			slot.replaceChildren(field);
			field.querySelector("input")?.focus();
		});
		const remove = p.source === "keys" ? [button("Remove", "quiet bad", () => {
			slot.replaceChildren(h("div", { class: "acts" }, h("span", {}, `Remove the key of ${p.provider}?`), button("Remove", "", () => void set(p.provider, "").then(() => this.keys(all))), button("Cancel", "main", () => slot.replaceChildren())));
			slot.querySelector<HTMLElement>(".main")?.focus();
		})] : [];
		const texts = { ready: p.ends_in ? `key …${p.ends_in}` : "ready", missing: "no key", refused: "The login was refused. Log in again: thinkd auth login.", not_needed: "" };
		const sources = { environment: "environment", keys: "key file", login: "login" } as Record<string, string>;
		const r = row(p.provider, texts[p.state], [...remove, add], p.source ? (sources[p.source] ?? p.source) : "");
		if (p.state === "refused") r.querySelector("small")?.classList.add("failed");
		r.append(slot);
		return r;
	}

	private async agents(to: HTMLElement): Promise<void> {
		const { agents } = await this.client.call("agents/list", {});
		const slot = h("div", {});
		to.replaceChildren(h("p", {}, "A named set of model, level and instructions for new sessions. The config file can define agents too."),
			...agents.map((a) => this.agent(a, to)),
			h("div", { class: "acts" }, button("Add an agent", "", () => {
				slot.replaceChildren(this.agentForm(undefined, to));
				slot.querySelector("input")?.focus();
			})), slot);
	}

	private agent(a: Agent, all: HTMLElement): HTMLElement {
		const slot = h("div", { class: "slot" });
		const facts = [a.model_id, a.reasoning?.effort, a.system_prompt && `${count(a.system_prompt.length)} characters of instructions`].filter(Boolean).join(" · ");
		const open = button("Open", "", () => {
			const shown = slot.hasChildNodes();
			slot.replaceChildren(...(shown ? [] : [this.agentForm(a, all)]));
			open.setAttribute("aria-expanded", String(!shown));
		});
		open.setAttribute("aria-expanded", "false");
		open.setAttribute("aria-label", `Open ${a.agent}`);
		const r = row(a.agent, facts, [open], "");
		r.append(slot);
		return r;
	}

	private agentForm(a: Agent | undefined, all: HTMLElement): HTMLElement {
		const name = h("input", { type: "text", maxlength: 64, required: true });
		name.value = a?.agent ?? "";
		name.disabled = a !== undefined;
		const model = h("select", {}, h("option", { value: "" }, "the default model"), ...this.around.models().map((m) => `${m.provider}/${m.id}`).map((id) => h("option", { value: id, selected: id === a?.model_id }, id)));
		const level = h("select", {}, h("option", { value: "" }, "not set"), ...efforts.map((e) => h("option", { value: e, selected: e === a?.reasoning?.effort }, e)));
		const prompt = h("textarea", { rows: 6, dir: "auto" });
		prompt.value = a?.system_prompt ?? "";
		const why = h("p", { class: "warnline", role: "alert", hidden: true });
		const done = (call: Promise<unknown>) => void call.then(() => this.agents(all), (error: Error) => {
			why.textContent = error.message;
			why.hidden = false;
		});
		return h("form", { class: "setup", onsubmit: (e) => {
			e.preventDefault();
			done(this.client.call("agents/set", { agent: name.value.trim(), model_id: model.value, system_prompt: prompt.value,
				reasoning: level.value ? { override_mode: "custom", effort: level.value as typeof efforts[number] } : { override_mode: "inherit" } }));
		} },
			h("label", {}, h("span", {}, "Name"), name), h("label", {}, h("span", {}, "Model"), model), h("label", {}, h("span", {}, "Level"), level),
			h("label", {}, h("span", {}, "Instructions"), prompt), why,
			h("div", { class: "acts" }, h("button", { class: "btn main", type: "submit" }, "Save"),
				...(a ? [button("Remove what clients have set", "quiet bad", () => done(this.client.call("agents/set", { agent: a.agent, remove: true })))] : [])));
	}

	private page(to: HTMLElement): void {
		to.append(h("p", {}, "For this browser only."));
		to.append(row("Theme", "", [select("Theme", [["system", "as the system"], ["light", "light"], ["dark", "dark"]], theme(), (t) => setTheme(t as Theme))], ""));
		const bell = h("input", { type: "checkbox", "aria-label": "Notifications", checked: notifies(), disabled: !mayNotify(), onchange: () => void setNotifies(bell.checked).then((on) => (bell.checked = on)) });
		to.append(row("Notifications", mayNotify() ? "When a turn ends, or a question waits, while this page is not visible" : "The browser does not allow them for this page", [bell], ""));
		const above = h("input", { type: "number", class: "inp num", min: 0, step: "0.1", "aria-label": "Announce expensive prompts from, in USD" });
		above.value = String(askAbove());
		above.addEventListener("change", () => keep("ask_above", above.value || undefined));
		to.append(row("Announce expensive prompts", "From this cost in USD, before they are sent", [above], ""));
		const keys = button("Show", "", () => this.around.shortcuts(keys));
		keys.setAttribute("aria-haspopup", "dialog");
		to.append(row("Shortcuts", "Also with ?", [keys], ""));
		to.append(row("Log out", "Ends the access of this browser, in all of its tabs. Turns continue in the daemon.", [button("Log out", "", () => void logOut())], ""));
	}
}

/** A setting: its name and a sentence, the control, and where the value comes from. */
function row(name: string, text: string, controls: HTMLElement[], source: string): HTMLElement {
	return h("div", { class: "srow" }, h("div", {}, h("b", {}, name), text ? h("small", {}, text) : undefined), h("div", { class: "ctl" }, ...controls), source ? h("span", { class: "src-tag" }, source) : h("span", {}));
}

function select(label: string, options: [value: string, text: string][], now: string, chosen: (value: string) => unknown): HTMLElement {
	const e = h("select", { class: "sel", "aria-label": label }, ...options.map(([value, text]) => h("option", { value, selected: value === now }, text)));
	e.addEventListener("change", () => void Promise.resolve(chosen(e.value)).catch((error: Error) => say(error.message)));
	return e;
}
