import { h } from "./dom.js";
import { popover } from "./popover.js";

const list: [keys: string, what: string][] = [
	["Enter", "Send. While a turn runs: add to the queue"],
	["Shift Enter", "New line"],
	["Ctrl Enter", "Steer the running turn"],
	["Alt Enter", "Side question"],
	["Up, Down", "In an empty field: earlier prompts"],
	["Escape", "Close what is open, or stop the turn"],
	["Ctrl K", "Find a session"],
	["Ctrl Shift F", "Search all text"],
	["Ctrl /", "Model and level"],
	["j, k", "In the conversation: next and previous turn"],
	["t", "In the conversation: fold or unfold all thoughts"],
	["r", "In the conversation: raw updates"],
	["f", "In the conversation: find in it"],
	["x, F2", "In the search: select, rename"],
	["?", "This list"],
];

/** Lists the shortcuts. */
export function showShortcuts(from: HTMLElement): void {
	popover(from, "Shortcuts", h("dl", { class: "pairs keysof" }, ...list.flatMap(([keys, what]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, what)])));
}
