// Numbers and sentences for people. The caller omits null and never shows it as 0.

export function duration(ms: number): string {
	if (ms < 1000) return `${Math.round(ms)} ms`;
	const s = Math.round(ms / 1000);
	if (s < 60) return `${s} s`;
	if (s < 3600) return `${Math.floor(s / 60)} min ${String(s % 60).padStart(2, "0")} s`;
	const min = Math.floor(s / 60);
	return `${Math.floor(min / 60)} h ${String(min % 60).padStart(2, "0")} min`;
}

/** How many grants and denials stand until the session ends; empty if there are none. */
export function standing(list: { deny?: boolean }[]): string {
	const denials = list.filter((g) => g.deny).length;
	const grants = list.length - denials;
	const parts = [grants && (grants === 1 ? "1 grant" : `${grants} grants`), denials && (denials === 1 ? "1 denial" : `${denials} denials`)];
	return parts.filter(Boolean).join(", ");
}

export function count(n: number): string {
	return n.toLocaleString("en-US");
}

export function short(n: number): string {
	if (n < 1000) return String(n);
	if (n < 1_000_000) return `${trim(n / 1000)}k`;
	return `${trim(n / 1_000_000)}M`;
}

/** A number of bytes. */
export function fileSize(n: number): string {
	const bytes = Math.round(n);
	return bytes < 1000 ? `${bytes} ${bytes === 1 ? "byte" : "bytes"}` : `${short(bytes).slice(0, -1)} ${bytes < 1_000_000 ? "kB" : "MB"}`;
}

function trim(n: number): string {
	return n >= 100 ? String(Math.round(n)) : String(Math.round(n * 10) / 10);
}

export function money(cost: { amount: number; currency: string }): string {
	// Below ten cents two digits count, so that the ticks of a plot differ.
	const digits = cost.amount > 0 && cost.amount < 0.095 ? Math.max(3, 1 - Math.floor(Math.log10(cost.amount))) : 2;
	return new Intl.NumberFormat("en-US", { style: "currency", currency: cost.currency, minimumFractionDigits: digits, maximumFractionDigits: digits }).format(cost.amount);
}

export function clock(ts: number): string {
	return new Date(ts).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });
}

/** A time of day, with the date if that is not today's. */
export function moment(ts: number, now = new Date()): string {
	const then = new Date(ts);
	if (then.toDateString() === now.toDateString()) return clock(ts);
	return `${then.toLocaleDateString("en-GB", { day: "numeric", month: "short" })}, ${clock(ts)}`;
}

/** The day of a list: Today, Yesterday, This week, or the month. */
export function day(ts: number, now = new Date()): string {
	const then = new Date(ts);
	const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
	if (ts >= midnight) return "Today";
	if (ts >= midnight - 86_400_000) return "Yesterday";
	if (ts >= midnight - 6 * 86_400_000) return "This week";
	return then.toLocaleDateString("en-GB", { month: "long", ...(then.getFullYear() !== now.getFullYear() && { year: "numeric" }) });
}

export function when(ts: number, now = Date.now()): string {
	if (now - ts < 60_000) return "now";
	switch (day(ts)) {
		case "Today":
		case "Yesterday":
			return clock(ts);
		case "This week":
			return new Date(ts).toLocaleDateString("en-GB", { weekday: "short" });
	}
	return new Date(ts).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}

/** The summary of a thought: its heading if it has one, otherwise its first sentence. */
export function gist(text: string): string {
	const start = text.trimStart().slice(0, 300);
	const heading = /^(?:#+\s+(.+)|\*\*(.+?)\*\*)/.exec(start);
	if (heading) return (heading[1] ?? heading[2] ?? "").trim();
	const sentence = /^[\s\S]*?[.!?](?=\s|$)/.exec(start);
	return (sentence ? sentence[0].replace(/[.]$/, "") : start).replace(/\s+/g, " ").trim();
}

/** The reasons of decisions, for people. */
export const reasons: Record<string, string> = {
	as_requested: "as requested",
	level_not_supported: "the model does not have that level",
	off_not_supported: "the model cannot be switched off",
	off_up_front_only: "thinking between tool calls cannot be switched off",
	no_thinking: "the model does not think",
	unknown_model: "the model is not in the catalog, so nothing is sent",
	model_default: "no level was requested, so the model's default applies",
};

/** The subject of a notice. */
export const notices: Record<string, string> = {
	simulator: "Simulator",
	model_substituted: "Another model answers",
	payer_changed: "Another account pays",
	level_clamped: "Level changed",
	off_not_supported: "Level raised",
	control_not_honoured: "Level not honoured",
	hidden_thinking: "Hidden thinking",
	cache_lost: "Cache lost",
	thinking_dropped_by_provider: "Thinking dropped",
	history_repaired: "History repaired",
	suspect_left_out: "Left out after a refusal",
	empty_answer: "No answer",
	no_thinking_seen: "No thinking seen",
	non_streaming: "Not streamed",
	stalled: "Stalled",
	budget_near: "Budget near",
	limit_near: "Limit near",
	provider_override: "Provider override",
	schema_reduced: "Tool schemas reduced",
	store_readonly: "Store is read-only",
	budget_reached: "Budget used up",
	price_unknown: "Price unknown",
	model_retires: "Model retires",
	compacting: "Summarising",
	compacted: "Summarised",
	compaction_failed: "Not summarised",
	context_edited: "Context shortened",
	tools_missing: "Tools missing",
	media_missing: "Media missing",
};

/** Who pays, for people. */
export function payerText(p: { kind: string; name: string }): string {
	if (p.kind === "plan") return `plan ${p.name}`;
	return p.kind === "key" ? `key in ${p.name}` : "no key needed";
}
