/** A Transport opens lines to a daemon, one after the other. */
export interface Transport {
	/** Resolves when the line is open. The receiver is told of its end exactly once, if it ever opened. */
	open(receiver: Receiver): Promise<Line>;
}

/** A Line carries whole JSON-RPC messages as text. */
export interface Line {
	send(message: string): void;
	close(): void;
}

export interface Receiver {
	message(text: string): void;
	/** `final`: opening again is of no use. */
	closed(reason: string, final: boolean): void;
}
