import type { Methods, Notifications } from "../../clients/typescript/src/index.js";
import { h } from "./dom.js";
import { popover } from "./popover.js";
import { reasons } from "./words.js";

export type Reasoning = Notifications["turn_start"]["reasoning"];
export type Model = Methods["models/list"]["result"]["models"][number];

/** Bars with one step per level of the model: the level in effect, and a requested level that the model lacks. */
export function bars(levels: readonly string[], got: string, asked = got): HTMLElement {
	const steps = levels.filter((l) => l !== "off");
	const order = ["off", "on", "minimal", "low", "medium", "high", "xhigh", "max"];
	const place = (level: string) => steps.filter((l) => order.indexOf(l) <= order.indexOf(level)).length;
	const e = h("span", { class: "lv", "aria-hidden": "true" });
	const on = place(got);
	// A requested level that the model lacks is one more step.
	const ask = steps.includes(asked) || asked === "off" || asked === "auto" ? Math.max(place(asked), on) : on + 1;
	e.style.setProperty("--of", String(Math.max(steps.length, ask, 1)));
	e.style.setProperty("--on", String(on));
	e.style.setProperty("--ask", String(ask));
	return e;
}

/** The chip next to a model's name: the level in effect, and in amber the requested one if it differs. */
export function chip(r: Reasoning, modelName: string): HTMLElement {
	const { requested_effort: asked, effective_effort: got, supported_levels: levels } = r;
	const clamped = asked !== got && r.reason !== "model_default" && r.source !== "unset";
	const content: (Node | string)[] = [];
	if (got !== "auto" && levels.length > 0) content.push(bars(levels, got, clamped ? asked : got));
	if (clamped) content.push(h("span", { class: "vh" }, "Requested "), h("s", {}, asked), h("span", { class: "vh" }, ", in effect "));
	content.push(got);
	if (!r.known_model) content.push(h("small", {}, " not in the catalog"));
	const e = h("button", { class: clamped ? "chip clamp" : "chip", type: "button", "aria-haspopup": "dialog", "aria-expanded": "false" }, ...content);
	e.addEventListener("click", () => popover(e, clamped ? `Requested ${asked}, got ${got}` : `Thinking level ${got}`, decision(r, modelName, clamped)));
	return e;
}

function decision(r: Reasoning, modelName: string, clamped: boolean): HTMLElement {
	const pair = (name: string, ...value: (Node | string)[]) => [h("dt", {}, name), h("dd", {}, ...value)];
	const body = h("div", {});
	body.append(
		h("dl", { class: "pairs" },
			...pair("Asked", r.requested_effort, h("small", {}, ` by: ${r.source}`)),
			...pair("Got", r.effective_effort),
			...pair("Why", `${r.reason}: ${reasons[r.reason] ?? ""}`),
			...(r.supported_levels.length ? pair("Supported levels", r.supported_levels.join(", ")) : []),
			...pair("Rule", r.fallback)),
	);
	if (r.wire !== undefined) {
		body.append(h("pre", { class: "out", tabindex: 0 }, h("span", { class: "lbl" }, "Sent"), JSON.stringify(r.wire, null, 1)));
	}
	if (clamped) body.append(h("p", {}, `Your preference stays ${r.requested_effort}. ${modelName} does not have this level. It applies again on a model that has it.`));
	return body;
}
