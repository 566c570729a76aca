import type { Notifications } from "../../clients/typescript/src/index.js";
import { button, h } from "./dom.js";
import { Step } from "./step.js";

/** A change of the model. The history does not have what it did to thinking, cache and price. */
export type Fell = Omit<Notifications["fell_back"], "session_id" | "seq" | "ts" | "turn_id" | "first_seq">;

/** The line about a turn that goes on with another model: open when it is news, one line later. */
export function fellBack(f: Fell, live: boolean, nameOf: (m: { provider: string; id: string }) => string, goBack: () => void): HTMLElement {
	const step = new Step("warn");
	const back = f.why === "returned";
	step.name.append(back ? "Returned" : "Fell back");
	step.gist.textContent = `to ${nameOf(f.to)}`;
	step.gist.classList.add("away");
	step.show(["fell_back", "kind w"]);
	const model = (m: Fell["from"]) => `${nameOf(m)}, ${m.thinking_level}`;
	const t = f.thinking;
	const blocks = t && t.kept + t.converted + t.dropped > 0
		? `Of ${t.kept + t.converted + t.dropped} thoughts, ${[t.kept && `${t.kept} go along as they are`, t.converted && `${t.converted} go along as text`, t.dropped && `${t.dropped} stay behind`].filter(Boolean).join(", ")}` : undefined;
	const rows: [string, string | undefined][] = [
		["From, to", `${model(f.from)} → ${model(f.to)}${f.key ? `, key ${f.key}` : ""}`],
		["Thinking", blocks],
		["Cache", f.cache && [f.cache, f.cache_why].filter(Boolean).join(": ")],
		["Price", f.price_factor === 0 ? "The output costs nothing" : f.price_factor ? `${Math.round(f.price_factor * 100) / 100} times for the output` : live ? "unknown" : undefined],
		["Return", back ? undefined : "With a later prompt, when the first choice answers again and the prompt is cheaper there"],
	];
	step.body.append(h("div", { class: "card warn" },
		h("p", {}, back ? "The first choice can answer again, and the prompt is cheaper there." : f.error ? `${f.error.message}. The next model in the list took over${f.continues ? ", and goes on behind the text so far" : " before any text came"}.` : `The next model in the list took over: ${f.why}.`),
		h("dl", { class: "pairs" }, ...rows.flatMap(([name, value]) => (value ? [h("dt", {}, name), h("dd", {}, value)] : []))),
		back ? undefined : h("div", { class: "acts" }, button("Go back now", "", goBack), h("small", {}, `The next prompt goes to ${nameOf(f.from)}. If that fails, its turn ends.`))));
	step.el.open = live;
	return step.el;
}
