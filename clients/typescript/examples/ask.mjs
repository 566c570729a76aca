// Asks a question and prints the answer. Usage: node ask.mjs THINKD QUESTION   (THINKD is the program, with its flags)
import { connect } from "thinkd-client";
import { stdio } from "thinkd-client/stdio";

const [program, question] = process.argv.slice(2);
const [command, ...flags] = program.split(" ");
const client = await connect(stdio(command, [...flags, "stdio"]));
const session = await client.newSession();
const turn = await session.prompt(question);
for await (const { method, params } of turn) {
	if (method === "message_delta") process.stdout.write(params.delta);
}
console.log(`\n${(await turn.wait()).stop_reason}`);
client.close();
