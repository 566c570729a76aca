// Follows a turn over a kill of the daemon: kill -9 the daemon after "thinking". Usage: node resume.mjs THINKD
import { connect } from "thinkd-client";
import { stdio } from "thinkd-client/stdio";

const [command, ...flags] = process.argv[2].split(" ");
const client = await connect(stdio(command, [...flags, "stdio"]));
const session = await client.newSession();
const turn = await session.prompt("Take your time. [[sim: thinking=3000 pace=10]]");
let thinking = false;
for await (const { method, params } of turn) {
	if (method === "thinking_delta" && !thinking) {
		thinking = true;
		console.log("thinking");
	}
	if (method === "snapshot") console.log("snapshot", params.session.status);
}
console.log((await turn.wait()).stop_reason); // all that was published is kept
const again = await session.prompt("And now? [[sim: pace=0]]");
console.log((await again.wait()).stop_reason);
client.close();
