// Runs a tool of its own, after its user has approved the call. Usage: node tool.mjs THINKD QUESTION
import { connect } from "thinkd-client";
import { stdio } from "thinkd-client/stdio";

const lookup = {
	name: "lookup",
	description: "Looks up a word.",
	input_schema: { type: "object", properties: { word: { type: "string" } }, required: ["word"] },
	run({ word }) {
		console.log("lookup", word);
		return `${word}: 2026-03-01`;
	},
};

function approve({ message, parts }) {
	console.log(message, ...parts.map((part) => `${part.name} ${part.text}`));
	return "allow"; // a real client asks its user, and shows all parts
}

const [program, question] = process.argv.slice(2);
const [command, ...flags] = program.split(" ");
const client = await connect(stdio(command, [...flags, "stdio"]), { capabilities: { tools: true, confirm: true } });
const session = await client.newSession({ tool_policy: { names: { lookup: "ask" } } }, { tools: [lookup], approve });
for await (const { method, params } of await session.prompt(question)) {
	if (method === "tool_end") console.log("result", params.content[0].text);
	if (method === "turn_end") console.log(params.stop_reason);
}
client.close();
