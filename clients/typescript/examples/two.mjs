// Two clients follow one session: both get the same answer. Usage: node two.mjs THINKD QUESTION
import { connect } from "thinkd-client";
import { stdio } from "thinkd-client/stdio";

/** The text of the next turn. Any client may have sent its prompt. */
function collect(session) {
	let text = "";
	return new Promise((resolve) =>
		session.listen(({ method, params }) => {
			if (method === "message_delta") text += params.delta;
			if (method === "turn_end") resolve(text);
		}),
	);
}

const [program, question] = process.argv.slice(2);
const [command, ...flags] = program.split(" ");
const transport = stdio(command, [...flags, "stdio"]);
const first = await connect(transport, { client: { name: "first", version: "1" } });
const second = await connect(transport, { client: { name: "second", version: "1" } });
const asking = await first.newSession();
const watching = await second.attach(asking.id);
const texts = [collect(asking), collect(watching)];
await asking.prompt(question);
const [one, other] = await Promise.all(texts);
console.log(one);
console.log(one === other ? "the same" : "different");
first.close();
second.close();
