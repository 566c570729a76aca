// Side questions: the pieces of the answer, and what becomes of a question that is cancelled or whose connection is lost.
import assert from "node:assert/strict";
import { test } from "node:test";

import { connect, LostError } from "thinkd-client";

/** A daemon that keeps what it gets, and answers when the test says so. */
function daemon() {
	let receiver;
	const it = {
		refuse: false,
		got: [],
		cut: () => receiver.closed("cut", false),
		send: (message) => receiver.message(JSON.stringify({ jsonrpc: "2.0", ...message })),
		asked: () => it.got.filter((m) => m.method === "session/ask"),
		cancelled: () => it.got.filter((m) => m.method === "$/cancelRequest").map((m) => m.params.id),
		open: async (to) => {
			if (it.refuse) throw new Error("refused");
			receiver = to;
			return { send: (message) => it.got.push(JSON.parse(message)), close() {} };
		},
	};
	return it;
}

const question = { session_id: "S", text: "What was it called?" };

test("a listener gets the pieces of its own question, up to the answer", async () => {
	const it = daemon();
	const client = await connect(it);
	const heard = [];
	const answer = client.ask(question, (d) => heard.push(d.delta));
	const [{ id, params }] = it.asked();
	it.send({ method: "ask_delta", params: { session_id: "S", ask_id: params.ask_id, kind: "text", delta: "Set" } });
	it.send({ method: "ask_delta", params: { session_id: "S", ask_id: "another", kind: "text", delta: "x" } });
	it.send({ id, result: { text: "SetNow." } });
	assert.equal((await answer).text, "SetNow.");
	it.send({ method: "ask_delta", params: { session_id: "S", ask_id: params.ask_id, kind: "text", delta: "late" } });
	assert.deepEqual(heard, ["Set"]);
	client.close();
});

test("a cancelled question is cancelled at the daemon, and one that was not sent is never sent", async () => {
	const it = daemon();
	const client = await connect(it);
	const stop = new AbortController();
	const sent = client.ask(question, undefined, stop.signal);
	stop.abort();
	const [{ id }] = it.asked();
	assert.deepEqual(it.cancelled(), [id]);
	it.send({ id, error: { code: -32800, message: "the request was cancelled", data: { kind: "cancelled" } } });
	await assert.rejects(sent, { kind: "cancelled" });

	it.refuse = true;
	it.cut();
	const later = new AbortController();
	const waiting = client.ask(question, undefined, later.signal);
	later.abort(new Error("not any more"));
	await assert.rejects(waiting, /not any more/);
	await assert.rejects(client.ask(question, undefined, later.signal), /not any more/); // aborted before
	it.refuse = false;
	client.retry();
	await new Promise((resolve) => setImmediate(resolve));
	assert.equal(client.state.is, "open");
	assert.equal(it.asked().length, 1, "no question after it was cancelled");
	client.close();
});

test("what costs money and has no client_id is not repeated after a lost connection", async () => {
	const it = daemon();
	const client = await connect(it);
	const calls = [client.ask(question), client.call("turn/resume", { session_id: "S", turn_id: "T" })];
	it.cut();
	for (const call of calls) await assert.rejects(call, LostError);
	client.retry();
	await new Promise((resolve) => setImmediate(resolve));
	assert.equal(it.got.filter((m) => m.method === "session/ask" || m.method === "turn/resume").length, 2);
	client.close();
});
