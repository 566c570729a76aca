import type { AskDelta, Client } from "./client.js";
import { Turn } from "./turn.js";
import { RpcError } from "./errors.js";
import { Host, type Hosting } from "./host.js";
import type { Methods } from "./types.js";
import type { Update } from "./update.js";

/**
 * A Snapshot is the current state of the session. It replaces everything that a listener has of unfinished turns. Blocks have
 * numbers: a listener that finds them by message and number need not clear anything.
 */
export interface Snapshot {
	method: "snapshot";
	params: Methods["session/attach"]["result"];
}

/** What the listeners of a session get. */
export type SessionUpdate = Update | Snapshot;

type Prompt = Omit<Methods["session/prompt"]["params"], "session_id">;
type Question = Omit<Methods["session/ask"]["params"], "session_id" | "ask_id">;
type Resumption = Omit<Methods["turn/resume"]["params"], "session_id" | "turn_id">;
type Quoted = Omit<Methods["session/quote"]["params"], "session_id">;
type Addition = Omit<Methods["session/append"]["params"], "session_id">;

const closing = 1006; // the code of what can be tried again, see protocol.md
const shortestPause = 100; // ms, before the session is asked for again
const longestPause = 10_000;
const mostEarly = 1000; // updates that wait for the first listener

/** A Session follows one conversation. {@link Client.newSession} and {@link Client.attach} create it. */
export class Session {
	private readonly listeners = new Set<(update: SessionUpdate) => void>();
	private early: SessionUpdate[] | undefined = []; // before the first listener; undefined: nothing waits any more
	private readonly endings = new Set<() => void>();
	private readonly host: Host;
	private resuming = false;
	private later: ReturnType<typeof setTimeout> | undefined; // of the next try to resume
	/** The state at the time of attach; undefined for a new session. */
	snapshot: Methods["session/attach"]["result"] | undefined;

	/** For Client only. `seq` is that of the last update received. */
	constructor(
		readonly client: Client,
		readonly id: string,
		private seq: number | undefined,
		hosting: Hosting = {},
	) {
		this.host = new Host(client, id, hosting);
	}

	/**
	 * Calls the listener for all later updates. The call happens while messages are read, so the listener must not block. Updates that came
	 * after {@link Client.newSession} or {@link Client.attach} and before the first listener are passed on to it at once. At most 1,000 wait,
	 * and with more it gets none of them.
	 */
	listen(listener: (update: SessionUpdate) => void): () => void {
		const { early } = this;
		this.early = undefined;
		this.listeners.add(listener);
		for (const update of early ?? []) listener(update);
		return () => this.listeners.delete(listener);
	}

	/** Sends a prompt. Iterate the turn with `for await`. */
	async prompt(prompt: string | Prompt): Promise<Turn> {
		const params = typeof prompt === "string" ? { text: prompt } : prompt;
		const turn = new Turn(this); // listens from now on: updates may arrive together with the response
		try {
			turn.begin(await this.client.call("session/prompt", { session_id: this.id, ...params }));
		} catch (error) {
			turn.leave();
			throw error;
		}
		return turn;
	}

	/** Adds a prompt to the running turn: the model gets it with its next call. Without a running turn it begins one. */
	async steer(prompt: string | Prompt): Promise<Turn> {
		const params = typeof prompt === "string" ? { text: prompt } : prompt;
		return this.prompt({ ...params, when_busy: "steer" });
	}

	/** Returns the prompts that wait. */
	async queue(): Promise<Methods["session/queue"]["result"]["queue"]> {
		return (await this.client.call("session/queue", { session_id: this.id })).queue;
	}

	/** Adds a user message without a model call. The next prompt sends it. During a turn it waits behind the turn. */
	async append(message: string | Addition): Promise<Methods["session/append"]["result"]> {
		const params = typeof message === "string" ? { text: message } : message;
		return this.client.call("session/append", { session_id: this.id, ...params });
	}

	/**
	 * Asks a side question: it is answered with the conversation so far, also while a turn runs, and is not recorded. `heard` gets the pieces
	 * of the answer, and `signal` cancels it: it rejects with the daemon's error of the kind `cancelled`, or with the signal's reason if the
	 * question was not sent yet. The result has the whole answer. A lost connection rejects, and nothing is asked again.
	 */
	async ask(question: string | Question, heard?: (delta: AskDelta) => void, signal?: AbortSignal): Promise<Methods["session/ask"]["result"]> {
		const params = typeof question === "string" ? { text: question } : question;
		return this.client.ask({ session_id: this.id, ...params }, heard, signal);
	}

	/** Cancels the running turn, or the named one, which may be queued. */
	async cancel(turnId?: string): Promise<boolean> {
		const params = turnId ? { session_id: this.id, turn_id: turnId } : { session_id: this.id };
		return (await this.client.call("session/cancel", params)).cancelled;
	}

	/**
	 * Resumes a parked turn. `how` is the id of another model, or says more: `model_id` is another model. At a question about money, `raise` raises the limit by an
	 * amount in USD, and `compact_first` summarises earlier turns first. Returns the turn that goes on: with another model it is a new one.
	 */
	async resumeTurn(turnId: string, how: string | Resumption = {}): Promise<string> {
		const more = typeof how === "string" ? { model_id: how } : how;
		return (await this.client.call("turn/resume", { session_id: this.id, turn_id: turnId, ...more })).turn_id;
	}

	/** Returns what the next prompt would cost. Nothing is sent to a vendor. */
	async quote(prompt: string | Quoted = {}): Promise<Methods["session/quote"]["result"]> {
		const params = typeof prompt === "string" ? { text: prompt } : prompt;
		return this.client.call("session/quote", { session_id: this.id, ...params });
	}

	/** Ends the subscription. */
	async leave(): Promise<void> {
		this.client.forget(this);
		this.ended();
		await this.client.call("session/detach", { session_id: this.id });
	}

	/** @internal Called when the client ends. */
	ended(): void {
		clearTimeout(this.later);
		for (const end of [...this.endings]) end();
		this.listeners.clear();
	}

	/** @internal Calls back when no update can follow. */
	onEnd(end: () => void): () => void {
		this.endings.add(end);
		return () => this.endings.delete(end);
	}

	/** @internal Attaches without earlier state. */
	begin(limit: number | undefined, done: (error?: Error) => void): void {
		this.client.request("session/attach", { session_id: this.id, ...(limit !== undefined && { limit }) }, (error, answer) => {
			if (!error) {
				this.seq = answer.seq;
				this.snapshot = answer;
				this.early = [];
				this.host.open(answer);
			}
			done(error);
		});
	}

	/**
	 * @internal Resumes after the last update, on a new connection or after `stale`. A node of a cluster may be unable to serve the session
	 * for a while: then it is asked again after the time that it names.
	 */
	resume(): void {
		if (this.resuming || this.seq === undefined) return;
		this.resuming = true;
		clearTimeout(this.later);
		this.client.request("session/attach", { session_id: this.id, after_seq: this.seq }, (error, answer) => {
			this.resuming = false;
			const pause = error instanceof RpcError && error.code === closing ? error.data?.retry_after_ms : undefined;
			if (pause !== undefined) {
				this.later = setTimeout(() => this.resume(), Math.min(Math.max(pause, shortestPause), longestPause));
				return;
			}
			if (error) {
				this.client.forget(this); // it was deleted
				this.ended();
				return;
			}
			if (answer.updates) {
				for (const update of answer.updates) this.receive(update as unknown as Update);
				this.seq = answer.seq;
				return;
			}
			this.seq = answer.seq;
			this.snapshot = answer;
			this.host.open(answer);
			this.notify({ method: "snapshot", params: answer });
		});
	}

	/** @internal A notification for this session. */
	receive(update: Update): void {
		// Skip what is known: the response of a resume begins with the first unknown byte.
		if (this.seq === undefined || update.params.seq <= this.seq) return;
		this.seq = update.params.seq;
		this.host.receive(update);
		this.notify(update);
	}

	private notify(update: SessionUpdate): void {
		if (this.early) {
			if (update.method === "snapshot") this.early = []; // it replaces them
			this.early.push(update);
			if (this.early.length > mostEarly) this.early = undefined; // the program does not listen
		}
		for (const listener of [...this.listeners]) listener(update);
	}
}
