// Only this file turns a model's text into markup. marked parses it, DOMPurify allows only what is listed here, and the page's policy
// (Content-Security-Policy with Trusted Types) refuses all other scripts.
import DOMPurify from "dompurify";
import { Marked, type Token } from "marked";

import { button, copy, h, iconButton } from "./dom.js";
import { highlight } from "./highlight.js";
import { typeset } from "./maths.js";
import { kept, keep } from "./store.js";

const rules = {
	ALLOWED_TAGS: "a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i input kbd li mark ol p pre s strong sub sup table tbody td th thead tr u ul".split(" "),
	ALLOWED_ATTR: ["href", "start", "class", "align", "checked"],
	ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
	ALLOW_DATA_ATTR: false,
	ALLOW_ARIA_ATTR: false,
	RETURN_DOM_FRAGMENT: true as const,
};

const escaped = (text: string) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

/** A formula in the source of the text: its TeX, and whether it stands alone. render() replaces it. */
const formula = (tex: string, alone: boolean) => `<code class="language-tex-${alone ? "block" : "inline"}">${escaped(tex)}</code>`;

// Formulas: \(…\) in a line, \[…\] and $$…$$ alone. A single $ is money.
const marked = new Marked({
	renderer: {
		// The page loads no images from elsewhere, so an image is a link with its description.
		image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || "Image")}</a>`,
		html: ({ text }) => text.replace(/<img\b[^>]*?\balt\s*=\s*(?:"([^"]*)"|'([^']*)')[^>]*>/gi, (_, a?: string, b?: string) => escaped(a ?? b ?? "")),
		checkbox: ({ checked }) => (checked ? "<input checked> " : "<input> "),
	},
	extensions: [
		{
			name: "formulas", level: "block",
			start: (src: string) => src.match(/\\\[|\$\$/)?.index,
			tokenizer(src: string) {
				const m = /^ {0,3}(?:\\\[([\s\S]+?)\\\]|\$\$([\s\S]+?)\$\$)[ \t]*(?:\n|$)/.exec(src);
				return m ? { type: "formulas", raw: m[0], tex: (m[1] ?? m[2] ?? "").trim() } : undefined;
			},
			renderer: (token) => `<p>${formula(String(token["tex"]), true)}</p>`,
		},
		{
			name: "formula", level: "inline",
			start: (src: string) => src.match(/\\\(|\\\[|\$\$/)?.index,
			tokenizer(src: string) {
				const m = /^(?:\\\(([\s\S]+?)\\\)|\\\[([\s\S]+?)\\\]|\$\$([\s\S]+?)\$\$)/.exec(src);
				return m ? { type: "formula", raw: m[0], tex: (m[1] ?? m[2] ?? m[3] ?? "").trim(), alone: m[1] === undefined } : undefined;
			},
			renderer: (token) => formula(String(token["tex"]), token["alone"] === true),
		},
	],
});

/** The Markdown blocks of a text. */
export function blocks(text: string): Token[] {
	return marked.lexer(text);
}

/** Blocks as elements, safe to show. Formulas of settled blocks are typeset. */
export function render(tokens: Token[], settled = true): DocumentFragment {
	const fragment = DOMPurify.sanitize(marked.parser(tokens), rules);
	for (const a of fragment.querySelectorAll("a")) {
		a.setAttribute("target", "_blank");
		a.setAttribute("rel", "noopener noreferrer");
	}
	for (const e of fragment.querySelectorAll("[class]")) {
		if (e.tagName !== "CODE" || !/^language-[\w+#.-]+$/.test(e.className)) e.removeAttribute("class"); // not a class of this page
	}
	for (const code of fragment.querySelectorAll<HTMLElement>("code.language-tex-inline, code.language-tex-block")) {
		if (code.parentElement?.tagName !== "PRE") formulas(code, settled);
	}
	for (const input of fragment.querySelectorAll("input")) {
		const done = input.hasAttribute("checked");
		input.replaceWith(h("input", { type: "checkbox", disabled: true, checked: done, "aria-label": done ? "Done" : "To do" }));
	}
	for (const table of fragment.querySelectorAll("table")) {
		const box = h("div", { class: "tablewrap", tabindex: 0, role: "group", "aria-label": "Table" });
		table.replaceWith(box);
		box.append(table);
	}
	for (const pre of fragment.querySelectorAll("pre")) dress(pre);
	for (const e of fragment.querySelectorAll<HTMLElement>("p, li, h1, h2, h3, h4, h5, h6, blockquote, td, th")) e.dir = "auto";
	return fragment;
}

/** Replaces the mark of a formula by its source, which is typeset later. */
function formulas(code: HTMLElement, settled: boolean): void {
	const alone = code.classList.contains("language-tex-block");
	const tex = code.textContent ?? "";
	const e = h("span", { class: alone ? "maths alone" : "maths", dir: "ltr", ...(alone && { tabindex: 0, role: "group", "aria-label": "Formula" }) }, alone ? `\\[${tex}\\]` : `\\(${tex}\\)`);
	code.replaceWith(e);
	if (settled) typeset(e, tex, alone);
}

/** Adds a head with the language and buttons to code. */
function dress(pre: HTMLPreElement): void {
	const code = pre.querySelector("code");
	const language = code?.className.replace("language-", "") ?? "";
	const text = () => code?.textContent ?? "";
	const copier = iconButton("copy", "Copy code", () => void copy(text(), copier));
	const wrap = button("Wrap", "quiet", () => {
		const on = kept("wrap") === undefined;
		keep("wrap", on ? "on" : undefined);
		wrapped();
	});
	const box = h("div", { class: "code", dir: "ltr" }, h("header", {}, language || "text", h("span", { class: "sp" }), wrap, iconButton("save", "Download code", () => save(text(), language)), copier));
	pre.replaceWith(box);
	pre.tabIndex = 0;
	pre.setAttribute("role", "group");
	pre.setAttribute("aria-label", `Code${language ? `, ${language}` : ""}`);
	box.append(pre);
}

/** Wraps the lines of all code, or not, as the reader has chosen. */
export function wrapped(): void {
	document.documentElement.classList.toggle("wrap-code", kept("wrap") !== undefined);
}

const extensions: Record<string, string> = {
	bash: "sh", csharp: "cs", dockerfile: "Dockerfile", elixir: "ex", haskell: "hs", javascript: "js", kotlin: "kt", makefile: "Makefile", markdown: "md",
	objectivec: "m", perl: "pl", powershell: "ps1", protobuf: "proto", python: "py", ruby: "rb", rust: "rs", shell: "sh", typescript: "ts",
};

/** Gives a text to the reader as a file. */
export function save(text: string, language: string, name = "code"): void {
	const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
	h("a", { href: url, download: `${name}.${extensions[language] ?? (/^\w+$/.test(language) ? language : "txt")}` }).click();
	URL.revokeObjectURL(url);
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
