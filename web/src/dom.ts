// Making elements. Text is always text here: what a model wrote becomes markup in markdown.ts alone.

type Child = Node | string | null | undefined | false;
type Handlers = { [K in keyof HTMLElementEventMap as `on${K}`]?: (event: HTMLElementEventMap[K]) => void };
type Props = Handlers & { class?: string; hidden?: boolean; [attribute: string]: unknown };

/** An element with attributes, listeners (on…) and children. `undefined` and false attributes are left out. */
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

/** A drawing of the page's sprite. */
export function icon(name: string): SVGSVGElement {
	const space = "http://www.w3.org/2000/svg";
	const svg = document.createElementNS(space, "svg");
	svg.setAttribute("aria-hidden", "true");
	const use = document.createElementNS(space, "use");
	use.setAttribute("href", `#i-${name}`);
	svg.append(use);
	return svg;
}

/** A button that shows a drawing and says a label. */
export function iconButton(name: string, label: string, onclick: (event: MouseEvent) => void): HTMLButtonElement {
	return h("button", { class: "icon", type: "button", "aria-label": label, title: label, onclick }, icon(name));
}

export function button(label: string, kind: string, onclick: (event: MouseEvent) => void): HTMLButtonElement {
	return h("button", { class: `btn ${kind}`, type: "button", onclick }, label);
}

/** What the page's skeleton has under an id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
	const e = document.getElementById(id);
	if (!e) throw new Error(`the page has no #${id}`);
	return e as T;
}

/** Says a milestone to those who listen to the page. Never deltas. */
export function say(text: string): void {
	byId("say").textContent = text;
}

/** Copies text, and tells on the button that it did. */
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
