// What a program with strict settings does with the package. .ci/nightly compiles it against the packed one.
import { addressOf, connect, type Hosting, type SessionUpdate, webSocket, type WebSocketLike } from "thinkd-client";
import { stdio } from "thinkd-client/stdio";

declare const Socket: new (url: string, protocols: string[]) => WebSocketLike;

const hosting: Hosting = {
	tools: [{ name: "lookup", input_schema: {}, run: (args) => String(args["word"]) }],
	approve: ({ actions }) => actions[0] ?? "deny",
};
const client = await connect(process.argv[2] ? webSocket(addressOf(process.argv[2]), Socket) : stdio());
const session = await client.newSession({ thinking_level: "high" }, hosting);
const turn = await session.prompt({ text: "Which date is later?", when_busy: "queue" });
for await (const update of turn) show(update);
const cancelled: boolean = await turn.cancel();
console.log(cancelled, (await session.queue()).length);

function show(update: SessionUpdate): void {
	switch (update.method) {
		case "thinking_delta":
			console.log(update.params.delta.length);
			break;
		case "turn_end": {
			const reason: "end_turn" | string = update.params.stop_reason;
			console.log(reason);
			break;
		}
		case "snapshot":
			console.log(update.params.session.status === "idle");
	}
}

// @ts-expect-error: no such level
await client.newSession({ thinking_level: "extreme" });
// @ts-expect-error: no such method
await client.call("no/such", {});
