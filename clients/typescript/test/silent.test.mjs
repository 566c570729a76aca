// A connection that is lost without a word: the client asks, and then opens another one.
import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { connect, webSocket } from "thinkd-client";

const settled = () => new Promise((resolve) => setImmediate(resolve));

beforeEach(() => mock.timers.enable({ apis: ["setTimeout", "Date"] }));

/** A daemon whose connections can fall silent. */
function daemon() {
	const it = {
		patience: 1000,
		silent: false,
		unsent: 0,
		lines: [], // of each connection, what was sent, and whether the client has closed it
		open: async (to) => {
			const line = { sent: [], closed: false, to };
			it.lines.push(line);
			return {
				send: (message) => {
					const { id, method } = JSON.parse(message);
					line.sent.push(method);
					if (!it.silent) to.message(JSON.stringify({ jsonrpc: "2.0", id, result: {} }));
				},
				close: () => (line.closed = true),
				unsent: () => it.unsent,
			};
		},
	};
	return it;
}

test("a silent connection is asked, and replaced if it does not answer", async () => {
	const it = daemon();
	const client = await connect(it);
	mock.timers.tick(1000);
	mock.timers.tick(1000);
	assert.deepEqual(it.lines[0].sent, ["initialize", "ping", "ping"], "each answer counts as a sign of life");
	assert.equal(client.state.is, "open");

	it.silent = true;
	const answer = client.call("models/list", {});
	mock.timers.tick(1000);
	assert.equal(client.state.is, "open");
	mock.timers.tick(1000);
	assert.equal(client.state.is, "waiting");
	assert.ok(it.lines[0].closed);

	it.silent = false;
	client.retry();
	await settled();
	assert.deepEqual(it.lines[1].sent, ["initialize", "models/list"]);
	assert.deepEqual(await answer, {});

	// What the first connection still delivers does not count.
	it.lines[0].to.closed("late", false);
	assert.equal(client.state.is, "open");
	client.close();
	mock.timers.reset();
});

test("messages keep a connection alive without pings", async () => {
	const it = daemon();
	const client = await connect(it);
	for (let n = 0; n < 5; n++) {
		mock.timers.tick(999);
		it.lines[0].to.message(JSON.stringify({ jsonrpc: "2.0", method: "list_update", params: {} }));
		mock.timers.tick(1);
	}
	assert.deepEqual(it.lines[0].sent, ["initialize"]);
	client.close();
	mock.timers.reset();
});

test("a connection over which a large message is on its way is not replaced", async () => {
	const it = daemon();
	const client = await connect(it);
	it.silent = true;
	const answer = client.call("models/list", {});
	for (it.unsent = 5000; it.unsent > 0; it.unsent -= 1000) {
		mock.timers.tick(1000);
		assert.equal(client.state.is, "open", `${it.unsent} bytes wait`);
	}
	mock.timers.tick(1000); // the last of it is on its way, and so is a ping
	assert.equal(client.state.is, "open");
	assert.deepEqual(it.lines[0].sent, ["initialize", "models/list", "ping"]);
	mock.timers.tick(1000);
	assert.equal(client.state.is, "waiting", "nothing is sent or received any more");
	client.close();
	await assert.rejects(answer);
	mock.timers.reset();
});

test("a WebSocket that does not open is given up after 20 s", async () => {
	const made = [];
	class Silent {
		constructor() {
			made.push(this);
		}
		close() {
			this.closed = true;
		}
	}
	const opening = connect(webSocket({ url: "ws://127.0.0.1:1/rpc", token: "" }, Silent));
	mock.timers.tick(20_000);
	await assert.rejects(opening, /no answer for 20 s/);
	assert.ok(made[0].closed);
	mock.timers.reset();
});
