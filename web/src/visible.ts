import { h } from "./dom.js";

// Characters that are invisible or change the place of others: control and format characters, unusual spaces, fillers, and code points
// without a character. The daemon has the same list (agent/tool/approval/visible.go).
const hidden = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}]|(?! )\p{Zs}|[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffd]|[\u{e0100}-\u{e01ef}]/gu;

const names: Record<string, string> = {
	"0": "null", "7": "bell", "8": "backspace", d: "carriage return", "1b": "escape", "7f": "delete", a0: "no-break space", ad: "soft hyphen", "61c": "Arabic letter mark",
	"200b": "zero width space", "200c": "zero width non-joiner", "200d": "zero width joiner", "200e": "left-to-right mark", "200f": "right-to-left mark",
	"2028": "line separator", "2029": "paragraph separator", "202a": "left-to-right embedding", "202b": "right-to-left embedding", "202c": "pop directional formatting",
	"202d": "left-to-right override", "202e": "right-to-left override", "2060": "word joiner", "2066": "left-to-right isolate", "2067": "right-to-left isolate",
	"2068": "first strong isolate", "2069": "pop directional isolate", "3000": "ideographic space", fe0f: "variation selector-16", feff: "zero width no-break space", fffd: "replacement character",
};

/** Counts the invisible characters of a text. */
export function unseen(text: string): number {
	return text.match(hidden)?.length ?? 0;
}

/** A text with a chip in place of each invisible character. */
export function reveal(text: string): (string | HTMLElement)[] {
	const out: (string | HTMLElement)[] = [];
	let from = 0;
	for (const m of text.matchAll(hidden)) {
		if (m.index > from) out.push(text.slice(from, m.index));
		out.push(chip(m[0]));
		from = m.index + m[0].length;
	}
	if (from < text.length) out.push(text.slice(from));
	return out;
}

function chip(character: string): HTMLElement {
	const code = (character.codePointAt(0) ?? 0).toString(16);
	const name = names[code];
	return h("span", { class: "inv", title: name }, `U+${code.toUpperCase().padStart(4, "0")}`, name ? h("span", { class: "vh" }, ` ${name}`) : undefined);
}
