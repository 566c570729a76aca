// The tool of the first visit: a model asks for the time, the daemon asks the reader for approval, and this page sends the time.
// It shows how a client runs tools.
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

/** Runs a call of this page's tool. Calls of other tools are for other clients. The first result counts. */
export async function runHere(client: Client, sessionId: string, call: { call_id: string; name: string }): Promise<void> {
	if (call.name !== "local_time") return;
	const text = new Date().toString();
	try {
		await client.call("tool/result", { session_id: sessionId, call_id: call.call_id, content: [{ type: "text", text }] });
	} catch {
		// Another window was first, or the turn has ended: tool_end says so.
	}
}
