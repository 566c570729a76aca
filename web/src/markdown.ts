// Only this file turns a model's text into markup. marked parses it, DOMPurify allows only what is listed here, and the page's policy
// (Content-Security-Policy with Trusted Types) refuses all other scripts.
import DOMPurify from "dompurify";
import { lexer, parser, type Token } from "marked";

import { copy, h, icon } from "./dom.js";
import { highlight } from "./highlight.js";

const rules = {
	ALLOWED_TAGS: "a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i kbd li mark ol p pre s strong sub sup table tbody td th thead tr u ul".split(" "),
	ALLOWED_ATTR: ["href", "start", "class", "align"],
	ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
	ALLOW_DATA_ATTR: false,
	ALLOW_ARIA_ATTR: false,
	RETURN_DOM_FRAGMENT: true as const,
};

/** The Markdown blocks of a text. */
export function blocks(text: string): Token[] {
	return lexer(text);
}

/** Blocks as elements, safe to show. */
export function render(tokens: Token[]): DocumentFragment {
	const fragment = DOMPurify.sanitize(parser(tokens), rules);
	for (const a of fragment.querySelectorAll("a")) {
		a.setAttribute("target", "_blank");
		a.setAttribute("rel", "noopener noreferrer");
	}
	for (const e of fragment.querySelectorAll("[class]")) {
		if (e.tagName !== "CODE" || !/^language-[\w+#.-]+$/.test(e.className)) e.removeAttribute("class"); // not a class of this page
	}
	for (const table of fragment.querySelectorAll("table")) {
		const box = h("div", { class: "tablewrap", tabindex: 0, role: "region", "aria-label": "Table" });
		table.replaceWith(box);
		box.append(table);
	}
	for (const pre of fragment.querySelectorAll("pre")) dress(pre);
	return fragment;
}

/** Adds a head with the language and a copy button to code. */
function dress(pre: HTMLPreElement): void {
	const code = pre.querySelector("code");
	const language = code?.className.replace("language-", "") ?? "";
	const copier = h("button", { class: "icon", type: "button", "aria-label": "Copy code", title: "Copy code" }, icon("copy"));
	copier.addEventListener("click", () => void copy(code?.textContent ?? "", copier));
	const box = h("div", { class: "code" }, h("header", {}, language || "text", h("span", { class: "sp" }), copier));
	pre.replaceWith(box);
	pre.tabIndex = 0;
	box.append(pre);
}

/** Highlights the code of settled blocks when the browser is idle. */
export function colour(root: ParentNode): void {
	for (const code of root.querySelectorAll<HTMLElement>("pre code[class^=language-]")) {
		idle(() => {
			const html = highlight(code.textContent ?? "", code.className.slice("language-".length));
			if (html === undefined) return;
			code.replaceChildren(DOMPurify.sanitize(html, { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true }));
		});
	}
}

function idle(work: () => void): void {
	if ("requestIdleCallback" in window) requestIdleCallback(work, { timeout: 1000 });
	else setTimeout(work, 50); // Safari
}
