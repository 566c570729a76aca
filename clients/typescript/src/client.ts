import { ClosedError, LostError, RpcError } from "./errors.js";
import type { Hosting } from "./host.js";
import { Session } from "./session.js";
import type { Line, Transport } from "./transport.js";
import type { Error as Failure, Methods, Notifications } from "./types.js";
import type { Notification, Update } from "./update.js";

/** State of the connection. `waiting` ends at `until` (Unix milliseconds), or with {@link Client.retry}. */
export type State =
	| { is: "connecting" }
	| { is: "open" }
	| { is: "waiting"; reason: string; until: number }
	| { is: "closed"; reason: string };

export interface Settings {
	/** The name and version of this client, for the daemon's log, and whether a person uses it. */
	client?: { name: string; version: string; attended?: boolean };
	/** Optional abilities of this client. */
	capabilities?: Record<string, unknown>;
	/** Called for each change of state. */
	onState?: (state: State) => void;
	/** Called for each notification without a session, such as `auth_update`. */
	onNotification?: (notification: Notification) => void;
	/** Called for each message in both directions, as it is on the wire. */
	onMessage?: (text: string, sent: boolean) => void;
	/** The longest pause between two attempts, in milliseconds: 15,000 if absent. */
	longestPause?: number;
}

type Method = keyof Methods;
type Params<M extends Method> = Methods[M]["params"];
type Result<M extends Method> = Methods[M]["result"];

interface Pending {
	method: string;
	message: string;
	again: boolean; // the request can be repeated without a second effect
	settle: (error: Error | undefined, result: unknown) => void;
}

// Methods that must not run twice. Those that accept a client_id get one, and are repeated with it.
const once = new Set<string>(["session/ask", "turn/resume", "session/compact", "auth/login", "confirm/answer", "tool/result"]);
const remembered = new Set<string>(["session/new", "session/fork", "session/prompt", "session/append", "session/continue"]);

/** A piece of the answer to a side question. */
export type AskDelta = Notifications["ask_delta"];

// The ids of the client's own requests; others count from 1.
const greeting = 0;
const check = -1;

/** connect opens the first connection, and rejects if that fails. Later the client reconnects until it is closed. */
export async function connect(transport: Transport, settings: Settings = {}): Promise<Client> {
	const client = new Client(transport, settings);
	await client.open();
	return client;
}

export class Client {
	state: State = { is: "connecting" };
	/** What the daemon said of itself, and of what this client may ask for; undefined before the first connection. */
	daemon: Result<"initialize"> | undefined;
	private line: Line | undefined;
	private nextId = 1;
	private tries = 0;
	private pauses: Result<"initialize">["reconnect"] = { min_ms: 125, max_ms: 250 }; // until the daemon sends its own
	private timer: ReturnType<typeof setTimeout> | undefined; // of the next attempt
	private pulse: ReturnType<typeof setTimeout> | undefined; // of the next look at a silent connection
	private heard = 0; // when the last message came, in Unix milliseconds
	private unanswered = false; // a ping was sent after that
	private unsent = 0; // how much waited to be sent at the last look
	private readonly pending = new Map<number, Pending>();
	private readonly sessions = new Map<string, Session>();
	private readonly answers = new Map<string, (delta: AskDelta) => void>(); // of side questions, by ask_id

	constructor(
		private readonly transport: Transport,
		private readonly settings: Settings = {},
	) {}

	/** Opens the connection, once. Use {@link connect}, unless you watch the state meanwhile. */
	async open(): Promise<void> {
		this.become({ is: "connecting" });
		let opened: Line | undefined;
		const current = () => !opened || this.line === opened; // what comes later from a connection that was given up does not count
		try {
			opened = await this.transport.open({
				message: (text) => current() && this.receive(text),
				closed: (reason, final) => current() && this.lost(reason, final),
			});
		} catch (error) {
			if (this.state.is !== "closed") this.wait((error as Error).message);
			throw error;
		}
		if ((this.state as State).is === "closed") {
			opened.close(); // close() was called while it opened
			throw new ClosedError("the client was closed");
		}
		const pending = [...this.pending.values()];
		this.line = opened;
		this.tries = 0;
		this.heard = Date.now();
		this.unsent = 0;
		this.unanswered = false;
		this.watch();
		this.greet();
		for (const session of this.sessions.values()) session.resume();
		for (const p of pending) this.write(p.message);
		this.become({ is: "open" });
	}

	/** Reconnects at once. */
	retry(): void {
		if (this.state.is !== "waiting") return;
		clearTimeout(this.timer);
		this.open().catch(() => {}); // wait() has reported why
	}

	/** Closes the client. Turns continue in the daemon. */
	close(reason = "the client was closed"): void {
		clearTimeout(this.timer);
		clearTimeout(this.pulse);
		this.become({ is: "closed", reason });
		this.line?.close();
		this.line = undefined;
		for (const p of this.pending.values()) p.settle(new ClosedError(reason), undefined);
		this.pending.clear();
		for (const s of this.sessions.values()) s.ended();
		this.sessions.clear();
	}

	/** Calls a method of protocol.md. It rejects with an RpcError, a LostError or a ClosedError. */
	call<M extends Method>(method: M, params: Params<M>): Promise<Result<M>> {
		return new Promise((resolve, reject) =>
			this.request(method, params, (error, result) => (error ? reject(error) : resolve(result))),
		);
	}

	/**
	 * Like call, but settles while the response is read, before any later update. A promise would settle too late, because several
	 * messages may arrive together.
	 */
	request<M extends Method>(method: M, params: Params<M>, settle: (error: Error | undefined, result: Result<M>) => void): void {
		if (this.state.is === "closed") {
			settle(new ClosedError(this.state.reason), undefined as unknown as Result<M>);
			return;
		}
		const id = this.nextId++;
		const full = remembered.has(method) ? { client_id: randomId(), ...params } : params;
		const message = JSON.stringify({ jsonrpc: "2.0", id, method, params: full });
		this.pending.set(id, { method, message, again: !once.has(method), settle: settle as Pending["settle"] });
		if (this.line) this.write(message); // otherwise after the next connect
	}

	/** Asks a side question of a session. See {@link Session.ask}. */
	async ask(params: Params<"session/ask">, heard?: (delta: AskDelta) => void, signal?: AbortSignal): Promise<Result<"session/ask">> {
		signal?.throwIfAborted();
		const ask_id = randomId();
		if (heard) this.answers.set(ask_id, heard);
		const id = this.nextId;
		const cancel = () => this.cancel(id, signal?.reason);
		signal?.addEventListener("abort", cancel);
		try {
			return await this.call("session/ask", { ...params, ...(heard && { ask_id }) });
		} finally {
			signal?.removeEventListener("abort", cancel);
			this.answers.delete(ask_id);
		}
	}

	/** Cancels a request. The daemon answers it with an error. A request that waits for a connection is not sent any more. */
	private cancel(id: number, reason: unknown): void {
		const p = this.pending.get(id);
		if (!p) return;
		if (this.line) {
			this.write(JSON.stringify({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id } }));
			return;
		}
		this.pending.delete(id);
		p.settle(reason instanceof Error ? reason : new Error(String(reason)), undefined);
	}

	/** Creates a session and subscribes to it. The tools of `hosting` are offered to its models. */
	newSession(params: Params<"session/new"> = {}, hosting: Hosting = {}): Promise<Session> {
		const offers = hosting.tools?.map(({ run: _, ...offer }) => offer);
		const full = offers ? { ...params, tools: [...(Array.isArray(params.tools) ? params.tools : []), ...offers] } : params;
		return new Promise((resolve, reject) =>
			this.request("session/new", full, (error, made) => {
				if (error) reject(error);
				else resolve(this.follow(new Session(this, made.session_id, 0, hosting)));
			}),
		);
	}

	/** Subscribes to a session: its current state, then all updates. `limit` is the number of older messages. */
	attach(sessionId: string, limit?: number, hosting?: Hosting): Promise<Session> {
		const session = this.sessions.get(sessionId) ?? new Session(this, sessionId, undefined, hosting);
		return new Promise((resolve, reject) =>
			session.begin(limit, (error) => {
				if (error) reject(error);
				else resolve(this.follow(session));
			}),
		);
	}

	/** Called by a Session on leave. */
	forget(session: Session): void {
		this.sessions.delete(session.id);
	}

	private follow(session: Session): Session {
		this.sessions.set(session.id, session);
		return session;
	}

	private greet(): void {
		const client = this.settings.client ?? { name: "thinkd-client", version: "0.1.0" };
		const capabilities = this.settings.capabilities;
		const params = { protocol_version: 1, client, ...(capabilities && { capabilities }) };
		this.write(JSON.stringify({ jsonrpc: "2.0", id: greeting, method: "initialize", params }));
	}

	private write(message: string): void {
		this.settings.onMessage?.(message, true);
		this.line?.send(message);
	}

	/** Looks after a connection that can be lost without a word. It ends with the connection. */
	private watch(): void {
		const { patience } = this.transport;
		clearTimeout(this.pulse);
		if (!patience || !this.line) return;
		this.pulse = setTimeout(() => {
			const unsent = this.line?.unsent?.() ?? 0;
			const sending = unsent < this.unsent; // a large message is on its way, and a ping waits behind it
			this.unsent = unsent;
			if (this.unanswered && !sending) {
				this.line?.close();
				this.lost(`no answer for ${patience / 1000} s`, false);
				return;
			}
			if (!this.unanswered && Date.now() - this.heard >= patience) {
				this.unanswered = true;
				this.write(JSON.stringify({ jsonrpc: "2.0", id: check, method: "ping" }));
			}
			this.watch();
		}, patience);
	}

	private receive(text: string): void {
		this.heard = Date.now();
		this.unanswered = false;
		if (!text) return;
		this.settings.onMessage?.(text, false);
		const message = JSON.parse(text) as { id?: number; method?: string; params?: { session_id?: string }; result?: unknown; error?: Failure };
		if (message.method) {
			const id = message.params?.session_id;
			if (message.method === "stale") this.sessions.get(id ?? "")?.resume();
			else if (message.method === "ask_delta") this.answers.get((message.params as AskDelta).ask_id)?.(message.params as AskDelta);
			else if (id) this.sessions.get(id)?.receive(message as Update);
			else this.settings.onNotification?.(message as Notification);
			return;
		}
		if (message.id === greeting) {
			this.daemon = message.result as Result<"initialize">;
			if (this.daemon?.reconnect) this.pauses = this.daemon.reconnect; // an older daemon sends none
			return;
		}
		const p = this.pending.get(message.id ?? -1);
		if (!p) return;
		this.pending.delete(message.id as number);
		p.settle(message.error && new RpcError(message.error), message.result);
	}

	private lost(reason: string, final: boolean): void {
		if (this.state.is === "closed") return;
		clearTimeout(this.pulse);
		this.line = undefined;
		for (const [id, p] of this.pending) {
			if (p.again) continue;
			this.pending.delete(id);
			p.settle(new LostError(p.method), undefined);
		}
		if (final) this.close(reason);
		else this.wait(reason);
	}

	private wait(reason: string): void {
		// A random time between bounds that double: all clients of a daemon lose their connections at once (protocol.md, "Reconnect").
		const longest = Math.min(this.settings.longestPause ?? 15_000, this.pauses.max_ms * 2 ** this.tries);
		const shortest = Math.min(longest / 2, this.pauses.min_ms * 2 ** this.tries);
		this.tries++;
		const pause = shortest + (longest - shortest) * Math.random();
		this.timer = setTimeout(() => this.retry(), pause);
		this.become({ is: "waiting", reason, until: Date.now() + pause });
	}

	private become(state: State): void {
		this.state = state;
		this.settings.onState?.(state);
	}
}

// Not crypto.randomUUID: pages have it only in secure contexts.
function randomId(): string {
	return Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
}
