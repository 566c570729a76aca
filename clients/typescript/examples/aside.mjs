// Adds a fact without a model call, sends a prompt, and asks a side question while its turn runs. Usage: node aside.mjs THINKD
import { connect } from "thinkd-client";
import { stdio } from "thinkd-client/stdio";

const [command, ...flags] = process.argv[2].split(" ");
const client = await connect(stdio(command, [...flags, "stdio"]));
const session = await client.newSession();
await session.append("The tests are in cart_test.go."); // no model call: the prompt below sends it
for await (const { method } of await session.prompt("Run them. [[sim: thinking=2000 pace=50]]")) {
	if (method !== "turn_start") continue;
	// Only this connection gets the answer, and nothing of it is recorded. An AbortSignal as the third argument would stop it.
	const { text, usage } = await session.ask("Where are the tests? [[sim: pace=0]]", ({ kind, delta }) => kind === "text" && process.stdout.write(delta));
	console.log(`\nside question: ${text.length} characters, ${usage.output_tokens} tokens`);
	await session.cancel();
}
client.close();
