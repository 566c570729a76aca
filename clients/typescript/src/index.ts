/**
 * A client of thinkd. A Client is one connection that reconnects automatically. A Session follows one conversation and continues
 * after a lost connection. A Turn is the sequence of updates that one prompt causes.
 *
 * Guarantees: updates of a session arrive in order, each once. If they cannot be resumed (the daemon was restarted, or no longer has
 * them), the client gets one snapshot, and updates continue after it. Requests without a response are repeated if that has no second
 * effect.
 */
export { Client, type AskDelta, connect, type Settings, type State } from "./client.js";
export { ClosedError, LostError, RpcError } from "./errors.js";
export type { Hosting, Tool } from "./host.js";
export { Session, type Snapshot, type SessionUpdate } from "./session.js";
export { Turn } from "./turn.js";
export type { Line, Receiver, Transport } from "./transport.js";
export { addressOf, webSocket, type Address, type WebSocketLike } from "./websocket.js";
export type * from "./types.js";
export type { Notification, Update } from "./update.js";
