// Streams thinking and the answer, and says which level is in effect. Usage: node thinking.mjs THINKD QUESTION
import { connect } from "thinkd-client";
import { stdio } from "thinkd-client/stdio";

const [program, question] = process.argv.slice(2);
const [command, ...flags] = program.split(" ");
const client = await connect(stdio(command, [...flags, "stdio"]));
const session = await client.newSession({ model_id: "sim/claude", thinking_level: "minimal" });
for await (const { method, params } of await session.prompt(question)) {
	switch (method) {
		case "turn_start":
			console.log(`${params.reasoning.requested_effort} gives ${params.reasoning.effective_effort}: ${params.reasoning.reason}`);
			break;
		case "thinking_delta":
		case "message_delta":
			process.stdout.write(params.delta);
			break;
		case "thinking_end":
			console.log("\n---");
			break;
		case "turn_end":
			console.log(`\n${params.stop_reason}`);
	}
}
client.close();
