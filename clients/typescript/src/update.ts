import type { Notifications } from "./types.js";

type Of<M extends keyof Notifications> = M extends keyof Notifications ? { method: M; params: Notifications[M] } : never;

/** All notifications of a daemon, by method. */
export type Notification = Of<keyof Notifications>;

/** The notifications of a session. `seq` is their order in that session. */
export type Update = Extract<Notification, { params: { seq: number } }>;
