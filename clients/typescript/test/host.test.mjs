// Tools and questions over lost connections: each is taken once.
import assert from "node:assert/strict";
import { test } from "node:test";

import { connect } from "thinkd-client";

test("a call runs once, a question is asked once, and only the result and the answer are sent again", async () => {
	let receiver;
	const got = [];
	const transport = {
		open: async (to) => {
			receiver = to;
			return { send: (message) => got.push(JSON.parse(message)), close() {} };
		},
	};
	const send = (message) => receiver.message(JSON.stringify({ jsonrpc: "2.0", ...message }));
	const settled = () => new Promise((resolve) => setImmediate(resolve));
	const client = await connect(transport);
	let runs = 0;
	const asked = [];
	const made = client.newSession(
		{},
		{
			tools: [{ name: "lookup", description: "Looks up a word.", run: ({ word }) => `${word} ${++runs}` }],
			approve: ({ confirm_id }) => (asked.push(confirm_id), "allow"),
		},
	);
	const creation = got.find((m) => m.method === "session/new");
	assert.deepEqual(creation.params.tools, [{ name: "lookup", description: "Looks up a word." }]);
	send({ id: creation.id, result: { session_id: "S" } });
	await made;

	const call = { call_id: "K", name: "lookup", host: "client", arguments: { word: "date" } };
	send({ method: "confirm", params: { session_id: "S", seq: 1, confirm_id: "C", message: "", parts: [] } });
	send({ method: "tool_start", params: { session_id: "S", seq: 2, ...call } });
	send({ method: "tool_start", params: { session_id: "S", seq: 3, ...call, call_id: "M", host: "mcp" } });
	await settled();
	const results = () => got.filter((m) => m.method === "tool/result");
	assert.equal(results().length, 1);
	assert.equal(results()[0].params.content[0].text, "date 1");

	receiver.closed("cut", false);
	client.retry();
	await settled();
	const resumed = got.findLast((m) => m.method === "session/attach");
	send({ id: resumed.id, result: { session: {}, seq: 9, messages: [], open: { tools: [call], confirms: [{ confirm_id: "C" }, { confirm_id: "D" }] } } });
	await settled();
	assert.equal(runs, 1, "the call ran before");
	assert.equal(results().length, 2, "its response was lost");
	assert.deepEqual(asked, ["C", "D"], "the first question was asked before");
	const answers = got.filter((m) => m.method === "confirm/answer").map((m) => m.params.confirm_id).sort();
	assert.deepEqual(answers, ["C", "C", "D"], "its answer was lost");
	client.close();
});
