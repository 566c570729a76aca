// A node that cannot serve a session for a while says when to ask again. The session is followed on from where it was.
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { connect } from "thinkd-client";

const settled = () => new Promise((resolve) => setImmediate(resolve));

beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
afterEach(() => mock.timers.reset());

const cutOff = (retry_after_ms) => ({ error: { code: 1006, message: "cut off", data: { kind: "cut_off", retry_after_ms } } });

/** A daemon that gives the next of `answers` to each attach. The last one is for all that follow. */
function daemon(answers) {
	const it = {
		asked: [], // the after_seq of each attach
		open: async (to) => {
			it.to = to;
			return {
				send: (message) => {
					const { id, method, params } = JSON.parse(message);
					let answer = { result: {} };
					if (method === "session/attach") {
						it.asked.push(params.after_seq);
						answer = answers.length > 1 ? answers.shift() : answers[0];
					}
					to.message(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
				},
				close() {},
			};
		},
		notify: (method, params) => it.to.message(JSON.stringify({ jsonrpc: "2.0", method, params: { session_id: "s", ...params } })),
	};
	return it;
}

const title = (seq) => ({ method: "session_update", params: { session_id: "s", seq, title: `${seq}` } });

test("a session is followed again after the time that the node names", async () => {
	const it = daemon([{ result: { seq: 4 } }, cutOff(1000), cutOff(0), { result: { seq: 6, updates: [title(5), title(6)] } }]);
	const client = await connect(it);
	const session = await client.attach("s");
	const heard = [];
	session.listen((update) => heard.push(update.params.seq));

	it.notify("stale", { after_seq: 4 });
	assert.deepEqual(it.asked, [undefined, 4]);
	mock.timers.tick(999);
	assert.equal(it.asked.length, 2);
	mock.timers.tick(1);
	assert.equal(it.asked.length, 3);
	mock.timers.tick(99);
	assert.equal(it.asked.length, 3, "no node is asked more than ten times a second");
	mock.timers.tick(1);
	assert.deepEqual(it.asked, [undefined, 4, 4, 4]);
	assert.deepEqual(heard, [5, 6]);
	it.notify("session_update", { seq: 7 });
	assert.deepEqual(heard, [5, 6, 7]);
	client.close();
});

test("a new connection asks at once, and nobody asks for a session that was left or deleted", async () => {
	const it = daemon([{ result: { seq: 4 } }, cutOff(5000)]);
	const client = await connect(it);
	const session = await client.attach("s");
	it.notify("stale", { after_seq: 4 });
	it.to.closed("cut", false);
	client.retry();
	await settled();
	assert.equal(it.asked.length, 3);
	mock.timers.tick(5000);
	assert.equal(it.asked.length, 4, "one timer, and not two");
	await session.leave();
	mock.timers.tick(60_000);
	assert.equal(it.asked.length, 4);

	const gone = daemon([{ result: { seq: 4 } }, { error: { code: 1001, message: "not found", data: { kind: "not_found" } } }]);
	const other = await connect(gone);
	const deleted = await other.attach("s");
	let ended = false;
	deleted.onEnd(() => (ended = true));
	gone.notify("stale", { after_seq: 4 });
	mock.timers.tick(60_000);
	assert.ok(ended);
	assert.equal(gone.asked.length, 2);
	client.close();
	other.close();
});
