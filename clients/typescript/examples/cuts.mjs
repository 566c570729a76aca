// Watches a turn over a WebSocket that is cut repeatedly, and shows that nothing is lost.
// Usage: node [--experimental-websocket] cuts.mjs ADDRESS TOKENFILE   (`thinkd serve` prints both)
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { addressOf, connect, webSocket } from "thinkd-client";

let line;
const real = webSocket(addressOf(process.argv[2], readFileSync(process.argv[3], "utf8")));
const fragile = { open: async (receiver) => (line = await real.open(receiver)) };
const client = await connect(fragile, { longestPause: 50 });
const session = await client.newSession();
let deltas = 0;

const watched = new Map(); // text by block
const ended = new Map();
const turn = await session.prompt("Count the letters. [[sim: thinking=200 text=200 pace=300]]");
for await (const { method, params } of turn) {
	if (method === "snapshot") {
		// The turn may have ended while the connection was down: then it is among the older ones.
		for (const message of [...(params.messages ?? []), ...(params.open?.messages ?? [])]) {
			for (const b of message.role === "assistant" ? message.content : []) {
				if (!("text" in b)) continue;
				watched.set(`${message.id} ${b.block}`, b.text);
				if (!b.open) ended.set(`${message.id} ${b.block}`, b.text); // its end was published while the connection was down
			}
		}
		continue;
	}
	if (method === "turn_end") assert.equal(params.stop_reason, "end_turn");
	if (!("block" in params)) continue;
	const block = `${params.message_id} ${params.block}`;
	if ("delta" in params) {
		watched.set(block, (watched.get(block) ?? "") + params.delta);
		if (++deltas % 5 === 0) line.close();
	}
	if ("text" in params) ended.set(block, params.text);
}
assert.ok(ended.size >= 2, "thinking and text");
for (const [block, text] of ended) assert.equal(watched.get(block), text, "the deltas add up to the end");
console.log(`${ended.size} blocks, nothing lost`);
client.close();
