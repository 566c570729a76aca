import { ClosedError } from "./errors.js";
import type { Session, SessionUpdate } from "./session.js";
import type { Methods } from "./types.js";

type Answer = Methods["session/prompt"]["result"];
type Change = Omit<Methods["queue/update"]["params"], "session_id" | "turn_id">;
type Waited = Methods["turn/wait"]["result"];

/**
 * A Turn is the sequence of updates that one prompt causes. Iterate it once: it yields the updates up to `turn_end`, and a snapshot if
 * the daemon no longer had the updates of a lost connection. Updates that are not read yet wait in memory.
 */
export class Turn implements AsyncIterable<SessionUpdate> {
	id = "";
	messageId = "";
	disposition: Answer["disposition"] | undefined;
	private into = ""; // the turn that a steered prompt joined
	private waiting: SessionUpdate[] = [];
	private wake: (() => void) | undefined;
	private over = false;
	private readonly ignore: (() => void)[];

	/** For {@link Session.prompt} only. */
	constructor(private readonly session: Session) {
		this.ignore = [session.listen((update) => this.receive(update)), session.onEnd(() => this.receive(undefined))];
	}

	/** @internal */
	begin(answer: Answer): void {
		this.id = answer.turn_id;
		this.messageId = answer.message_id;
		this.disposition = answer.disposition;
	}

	/** Waits for the end, with or without iteration. */
	async wait(): Promise<Waited> {
		return this.session.client.call("turn/wait", { session_id: this.session.id, turn_id: this.id });
	}

	/** Cancels this turn, running or waiting. What it has written is kept. False: it had ended. */
	async cancel(): Promise<boolean> {
		return this.session.cancel(this.id);
	}

	/** Replaces the text of a prompt that waits, or what its turn runs with. */
	async edit(change: string | Change): Promise<void> {
		const params = typeof change === "string" ? { text: change } : change;
		await this.session.client.call("queue/update", { session_id: this.session.id, turn_id: this.id, ...params });
	}

	/** Moves a prompt that waits in front of another one, or to the end. */
	async move(before?: Turn): Promise<void> {
		await this.session.client.call("queue/move", { session_id: this.session.id, turn_id: this.id, ...(before && { before: before.id }) });
	}

	/** Ends the iteration. The turn continues. */
	leave(): void {
		for (const ignore of this.ignore) ignore();
		this.over = true;
		this.waiting = [];
	}

	async *[Symbol.asyncIterator](): AsyncGenerator<SessionUpdate> {
		try {
			for (;;) {
				for (const update of this.waiting.splice(0)) {
					if (update.method === "snapshot") {
						yield update;
						if (await this.gone(update.params.open?.turn_id)) return;
						continue;
					}
					if (!this.concerns(update)) continue;
					yield update;
					if (update.method === "turn_end") return;
				}
				if (this.over) throw new ClosedError("the session is followed no more");
				if (this.waiting.length === 0) await new Promise<void>((resolve) => (this.wake = resolve));
			}
		} finally {
			this.leave();
		}
	}

	private receive(update: SessionUpdate | undefined): void {
		if (update) this.waiting.push(update);
		else this.over = true;
		this.wake?.();
	}

	private concerns(update: Exclude<SessionUpdate, { method: "snapshot" }>): boolean {
		const turn = update.params.turn_id;
		if (update.method === "prompt" && turn === this.id) this.into = (update.params as { into?: string }).into ?? "";
		return turn === this.id || (this.into !== "" && turn === this.into);
	}

	/** True if, after a snapshot, this turn neither runs nor waits in the queue: it has ended meanwhile. */
	private async gone(running: string | undefined): Promise<boolean> {
		if (running === this.id || (running !== undefined && running === this.into)) return false;
		const { queue } = await this.session.client.call("session/queue", { session_id: this.session.id });
		return !queue.some((q) => q.turn_id === this.id);
	}
}
