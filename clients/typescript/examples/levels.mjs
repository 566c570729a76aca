// Lists the available models, and the level that each would use for "max".
// Usage: node levels.mjs THINKD   (THINKD is the program, with its flags)
import { connect } from "thinkd-client";
import { stdio } from "thinkd-client/stdio";

const [command, ...flags] = process.argv[2].split(" ");
const client = await connect(stdio(command, [...flags, "stdio"]));
const session = await client.newSession();
const { models } = await client.call("models/list", {});
for (const model of models.filter((m) => m.available)) {
	const { reasoning } = await client.call("thinking/explain", {
		session_id: session.id, model_id: `${model.provider}/${model.id}`, level: "max",
	});
	console.log(`${model.provider}/${model.id}: max gives ${reasoning.effective_effort} (${reasoning.reason})`);
}
await client.call("session/delete", { session_id: session.id });
client.close();
