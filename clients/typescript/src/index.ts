/**
 * A client of thinkd. A Client is one connection that comes back by itself; a Session follows one conversation and
 * goes on where it was after the line was cut; a Turn is what the model does about one prompt, update by update.
 *
 * Guarantees: updates of a session come in order, each once. What cannot be resumed update by update (the daemon was
 * restarted, or remembers no more) comes as one snapshot, after which updates go on. Requests whose answer was lost
 * with the line are asked again where asking twice does nothing twice.
 */
export { Client, connect, type Settings, type State } from "./client.js";
export { ClosedError, LostError, RpcError } from "./errors.js";
export { Session, type Snapshot, type Told } from "./session.js";
export { Turn } from "./turn.js";
export type { Line, Receiver, Transport } from "./transport.js";
export { addressOf, webSocket, type Address } from "./websocket.js";
export type * from "./types.js";
export type { Notification, Update } from "./update.js";
