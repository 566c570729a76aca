import type { Token } from "marked";

import { h } from "./dom.js";
import { inFrame } from "./frames.js";
import { Growing } from "./growing.js";
import { blocks, colour, render } from "./markdown.js";

const often = 80; // milliseconds between two renderings of the tail
const long = 8192; // characters: a longer tail is plain text until it is settled

/**
 * Answer shows a text block. Markdown blocks that cannot change any more are parsed, sanitised and inserted once. Only the last
 * block is rendered again as it grows.
 */
export class Answer {
	readonly el = h("div", { class: "answer" });
	text = "";
	private readonly sources = h("ol", { class: "sources" });
	private settled = 0; // characters of text that are final
	private readonly tail = h("div", { class: "tail" });
	private plain: Growing | undefined; // shows a long tail
	private plainTo = 0;
	private drawn = 0; // when the tail was rendered
	private cost = 0; // milliseconds that it took
	private ended = false;

	append(delta: string): void {
		this.text += lines(delta);
		inFrame(this.draw);
	}

	/** Shows the whole text, growing or final. */
	set(whole: string, ended: boolean): void {
		const text = lines(whole);
		if (!text.startsWith(this.text)) this.clear();
		this.text = text;
		this.ended = ended;
		inFrame(this.draw);
	}

	/** Takes more text after its end. */
	goOn(): void {
		this.ended = false;
		this.clear();
		this.drawn = 0;
		inFrame(this.draw);
	}

	/** Lists the pages that the text refers to, each once. */
	cite(sources: { url: string; title?: string }[] | undefined): void {
		this.sources.replaceChildren();
		const seen = new Set<string>();
		for (const s of sources ?? []) {
			if (seen.has(s.url) || !/^https?:/i.test(s.url)) continue;
			seen.add(s.url);
			this.sources.append(h("li", {}, h("a", { href: s.url, target: "_blank", rel: "noopener noreferrer" }, s.title || s.url)));
		}
		if (seen.size > 0) this.el.after(this.sources);
	}

	private clear(): void {
		this.settled = this.plainTo = 0;
		this.plain = undefined;
		this.el.replaceChildren();
		this.tail.replaceChildren();
	}

	private readonly draw = (): void => {
		if (this.ended) {
			this.settle(blocks(this.text.slice(this.settled)));
			this.tail.remove();
			this.plain = undefined;
			return;
		}
		const now = performance.now();
		if (this.plain) {
			this.plain.append(this.text.slice(this.plainTo));
			this.plainTo = this.text.length;
			// A Markdown block may have ended: check from time to time.
			if (now - this.drawn < Math.max(20 * this.cost, 1000)) return;
		}
		// A slow rendering takes a tenth of the time at most.
		if (now - this.drawn < Math.max(often, 10 * this.cost)) {
			inFrame(this.draw);
			return;
		}
		const tokens = blocks(this.text.slice(this.settled));
		let last = tokens.length - 1;
		while (last > 0 && tokens[last]?.type === "space") last--; // a list may continue after a blank line
		if (last > 0) this.settle(tokens.slice(0, last));
		const rest = this.text.slice(this.settled);
		if (rest.length > long) {
			this.plain = new Growing(h("div", { class: "plain" }));
			this.plain.append(rest);
			this.plainTo = this.text.length;
			this.tail.replaceChildren(this.plain.el);
		} else {
			this.plain = undefined;
			this.tail.replaceChildren(render(tokens.slice(Math.max(last, 0)), false));
		}
		if (!this.tail.isConnected || this.tail.nextSibling) this.el.append(this.tail);
		this.drawn = performance.now();
		this.cost = this.drawn - now;
	};

	private settle(tokens: Token[]): void {
		if (tokens.length === 0) return;
		const part = render(tokens);
		colour(part);
		if (this.tail.parentNode === this.el) this.tail.before(part);
		else this.el.append(part);
		for (const t of tokens) this.settled += t.raw.length;
	}
}

// The lexer turns CR LF into one character, and counts places in its characters.
function lines(text: string): string {
	return text.replaceAll("\r", "");
}
