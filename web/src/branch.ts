// Branches: a prompt that was edited goes on in a fork. Each session of a family has a member of its metadata that lists the family.
import type { Block, Client, Methods } from "../../clients/typescript/src/index.js";
import type { Choice } from "./choice.js";
import { button, h, iconButton } from "./dom.js";

type Info = Methods["session/state"]["result"]["session"];

/** The place of a prompt among its branches. */
export interface Branches {
	at: number; // from 0
	of: number;
	go(by: number): void;
}

/** The member of the metadata that lists the branches behind a message; empty: at the beginning. */
const member = (after: string) => `${prefix}${after || "start"}`;
const prefix = "branches ";

/** Whether a session is in any family. */
export function branched(session: Pick<Info, "metadata">): boolean {
	return Object.keys(session.metadata).some((name) => name.startsWith(prefix));
}

function listed(metadata: Info["metadata"] | undefined, after: string): string[] {
	const list = metadata?.[member(after)];
	return Array.isArray(list) ? list.filter((id): id is string => typeof id === "string") : [];
}

/** The branches behind a message in which a session is; undefined: it is in none. */
export function branchesOf(client: Client, session: Pick<Info, "session_id" | "metadata">, after: string, open: (id: string) => void): Branches | undefined {
	const list = listed(session.metadata, after);
	const at = list.indexOf(session.session_id);
	if (at < 0 || list.length < 2) return undefined;
	const go = async (by: number) => {
		for (let i = at + by; i >= 0 && i < list.length; i += by) {
			const id = list[i] ?? "";
			const there = await client.call("session/state", { session_id: id }).then(() => true, () => false); // it may be deleted
			if (there) return open(id);
		}
	};
	return { at, of: list.length, go: (by) => void go(by) };
}

/** Lists sessions as branches behind a message, next to those that are listed in one of them already. */
export async function join(client: Client, session: Pick<Info, "metadata"> | undefined, after: string, ids: string[]): Promise<void> {
	const list = [...new Set([...listed(session?.metadata, after), ...ids])];
	const made = ids.at(-1);
	await Promise.all(list.map((id) => client.call("session/update", { session_id: id, metadata: { [member(after)]: list } }).catch((e: Error) => {
		if (id === made) throw e; // others may be deleted
	})));
}

/** Sends another prompt in place of one, or the same to another model, in a fork. Returns the fork. */
export async function branch(client: Client, session: Pick<Info, "session_id" | "metadata">, prompt: string, after: string, content: Block[], choice?: Choice): Promise<string> {
	const { session_id } = session;
	const { session_id: made } = await client.call("session/fork", { session_id, before_message_id: prompt });
	if (!after) await client.call("session/update", { session_id: made, title: "" }); // the new prompt sets it
	if (choice) await client.call("model/set", { session_id: made, model_id: choice.model_id, ...(choice.level && { thinking_level: choice.level }) });
	await join(client, session, after, [session_id, made]);
	await client.call("session/prompt", { session_id: made, content });
	return made;
}

/** The line below a prompt: "2 / 3", with the branches beside it. */
export function branchLine({ at, of, go }: Branches): HTMLElement {
	const back = iconButton("back", "Previous branch", () => go(-1));
	const next = iconButton("go", "Next branch", () => go(1));
	back.disabled = at === 0;
	next.disabled = at === of - 1;
	return h("nav", { class: "branches", "aria-label": "Branches of this prompt" }, back, h("span", {}, `${at + 1} / ${of}`), next);
}

/** A form in place of a prompt's text. */
export function editForm(text: string, send: (text: string) => Promise<void>, cancel: () => void): HTMLElement {
	const field = h("textarea", { rows: Math.min(12, text.split("\n").length + 1), dir: "auto", "aria-label": "Edited prompt" });
	field.value = text;
	const why = h("p", { class: "warnline", role: "alert", hidden: true });
	const submit = async () => {
		if (!field.value.trim()) return;
		why.hidden = true;
		await send(field.value.trim()).catch((e: Error) => {
			why.textContent = e.message;
			why.hidden = false;
		});
	};
	field.addEventListener("keydown", (event) => {
		if (event.isComposing) return;
		if (event.key === "Escape") cancel();
		else if (event.key === "Enter" && !event.shiftKey) {
			event.preventDefault();
			void submit();
		}
	});
	return h("div", { class: "edit" }, field, why, h("div", { class: "acts" }, h("small", {}, "Goes on in a new branch. This one stays."), button("Cancel", "quiet", cancel), button("Send", "", () => void submit())));
}
