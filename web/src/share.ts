import type { Client, Methods } from "../../clients/typescript/src/index.js";
import { button, h } from "./dom.js";

type Access = NonNullable<Methods["session/share"]["params"]["access"]>;

/** Shows with whom a session is shared, and changes that. The daemon checks the name. */
export function shareForm(client: Client, session_id: string, trouble: HTMLElement): HTMLElement {
	const user = h("input", { type: "text", "aria-label": "User", placeholder: "User", autocomplete: "off", autocapitalize: "none", maxlength: 255 });
	const access = h("select", { class: "sel", "aria-label": "Access" }, h("option", { value: "read" }, "can read"), h("option", { value: "write" }, "can read and write"));
	const guests = h("ul", { class: "granted", "aria-label": "Guests" });
	const call = (change: { user?: string; access?: Access }) => client.call("session/share", { session_id, ...change }).then((r) => {
		trouble.hidden = true;
		guests.replaceChildren(...r.guests.map((g) => h("li", {}, h("span", {}, h("b", {}, g.user), g.access === "write" ? " can read and write" : " can read"), button("End", "", () => void call({ user: g.user, access: "none" })))));
		if (r.guests.length === 0) guests.append(h("li", {}, "Nobody yet"));
	}, (error: Error) => {
		trouble.textContent = error.message;
		trouble.hidden = false;
	});
	void call({});
	return h("form", { onsubmit: (event) => {
		event.preventDefault();
		void call({ user: user.value.trim(), access: access.value as Access }).then(() => trouble.hidden && (user.value = ""));
	} }, h("p", {}, "Turns of guests count as yours."), h("div", { class: "field" }, user, access, h("button", { class: "btn", type: "submit" }, "Share")), guests);
}
