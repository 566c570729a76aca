import { h } from "./dom.js";

const paragraph = 4096; // characters: a frame lays out one paragraph, not the whole text

/**
 * Growing shows plain text that only grows. Each line, and each 4 KB of a longer one, is a separate element. So a frame lays out
 * only what is new.
 */
export class Growing {
	private tail: Text | undefined;

	constructor(readonly el: HTMLElement) {}

	append(text: string): void {
		let rest = text;
		while (rest) {
			const room = paragraph - (this.tail?.length ?? 0);
			const line = rest.indexOf("\n");
			if (line >= 0 && line <= room) {
				this.grow(rest.slice(0, line));
				this.tail = undefined; // the next line starts a new element
				rest = rest.slice(line + 1);
				if (!rest) this.grow("");
				continue;
			}
			this.grow(rest.slice(0, room));
			rest = rest.slice(room);
			if (rest) this.tail = undefined;
		}
	}

	private grow(text: string): void {
		if (this.tail) {
			this.tail.appendData(text);
			return;
		}
		this.tail = document.createTextNode(text);
		this.el.append(h("div", { class: "line" }, this.tail));
	}
}
