// Sends a question to a model and shows its thinking. Usage: node ask.mjs THINKD QUESTION   (THINKD is the program, with its flags)
import { connect } from "thinkd-client";
import { stdio } from "thinkd-client/stdio";

const [program, question] = process.argv.slice(2);
const [command, ...flags] = program.split(" ");
const client = await connect(stdio(command, [...flags, "stdio"]));
const session = await client.newSession({ thinking_level: "high" });
for await (const { method, params } of await session.prompt(question)) {
	switch (method) {
		case "thinking_delta":
			process.stderr.write(params.delta);
			break;
		case "message_delta":
			process.stdout.write(params.delta);
			break;
		case "turn_end":
			process.stderr.write(`\n${params.stop_reason} after ${params.duration_ms} ms\n`);
	}
}
client.close();
