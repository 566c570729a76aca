/** A Transport opens connections to a daemon, one after the other. */
export interface Transport {
	/** Resolves when the connection is open. After that, the receiver gets its end exactly once. */
	open(receiver: Receiver): Promise<Line>;
}

/** A Line is a connection that carries whole JSON-RPC messages as text. */
export interface Line {
	send(message: string): void;
	close(): void;
}

export interface Receiver {
	message(text: string): void;
	/** `final`: do not reconnect. */
	closed(reason: string, final: boolean): void;
}
