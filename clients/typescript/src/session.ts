import type { Client } from "./client.js";
import { Turn } from "./turn.js";
import type { Methods } from "./types.js";
import type { Update } from "./update.js";

/**
 * A Snapshot is what the session is now: all that a watcher held of turns that had not ended is to be replaced by it.
 * Blocks have numbers, so who matches them by message and number need not clear anything.
 */
export interface Snapshot {
	method: "snapshot";
	params: Methods["session/attach"]["result"];
}

/** What a session tells those who listen. */
export type Told = Update | Snapshot;

type Prompt = Omit<Methods["session/prompt"]["params"], "session_id">;

/** A Session follows one conversation. It is made by {@link Client.newSession} and {@link Client.attach}. */
export class Session {
	private readonly listeners = new Set<(told: Told) => void>();
	private readonly endings = new Set<() => void>();
	private resuming = false;
	/** What it was when it was attached to; undefined for one that was made. */
	snapshot: Methods["session/attach"]["result"] | undefined;

	/** Made by a Client only. `seq` is that of the last update seen. */
	constructor(
		readonly client: Client,
		readonly id: string,
		private seq: number | undefined,
	) {}

	/** Calls the listener with all that comes from now on; it is called while messages are read, and must not wait. */
	listen(listener: (told: Told) => void): () => void {
		this.listeners.add(listener);
		return () => this.listeners.delete(listener);
	}

	/** Asks. The turn may be watched with `for await`. */
	async prompt(prompt: string | Prompt): Promise<Turn> {
		const params = typeof prompt === "string" ? { text: prompt } : prompt;
		const turn = new Turn(this); // listens already: updates may come together with the answer
		try {
			turn.begin(await this.client.call("session/prompt", { session_id: this.id, ...params }));
		} catch (error) {
			turn.leave();
			throw error;
		}
		return turn;
	}

	/** Ends the running turn, or the one named, which may be waiting still. */
	async cancel(turnId?: string): Promise<boolean> {
		const params = turnId ? { session_id: this.id, turn_id: turnId } : { session_id: this.id };
		return (await this.client.call("session/cancel", params)).cancelled;
	}

	/** Follows no more. */
	async leave(): Promise<void> {
		this.client.forget(this);
		this.ended();
		await this.client.call("session/detach", { session_id: this.id });
	}

	/** @internal Called when the client ends. */
	ended(): void {
		for (const end of [...this.endings]) end();
		this.listeners.clear();
	}

	/** @internal Calls back when nothing will come any more. */
	onEnd(end: () => void): () => void {
		this.endings.add(end);
		return () => this.endings.delete(end);
	}

	/** @internal Attaches from nothing. */
	begin(limit: number | undefined, done: (error?: Error) => void): void {
		this.client.request("session/attach", { session_id: this.id, ...(limit !== undefined && { limit }) }, (error, answer) => {
			if (!error) {
				this.seq = answer.seq;
				this.snapshot = answer;
			}
			done(error);
		});
	}

	/** @internal Goes on where it was, on a new line or after `stale`. */
	resume(): void {
		if (this.resuming || this.seq === undefined) return;
		this.resuming = true;
		this.client.request("session/attach", { session_id: this.id, after_seq: this.seq }, (error, answer) => {
			this.resuming = false;
			if (error) {
				this.client.forget(this); // it is no more
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
			this.tell({ method: "snapshot", params: answer });
		});
	}

	/** @internal A notification for this session. */
	receive(update: Update): void {
		// What came before is known; the answer of a resume begins with what is not.
		if (this.seq === undefined || update.params.seq <= this.seq) return;
		this.seq = update.params.seq;
		this.tell(update);
	}

	private tell(told: Told): void {
		for (const listener of [...this.listeners]) listener(told);
	}
}
