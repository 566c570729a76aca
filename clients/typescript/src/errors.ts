import type { Error as Failure } from "./types.js";

/** RpcError is an error that the daemon returned. `kind` is stable: switch on it. */
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

/** LostError: the connection was lost before the response. The request may have taken effect. */
export class LostError extends Error {
	constructor(method: string) {
		super(`${method}: the line was lost before the answer came`);
		this.name = "LostError";
	}
}

/** ClosedError: the client was closed, or the daemon refuses it. */
export class ClosedError extends Error {
	constructor(reason: string) {
		super(reason);
		this.name = "ClosedError";
	}
}
