import type { Level } from "../../clients/typescript/src/index.js";

/** A model and a level of it: for a session, for the next turn only, or for a fork. */
export interface Choice {
	model_id: string;
	level: Level | undefined; // undefined: the usual one
}
