// Creates elements. Text is always text here. Only markdown.ts turns a model's text into markup.

type Child = Node | string | null | undefined | false;
type Handlers = { [K in keyof HTMLElementEventMap as `on${K}`]?: (event: HTMLElementEventMap[K]) => void };
type Props = Handlers & { class?: string; hidden?: boolean; [attribute: string]: unknown };

/** An element with attributes, listeners (on…) and children. `undefined` and false attributes are omitted. */
export function h<T extends keyof HTMLElementTagNameMap>(tag: T, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[T] {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(props)) {
		if (value === undefined || value === false) continue;
		if (name.startsWith("on")) e.addEventListener(name.slice(2), value as EventListener);
		else e.setAttribute(name, value === true ? "" : String(value));
	}
	for (const child of children) if (child) e.append(child);
	return e;
}

const icons = new Map<string, SVGSVGElement>();

/**
 * An icon of the page's sprite. It has the shapes of the sprite's symbol, and does not refer to them: the browser would build a shadow tree
 * for each reference, and a long session has thousands of icons.
 */
export function icon(name: string): SVGSVGElement {
	let made = icons.get(name);
	if (!made) {
		const symbol = byId(`i-${name}`);
		made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
		made.setAttribute("aria-hidden", "true");
		made.setAttribute("class", `i-${name}`);
		made.setAttribute("viewBox", symbol.getAttribute("viewBox") ?? "");
		made.append(...[...symbol.children].map((shape) => shape.cloneNode(true)));
		icons.set(name, made);
	}
	return made.cloneNode(true) as SVGSVGElement;
}

/** A button with an icon and a label for screen readers. */
export function iconButton(name: string, label: string, onclick: (event: MouseEvent) => void): HTMLButtonElement {
	return h("button", { class: "icon", type: "button", "aria-label": label, title: label, onclick }, icon(name));
}

export function button(label: string, kind: string, onclick: (event: MouseEvent) => void): HTMLButtonElement {
	return h("button", { class: `btn ${kind}`, type: "button", onclick }, label);
}

/** Marks a control that guests of a session do not have. */
export function forOwner<T extends HTMLElement>(e: T): T {
	e.classList.add("owners");
	return e;
}

/** The element with an id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
	const e = document.getElementById(id);
	if (!e) throw new Error(`the page has no #${id}`);
	return e as T;
}

/** Announces a milestone to screen readers. Never deltas. */
export function say(text: string): void {
	byId("say").textContent = text;
}

/** Copies text, and confirms it on the button. */
export async function copy(text: string, from: HTMLElement): Promise<void> {
	await navigator.clipboard.writeText(text);
	const label = from.getAttribute("aria-label");
	from.setAttribute("aria-label", "Copied");
	from.classList.add("did");
	say("Copied");
	setTimeout(() => {
		if (label) from.setAttribute("aria-label", label);
		from.classList.remove("did");
	}, 1500);
}
