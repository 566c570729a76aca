// Holds a conversation with the daemon over the WebSocket that node has built in, as a page would.
// Usage: node websocket.mjs ADDRESS   Prints the notifications' methods in order; exits 1 with a reason.
import assert from "node:assert/strict";

const page = new URL(process.argv[2]);
const token = new URLSearchParams(page.hash.slice(1)).get("token");
const address = new URL("/rpc", page);
address.protocol = address.protocol.replace("http", "ws");

const socket = new WebSocket(address, ["thinkd.v1", "thinkd.token." + token]);
const pending = new Map();
const seen = [];
let ended;
const turnEnd = new Promise((resolve) => { ended = resolve; });
socket.onmessage = ({ data }) => {
	const message = JSON.parse(data);
	if (message.method) {
		seen.push(message.method);
		if (message.method === "turn_end") ended(message.params);
		return;
	}
	const { resolve, reject } = pending.get(message.id);
	message.error ? reject(new Error(message.error.message)) : resolve(message.result);
};
await new Promise((resolve, reject) => {
	socket.onopen = resolve;
	socket.onerror = (event) => reject(new Error(event.message));
});
assert.equal(socket.protocol, "thinkd.v1");

let id = 0;
const call = (method, params) => new Promise((resolve, reject) => {
	pending.set(++id, { resolve, reject });
	socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
});
const { session_id } = await call("session/new", { model_id: "sim/claude-always", thinking_level: "high" });
await call("session/prompt", { session_id, text: "Which date is later? ä, 日, 🙂 [[sim: pace=0]]" });
assert.equal((await turnEnd).stop_reason, "end_turn");
const { messages } = await call("session/history", { session_id });
assert.equal(messages[0].content[0].text.slice(0, 20), "Which date is later?");
assert.ok(JSON.stringify(await call("rpc.discover", {})).length > 10_000);

const closed = new Promise((resolve) => { socket.onclose = resolve; });
socket.close(1000, "bye");
assert.equal((await closed).code, 1000);
console.log(seen.join("\n"));
