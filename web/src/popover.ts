import { h } from "./dom.js";

// Only one popover is open. It takes the focus, and returns it when it closes. On a phone it is a sheet.

interface Open {
	el: HTMLElement;
	from: HTMLElement;
	closed: (() => void) | undefined;
}

let open: Open | undefined;

/** Shows content next to the control that opens it. A second click on the control closes it. */
export function popover(from: HTMLElement, title: string, content: Node, kind = ""): void {
	const same = open?.from === from;
	closePopover();
	if (same) return;
	const heading = h("h2", { id: "pop-title", dir: "auto" }, title);
	const el = h("div", { class: `pop ${kind}`, role: "dialog", "aria-labelledby": "pop-title", tabindex: -1 }, heading, content);
	const move = () => place(el, from);
	const sizes = new ResizeObserver(move); // its content may grow
	addEventListener("resize", move);
	show(el, from, () => {
		sizes.disconnect();
		removeEventListener("resize", move);
	});
	sizes.observe(el);
	place(el, from);
}

/** A row of a menu. */
export interface Row {
	label: string;
	key?: string; // that does the same
	what: string;
	act(): void;
}

/** Shows ways to go on, one in each row. */
export function menu(from: HTMLElement, title: string, rows: Row[]): void {
	const list = h("div", { class: "ways" }, ...rows.map(({ label, key, what, act }, i) => h("button", { class: "opt", type: "button", autofocus: i === 0, onclick: () => {
		closePopover();
		act();
	} }, h("b", {}, label), key ? h("kbd", { "aria-hidden": "true" }, key) : undefined, h("small", {}, what))));
	arrows(list);
	popover(from, title, list, "small");
}

/** Lets the arrow keys walk through the rows of a menu. */
export function arrows(list: HTMLElement): void {
	list.addEventListener("keydown", (event) => {
		const stops = [...list.querySelectorAll<HTMLElement>(".opt")];
		const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (!by) return;
		event.preventDefault();
		stops[Math.max(0, Math.min(stops.length - 1, stops.indexOf(document.activeElement as HTMLElement) + by))]?.focus();
	});
}

/** Shows an existing element as a popover. */
export function show(el: HTMLElement, from: HTMLElement, closed?: () => void): void {
	closePopover();
	if (!el.isConnected) document.body.append(el);
	el.hidden = false;
	from.setAttribute("aria-expanded", "true");
	open = { el, from, closed };
	(el.querySelector<HTMLElement>("input, [autofocus]") ?? el).focus();
}

function place(el: HTMLElement, from: HTMLElement): void {
	const a = from.getBoundingClientRect();
	const width = Math.min(el.offsetWidth, innerWidth - 24);
	el.style.setProperty("--x", `${Math.max(12, Math.min(a.left, innerWidth - width - 12))}px`);
	const below = a.bottom + 8 + el.offsetHeight < innerHeight;
	el.style.setProperty("--y", `${below ? a.bottom + 8 : Math.max(12, a.top - 8 - el.offsetHeight)}px`);
}

/** Closes the open popover. Returns false if none was open. */
export function closePopover(): boolean {
	if (!open) return false;
	const { el, from, closed } = open;
	open = undefined;
	const inside = el.contains(document.activeElement);
	from.setAttribute("aria-expanded", "false");
	if (el.dataset["keep"] === undefined) el.remove();
	else el.hidden = true;
	closed?.();
	if (inside && from.isConnected) from.focus();
	return true;
}

document.addEventListener("pointerdown", (event) => {
	const target = event.target as Node;
	if (open && !open.el.contains(target) && !open.from.contains(target)) closePopover();
});

// Tab does not leave the popover.
document.addEventListener("keydown", (event) => {
	if (event.key !== "Tab" || !open) return;
	const stops = [...open.el.querySelectorAll<HTMLElement>("button, input, select, summary, a[href], textarea, [tabindex='0']")].filter((e) => e.tabIndex >= 0 && e.offsetParent && !(e as HTMLButtonElement).disabled);
	const first = stops[0] ?? open.el;
	const last = stops.at(-1) ?? open.el;
	const at = document.activeElement;
	if (!open.el.contains(at) || (event.shiftKey ? at === first || at === open.el : at === last)) {
		event.preventDefault();
		(event.shiftKey ? last : first).focus();
	}
});
