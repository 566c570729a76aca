import type { Methods } from "../../clients/typescript/src/index.js";

type Price = NonNullable<Methods["models/list"]["result"]["models"][number]["price"]>;

/** What a prompt of some tokens costs in USD: from all of it in the vendor's cache to none, and with the hours of a higher price. */
export function promptCost(price: Price, tokens: number, cache: string | undefined, now = new Date()): { low: number; high: number } {
	const current = priceNow(price, now);
	const rate = current.tiers?.filter((t) => t.above < tokens).at(-1) ?? current;
	const low = cache === "lost" ? rate.input : Math.min(rate.input, rate.cached_input ?? rate.input);
	const high = Math.max(rate.input, rate.cache_write ?? 0, rate.cache_write_1h ?? 0);
	const peak = price.peak?.factor ?? 1;
	return { low: (low * tokens * Math.min(1, peak)) / 1e6, high: (high * tokens * Math.max(1, peak)) / 1e6 };
}

/** The price of today. */
export function priceNow(price: Price, now = new Date()) {
	const today = now.toISOString().slice(0, 10);
	return price.changes?.filter((c) => c.from <= today).at(-1) ?? price;
}
