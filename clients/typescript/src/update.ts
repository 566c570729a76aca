import type { Notifications } from "./types.js";

type Of<M extends keyof Notifications> = M extends keyof Notifications ? { method: M; params: Notifications[M] } : never;

/** All that a daemon says unasked: told apart by its method. */
export type Notification = Of<keyof Notifications>;

/** What a session says, each with its place in the order of that session. */
export type Update = Extract<Notification, { params: { seq: number } }>;
