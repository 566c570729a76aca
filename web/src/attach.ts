import type { Block } from "../../clients/typescript/src/index.js";
import { byId, h, iconButton, say } from "./dom.js";
import type { Model } from "./levels.js";
import { fileSize } from "./words.js";

type FileBlock = Extract<Block, { type: "media" }>;

/** A file that goes with the next prompt, or why it cannot. */
interface Attached {
	name: string;
	size: number; // bytes
	block?: FileBlock;
	why?: string;
}

/** What attachments need from the page. */
export interface Taker {
	/** The chosen model; undefined: it is not known. */
	model(): Model | undefined;
	/** The most bytes of a message to the daemon. */
	room(): number;
	changed(): void;
}

const drawn = /^image\/(png|jpeg|gif|webp)$/; // the daemon makes these fit for a model
const kinds: Record<string, string> = { image: "images", pdf: "PDFs", audio: "sounds" };

/** The kind of a file, in the words of a model's input. */
export function kindOf(type: string): string {
	if (type === "application/pdf") return "pdf";
	return type === "image/svg+xml" ? "text" : (/^(image|audio|video)\//.exec(type)?.[1] ?? "text");
}

/** Attachments are the files of the next prompt, of each session its own. The daemon sends text files as text with their name. */
export class Attachments {
	private readonly list = byId("attached");
	private readonly of = new Map<string, Attached[]>();
	private place = "new";

	constructor(private readonly to: Taker) {
		const input = h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files to attach" });
		byId("attach").after(input);
		byId("attach").addEventListener("click", () => input.click());
		input.addEventListener("change", () => {
			void this.add([...(input.files ?? [])]);
			input.value = "";
		});
		byId("in").addEventListener("paste", (event) => {
			const files = [...(event.clipboardData?.files ?? [])];
			if (files.length === 0) return; // text
			event.preventDefault();
			void this.add(files);
		});
		const page = byId("page");
		const holds = (event: DragEvent) => !byId("dock").hidden && (event.dataTransfer?.types.includes("Files") ?? false);
		page.addEventListener("dragover", (event) => {
			if (!holds(event)) return;
			event.preventDefault();
			page.classList.add("dropping");
		});
		for (const name of ["dragleave", "drop"] as const) page.addEventListener(name, () => page.classList.remove("dropping"));
		page.addEventListener("drop", (event) => {
			if (!holds(event)) return;
			event.preventDefault();
			void this.add([...(event.dataTransfer?.files ?? [])]);
		});
	}

	/** Shows those of a session. */
	at(place: string): void {
		this.place = place;
		this.draw();
	}

	/** The blocks that go with the prompt. */
	blocks(): Block[] {
		return this.files().flatMap((a) => (a.block ? [a.block] : []));
	}

	/** Why the prompt cannot be sent with its files; empty: it can. */
	trouble(): string {
		for (const a of this.files()) {
			const why = a.block && this.refusal(a.block);
			if (why) return `${a.name}: ${why}. Remove the file or choose another model.`;
		}
		const bytes = this.files().reduce((sum, a) => sum + (a.block?.data?.length ?? 0), 0);
		const most = Math.min(this.to.room(), this.to.model()?.media?.max_bytes ?? Infinity);
		return bytes > most ? `The files are too large for one prompt: ${fileSize(bytes)} as base64, and the limit is ${fileSize(most)}. Remove some.` : "";
	}

	/** Removes them, and returns what brings them back. */
	take(): () => void {
		const { place } = this;
		const files = this.files();
		this.of.delete(place);
		this.draw();
		return () => {
			this.of.set(place, files);
			this.draw();
		};
	}

	/** Draws them again: another model is chosen. */
	draw(): void {
		this.list.replaceChildren(...this.files().map((a) => {
			const why = a.why ? `Not sent: ${a.why}` : a.block && this.refusal(a.block);
			const remove = iconButton("x", `Remove ${a.name}`, () => {
				this.of.set(this.place, this.files().filter((other) => other !== a));
				this.draw();
				byId("in").focus();
			});
			const picture = a.block && drawn.test(a.block.mime_type) ? h("img", { src: url(a.block), alt: "" }) : undefined;
			return h("li", { class: why ? "warn" : "" }, picture, h("span", { dir: "auto" }, a.name), h("small", {}, why || fileSize(a.size)), remove);
		}));
		this.list.hidden = this.list.childElementCount === 0;
		this.to.changed();
	}

	private files(): Attached[] {
		return this.of.get(this.place) ?? [];
	}

	/** Why the chosen model does not take a file, as far as the page knows; empty: it does. The daemon knows more, and decides. */
	private refusal(b: FileBlock): string {
		const m = this.to.model();
		const kind = kindOf(b.mime_type);
		if (!m?.input?.length || kind === "text") return "";
		if (!m.input.includes(kind)) return `${m.name} takes no ${kinds[kind] ?? b.mime_type}`;
		const limits = kind === "image" || kind === "pdf" || kind === "audio" ? m.media?.[kind] : undefined;
		const same = this.files().filter((a) => a.block && kindOf(a.block.mime_type) === kind).length;
		if (limits?.max_count && same > limits.max_count) return `${m.name} takes at most ${limits.max_count} ${kinds[kind]} with a prompt`;
		if (drawn.test(b.mime_type)) return "";
		if (limits?.types?.length && !limits.types.includes(b.mime_type)) return `${m.name} does not take ${b.mime_type}`;
		if (limits?.max_bytes && (b.data?.length ?? 0) > limits.max_bytes) return `it is larger than ${m.name} takes`;
		return "";
	}

	private async add(files: File[]): Promise<void> {
		const { place } = this;
		const read = await Promise.all(files.map((file) => attached(file, this.to.room())));
		this.of.set(place, [...(this.of.get(place) ?? []), ...read]);
		this.draw();
		say(read.map((a) => `${a.name}: ${a.why || (a.block && this.refusal(a.block)) || "attached"}`).join(". "));
	}
}

/** Reads a file that somebody chose. */
async function attached(file: File, room: number): Promise<Attached> {
	const a = { name: file.name || "file", size: file.size };
	const kind = kindOf(file.type);
	if (file.size === 0) return { ...a, why: "it is empty" };
	if (file.size > (room / 4) * 3) return { ...a, why: `it is larger than ${fileSize((room / 4) * 3)}` };
	try {
		if (!(kind in kinds)) {
			const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
			if (text.includes("\0")) throw new Error("binary");
		}
	} catch {
		return { ...a, why: "only images, PDFs, sounds and text files can be attached" };
	}
	const read = await new Promise<string>((resolve, reject) => {
		const reader = new FileReader();
		reader.onload = () => resolve(String(reader.result));
		reader.onerror = () => reject(reader.error ?? new Error("cannot be read"));
		reader.readAsDataURL(file);
	}).catch((e: Error) => e);
	if (read instanceof Error) return { ...a, why: read.message };
	const mime_type = kind in kinds ? file.type : file.type.startsWith("text/") ? file.type : "text/plain";
	return { ...a, block: { type: "media", mime_type, name: nameOf(a.name), data: read.slice(read.indexOf(",") + 1) } };
}

/** A name of at most 255 bytes, its end kept. */
function nameOf(name: string): string {
	let short = name.slice(-255);
	while (new TextEncoder().encode(short).length > 255) short = short.slice(1);
	return short;
}

function url(b: FileBlock): string {
	return `data:${b.mime_type};base64,${b.data ?? ""}`;
}

/** A file of a prompt: an image, or its name with what is inside. */
export function fileView(b: FileBlock, alt: string): HTMLElement {
	if (!b.data) return h("p", { class: "file" }, `${b.name ?? b.mime_type} (too large to show)`);
	if (drawn.test(b.mime_type)) return h("img", { src: url(b), alt: b.name ?? alt });
	const name = b.name ?? b.mime_type;
	if (kindOf(b.mime_type) === "text") {
		const bytes = Uint8Array.from(atob(b.data), (c) => c.charCodeAt(0));
		return h("details", { class: "file" }, h("summary", {}, name), h("pre", { class: "out", tabindex: 0 }, new TextDecoder().decode(bytes)));
	}
	return h("p", { class: "file" }, h("a", { href: url(b), download: name }, name), h("small", {}, ` ${fileSize((b.data.length / 4) * 3)}`));
}
