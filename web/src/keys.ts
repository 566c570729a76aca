import type { Client } from "../../clients/typescript/src/index.js";
import { byId, button, h } from "./dom.js";
import { keyField } from "./failure.js";
import { popover } from "./popover.js";

/** Keys shows which providers have credentials, and accepts keys. A key goes to the daemon, and the page does not keep it. */
export class Keys {
	private readonly state = byId("keys-state");

	constructor(private readonly client: Client, private readonly changed: () => void) {
		byId("keys").addEventListener("click", (event) => void this.open(event.currentTarget as HTMLElement));
	}

	/** Shows how many providers are ready, except the simulator. */
	async count(): Promise<number> {
		const { providers } = await this.client.call("providers/list", {});
		const ready = providers.filter((p) => p.available && p.provider !== "sim").length;
		this.state.textContent = ready === 0 ? "none yet" : `${ready} ready`;
		return ready;
	}

	async set(provider: string, key: string): Promise<void> {
		await this.client.call("auth/set_key", { provider, key });
		await this.count();
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
