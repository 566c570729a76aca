// session/fork is called where the daemon serves it, which it tells itself: the types of this build may not have it.
import type { Client } from "../../clients/typescript/src/index.js";

const method = "session/fork";

export async function canFork(client: Client): Promise<boolean> {
	const document = (await client.call("rpc.discover", {})) as { methods: { name: string }[] };
	return document.methods.some((m) => m.name === method);
}

/** Makes a session of what is before, up to a message and with it, and gives its id. */
export async function fork(client: Client, session_id: string, message_id?: string): Promise<string> {
	const call = client.call.bind(client) as unknown as (method: string, params: object) => Promise<{ session_id: string }>;
	return (await call(method, { session_id, ...(message_id && { message_id }) })).session_id;
}
