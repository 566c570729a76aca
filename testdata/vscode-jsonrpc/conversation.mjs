// Holds a conversation with the daemon through the JSON-RPC library that Language Server clients use.
// Usage: node conversation.mjs THINKD ARGUMENT...   Prints the notifications' methods in order; exits 1 with a reason.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import {
	createMessageConnection, ResponseError, StreamMessageReader, StreamMessageWriter,
} from "vscode-jsonrpc/node.js";

const [command, ...args] = process.argv.slice(2);
const daemon = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const exited = new Promise((resolve) => daemon.on("exit", resolve));
const connection = createMessageConnection(
	new StreamMessageReader(daemon.stdout), new StreamMessageWriter(daemon.stdin));

const seen = [];
let ended;
const turnEnd = new Promise((resolve) => { ended = resolve; });
connection.onNotification((method, params) => {
	seen.push({ method, ...params });
	if (method === "turn_end") ended(params);
});
connection.listen();

const hello = await connection.sendRequest("initialize", { protocol_version: 1, client: { name: "test" } });
assert.equal(hello.server.name, "thinkd");
const session = await connection.sendRequest("session/new", { model_id: "sim/claude-always", thinking_level: "high" });
assert.equal(session.thinking_level, "high");
const session_id = session.session_id;
const receipt = await connection.sendRequest("session/prompt",
	{ session_id, text: "Which date is later? [[sim: pace=0]]" });
assert.equal(receipt.disposition, "started");
assert.equal((await turnEnd).stop_reason, "end_turn");

const methods = seen.map((u) => u.method);
assert.deepEqual([...new Set(methods)].filter((m) => m !== "notice"), [
	"prompt", "turn_start", "message_start", "thinking_start", "thinking_delta", "thinking_end",
	"message_delta", "text_end", "message_end", "usage", "session_update", "turn_end"]);
let next = seen[0].first_seq ?? seen[0].seq;
for (const u of seen) {
	assert.equal(u.first_seq ?? u.seq, next, `${u.method} leaves a gap`);
	next = u.seq + 1;
}
for (const [delta, end] of [["thinking_delta", "thinking_end"], ["message_delta", "text_end"]]) {
	const blocks = new Map();
	for (const u of seen.filter((u) => u.method === delta)) blocks.set(u.block, (blocks.get(u.block) ?? "") + u.delta);
	for (const u of seen.filter((u) => u.method === end)) assert.equal(blocks.get(u.block), u.text, `${end} of block ${u.block}`);
}
assert.ok(seen.filter((u) => u.method === "thinking_end").every((u) => u.signed && u.text.length > 100));

const set = await connection.sendRequest("thinking/set", { session_id, level: "medium" });
assert.deepEqual([set.thinking_level, set.preferred_thinking_level, set.applies], ["medium", "medium", "now"]);
const page = await connection.sendRequest("session/history", { session_id });
assert.deepEqual(page.messages.map((m) => m.role), ["user", "assistant"]);
await assert.rejects(connection.sendRequest("thinking/set", { session_id, level: "enormous" }),
	(e) => e instanceof ResponseError && e.code === 1010 && e.data.thinking_levels.includes("high"));
await assert.rejects(connection.sendRequest("session/fly", {}), (e) => e.code === -32601);

connection.end();
daemon.stdin.end();
assert.equal(await exited, 0);
console.log(methods.join(" "));
