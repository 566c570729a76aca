// Updates that come before a program listens to the session.
import assert from "node:assert/strict";
import { test } from "node:test";

import { connect } from "thinkd-client";

/** A daemon that sends some notifications together with the response of each attach. */
function daemon(early) {
	const it = {
		open: async (to) => {
			it.notify = (seq) => to.message(JSON.stringify({ jsonrpc: "2.0", method: "session_update", params: { session_id: "s", seq, title: `${seq}` } }));
			return {
				send: (message) => {
					const { id, method } = JSON.parse(message);
					if (method !== "session/attach") return;
					to.message(JSON.stringify({ jsonrpc: "2.0", id, result: { seq: 4 } }));
					for (const seq of early.shift()) it.notify(seq);
				},
				close() {},
			};
		},
	};
	return it;
}

const numbers = (n) => Array.from({ length: n }, (_, i) => 5 + i);

function listen(session) {
	const heard = [];
	session.listen((update) => heard.push(update.params.seq));
	return heard;
}

test("updates wait for the first listener", async () => {
	const it = daemon([[5, 6], [5]]);
	const client = await connect(it);
	const session = await client.attach("s");
	const first = listen(session);
	assert.deepEqual(first, [5, 6]);
	const second = listen(session);
	it.notify(7);
	assert.deepEqual(first, [5, 6, 7]);
	assert.deepEqual(second, [7]);

	assert.equal(await client.attach("s"), session);
	assert.deepEqual(listen(session), [5], "another part of the program attaches to the session");
	client.close();
});

test("a session to which nobody listens keeps no more than 1,000 updates", async () => {
	const client = await connect(daemon([numbers(1000), numbers(1001)]));
	assert.deepEqual(listen(await client.attach("s")), numbers(1000));
	const other = await client.attach("s");
	const late = listen(other);
	assert.deepEqual(late, []);
	client.close();
});
