// How long a client waits before it comes back: what the daemon said, and longer with each try that fails.
import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { connect } from "thinkd-client";

/** A daemon that answers initialize with `hello`, and whose lines can be cut and refused. */
function daemon(hello) {
	let receiver;
	const it = {
		refuse: false,
		cut: () => receiver.closed("cut", false),
		open: async (to) => {
			if (it.refuse) throw new Error("refused");
			receiver = to;
			return {
				send: (message) => {
					const { id, method } = JSON.parse(message);
					if (method === "initialize") to.message(JSON.stringify({ jsonrpc: "2.0", id, result: hello }));
				},
				close() {},
			};
		},
	};
	return it;
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** The pauses after `cuts` cuts, each followed by `failures` tries in vain and one that is not. */
async function pauses(hello, { cuts, failures = 0, longestPause, random }) {
	const now = mock.method(Date, "now", () => 0);
	const chance = random === undefined ? undefined : mock.method(Math, "random", () => random);
	const told = [];
	const it = daemon(hello);
	const client = await connect(it, { longestPause, onState: (state) => state.is === "waiting" && told.push(state.until) });
	for (let i = 0; i < cuts; i++) {
		it.refuse = failures > 0;
		it.cut();
		for (let n = 1; n <= failures; n++) {
			it.refuse = n < failures;
			client.retry();
			await settled();
		}
		if (failures === 0) {
			client.retry();
			await settled();
		}
		assert.equal(client.state.is, "open");
	}
	client.close();
	now.mock.restore();
	chance?.mock.restore();
	return told;
}

const crowd = { protocol_version: 1, reconnect: { min_ms: 100, max_ms: 5250 } };

test("any time between the bounds that the daemon gave", async () => {
	const all = (await pauses(crowd, { cuts: 300 })).sort((a, b) => a - b);
	assert.equal(all.length, 300);
	assert.ok(all[0] >= 100 && all[0] < 1000 && all[299] <= 5250 && all[299] > 4000, `from ${all[0]} to ${all[299]}`);
	const half = all.filter((pause) => pause < 2675).length;
	assert.ok(half > 100 && half < 200, `${half} of 300 in the first half`);
});

test("twice as long after each try that fails, up to 15 s, and then not all at once", async () => {
	assert.deepEqual(await pauses(crowd, { cuts: 1, failures: 5, random: 0 }), [100, 200, 400, 800, 1600]);
	assert.deepEqual(await pauses(crowd, { cuts: 2, failures: 3, random: 1 }), [5250, 10_500, 15_000, 5250, 10_500, 15_000]);
	assert.equal((await pauses(crowd, { cuts: 1, failures: 12, random: 0 })).at(-1), 7500);
});

test("the program's own bound holds, and an older daemon gives none", async () => {
	assert.deepEqual(await pauses(crowd, { cuts: 1, failures: 2, longestPause: 1000, random: 1 }), [1000, 1000]);
	assert.deepEqual(await pauses({ protocol_version: 1 }, { cuts: 1, failures: 3, random: 0 }), [125, 250, 500]);
	assert.deepEqual(await pauses({ protocol_version: 1 }, { cuts: 1, failures: 3, random: 1 }), [250, 500, 1000]);
});
