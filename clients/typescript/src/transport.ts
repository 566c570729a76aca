/** A Transport opens connections to a daemon, one after the other. */
export interface Transport {
	/** Resolves when the connection is open. After that, the receiver gets its end exactly once. */
	open(receiver: Receiver): Promise<Line>;
	/**
	 * A connection of this kind can be lost without a word, for example when a laptop changes its network. After so many milliseconds without
	 * a message, the client sends a ping, and after as many without an answer it reconnects, unless it is still sending. Absent: an end is
	 * always noticed, as with pipes.
	 */
	readonly patience?: number;
}

/** A Line is a connection that carries whole JSON-RPC messages as text. */
export interface Line {
	send(message: string): void;
	close(): void;
	/** How many bytes still wait to be sent. While they get fewer, the connection is not lost. Absent: that is not known. */
	unsent?(): number;
}

export interface Receiver {
	message(text: string): void;
	/** `final`: do not reconnect. */
	closed(reason: string, final: boolean): void;
}
