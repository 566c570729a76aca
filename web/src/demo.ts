// The tool of the first visit: a model asks for the time, the daemon asks the reader, and this page tells it. It shows
// how a client hosts tools.
import type { Client, Methods } from "../../clients/typescript/src/index.js";

export const demoTool = {
	tools: [{
		name: "local_time",
		description: "Tells the local time of the reader.",
		input_schema: { type: "object", properties: {} },
		title: "Look at the clock",
		effect: "read",
	}],
	tool_policy: { names: { local_time: "ask" } },
} satisfies Pick<Methods["session/new"]["params"], "tools" | "tool_policy">;

/** Runs a call of a tool that this page has; what it does not know is another client's. The first answer counts. */
export async function runHere(client: Client, sessionId: string, call: { call_id: string; name: string }): Promise<void> {
	if (call.name !== "local_time") return;
	const text = new Date().toString();
	try {
		await client.call("tool/result", { session_id: sessionId, call_id: call.call_id, content: [{ type: "text", text }] });
	} catch {
		// Another window of this page was first, or the turn has ended: its tool_end says so.
	}
}
