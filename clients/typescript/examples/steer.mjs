// Queues prompts while a turn runs, edits and moves them, and steers. Usage: node steer.mjs THINKD
import { connect } from "thinkd-client";
import { stdio } from "thinkd-client/stdio";

const [command, ...flags] = process.argv[2].split(" ");
const client = await connect(stdio(command, [...flags, "stdio"]));
const session = await client.newSession();
const first = await session.prompt("One. [[sim: thinking=3000 pace=10]]");
for await (const { method } of first) {
	if (method === "thinking_delta") break;
}
const second = await session.prompt("Two.");
const third = await session.prompt("Three. [[sim: pace=0]]");
await second.edit("Two, edited. [[sim: pace=0]]");
await third.move(second);
const steering = await session.steer("Be quick. [[sim: pace=0]]");
console.log(first.disposition, second.disposition, third.disposition, steering.disposition);
for (const waiting of await session.queue()) console.log(waiting.text);
for (const turn of [third, first]) console.log("cancelled", await turn.cancel());
for (const turn of [first, steering, second, third]) console.log((await turn.wait()).stop_reason);
client.close();
