import { ClosedError } from "./errors.js";
import type { Session, Told } from "./session.js";
import type { Methods } from "./types.js";

type Answer = Methods["session/prompt"]["result"];
type Waited = Methods["turn/wait"]["result"];

/**
 * A Turn is what becomes of one prompt. Iterating it, once, gives its updates up to `turn_end`, and a snapshot where
 * the line was cut for longer than the daemon remembers. What is not taken yet waits in memory.
 */
export class Turn implements AsyncIterable<Told> {
	id = "";
	messageId = "";
	disposition: Answer["disposition"] | undefined;
	private into = ""; // the turn that took a steered prompt in
	private waiting: Told[] = [];
	private wake: (() => void) | undefined;
	private over = false;
	private readonly ignore: (() => void)[];

	/** Made by {@link Session.prompt} only. */
	constructor(private readonly session: Session) {
		this.ignore = [session.listen((told) => this.hear(told)), session.onEnd(() => this.hear(undefined))];
	}

	/** @internal */
	begin(answer: Answer): void {
		this.id = answer.turn_id;
		this.messageId = answer.message_id;
		this.disposition = answer.disposition;
	}

	/** Waits for the end, whether it is iterated or not. */
	async wait(): Promise<Waited> {
		return this.session.client.call("turn/wait", { session_id: this.session.id, turn_id: this.id });
	}

	/** Takes no more updates. The turn goes on. */
	leave(): void {
		for (const ignore of this.ignore) ignore();
		this.over = true;
		this.waiting = [];
	}

	async *[Symbol.asyncIterator](): AsyncGenerator<Told> {
		try {
			for (;;) {
				for (const told of this.waiting.splice(0)) {
					if (told.method === "snapshot") {
						yield told;
						if (await this.gone(told.params.open?.turn_id)) return;
						continue;
					}
					if (!this.concerns(told)) continue;
					yield told;
					if (told.method === "turn_end") return;
				}
				if (this.over) throw new ClosedError("the session is followed no more");
				if (this.waiting.length === 0) await new Promise<void>((resolve) => (this.wake = resolve));
			}
		} finally {
			this.leave();
		}
	}

	private hear(told: Told | undefined): void {
		if (told) this.waiting.push(told);
		else this.over = true;
		this.wake?.();
	}

	private concerns(told: Exclude<Told, { method: "snapshot" }>): boolean {
		const turn = told.params.turn_id;
		if (told.method === "prompt" && turn === this.id) this.into = (told.params as { into?: string }).into ?? "";
		return turn === this.id || (this.into !== "" && turn === this.into);
	}

	/** After a snapshot: ours has ended meanwhile, unless it is the running one or waits in the queue. */
	private async gone(running: string | undefined): Promise<boolean> {
		if (running === this.id || (running !== undefined && running === this.into)) return false;
		const { queue } = await this.session.client.call("session/queue", { session_id: this.session.id });
		return !queue.some((q) => q.turn_id === this.id);
	}
}
