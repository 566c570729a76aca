import type { Client } from "../../clients/typescript/src/index.js";
import { byId, button, h } from "./dom.js";
import { keyField } from "./failure.js";
import { popover } from "./popover.js";

/** Keys shows which providers have credentials, and accepts keys. A key goes to the daemon, and the page does not keep it. */
export class Keys {
	private readonly state = byId("keys-state");
	private ready_ = 0;
	private asked = 0; // responses to older requests are ignored

	constructor(private readonly client: Client, private readonly changed: () => void) {
		byId("keys").addEventListener("click", (event) => void this.open(event.currentTarget as HTMLElement));
	}

	/** How many providers are ready, except the simulator. */
	get ready(): number {
		return this.ready_;
	}

	/** Counts the providers that are ready, and shows their number. */
	async count(): Promise<void> {
		const mine = ++this.asked;
		const { providers } = await this.client.call("providers/list", {});
		if (mine !== this.asked) return;
		this.ready_ = providers.filter((p) => p.available && p.provider !== "sim").length;
		this.state.textContent = this.ready_ === 0 ? "none yet" : `${this.ready_} ready`;
	}

	async set(provider: string, key: string): Promise<void> {
		await this.client.call("auth/set_key", { provider, key });
		this.changed();
	}

	async open(from: HTMLElement): Promise<void> {
		const { providers } = await this.client.call("auth/status", {});
		const list = h("ul", { class: "keylist" });
		for (const p of providers) {
			if (p.state === "not_needed") continue;
			const slot = h("div", {});
			const add = button(p.state === "ready" ? "Replace" : "Add a key", "quiet", () => {
				const field = keyField(p.provider, { setKey: (id, key) => this.set(id, key) }, () => void this.again(from));
				slot.replaceChildren(field);
				field.querySelector("input")?.focus();
			});
			list.append(h("li", {}, h("div", { class: "keyrow" }, h("b", {}, p.provider), h("small", {}, p.state), h("span", { class: "sp" }), add), slot));
		}
		popover(from, "Providers and keys", h("div", {}, list, h("p", { class: "fine" }, "The daemon stores keys on its machine. They are never shown again.")), "keypop");
	}

	private async again(from: HTMLElement): Promise<void> {
		popover(from, "", h("div", {})); // a second click closes it
		await this.open(from);
	}
}
