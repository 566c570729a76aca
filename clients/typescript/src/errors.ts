import type { Error as Failure } from "./types.js";

/** RpcError is the daemon's answer that something cannot be done. `kind` is the stable word to switch on. */
export class RpcError extends Error {
	readonly code: number;
	readonly kind: string;
	readonly data: NonNullable<Failure["data"]> | undefined;

	constructor(failure: Failure) {
		super(failure.message);
		this.name = "RpcError";
		this.code = failure.code;
		this.kind = failure.data?.kind ?? "";
		this.data = failure.data;
	}
}

/** LostError: the line went before the answer came. Whether the request was done is not known. */
export class LostError extends Error {
	constructor(method: string) {
		super(`${method}: the line was lost before the answer came`);
		this.name = "LostError";
	}
}

/** ClosedError: the client was closed, or the daemon wants it no more. */
export class ClosedError extends Error {
	constructor(reason: string) {
		super(reason);
		this.name = "ClosedError";
	}
}
