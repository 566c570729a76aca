import type { Client } from "./client.js";
import { LostError } from "./errors.js";
import type { Confirm, ConfirmAction, Methods, NewTool } from "./types.js";
import type { Update } from "./update.js";

/** A Tool is a function that models can call. What it throws is the result for the model, marked as an error. */
export interface Tool extends NewTool {
	run: (args: Record<string, unknown>) => string | Promise<string>;
}

/** What a client does for a session besides following it. */
export interface Hosting {
	/** Tools that run in this process. */
	tools?: Tool[];
	/** Decides about a call: it returns one of the question's actions. Without it, other clients decide. */
	approve?: (question: Confirm) => ConfirmAction | Promise<ConfirmAction>;
}

type Call = { call_id: string; name: string; host?: string; arguments?: unknown };

/** @internal A Host runs tools and answers questions of one session. Each call and question is taken once, also over lost connections. */
export class Host {
	private readonly taken = new Set<string>();

	constructor(
		private readonly client: Client,
		private readonly id: string,
		private readonly hosting: Hosting,
	) {}

	receive(update: Update): void {
		if (update.method === "tool_start") void this.run(update.params);
		if (update.method === "confirm") void this.decide(update.params);
	}

	/** Takes up what is open after a lost connection. */
	open(state: Methods["session/attach"]["result"]): void {
		for (const call of state.open?.tools ?? []) void this.run(call);
		for (const question of state.open?.confirms ?? []) void this.decide(question);
	}

	private async run(call: Call): Promise<void> {
		const tool = this.hosting.tools?.find((t) => t.name === call.name);
		if (!tool || call.host !== "client" || this.taken.has(call.call_id)) return;
		this.taken.add(call.call_id);
		let text: string;
		let is_error = false;
		try {
			text = await tool.run((call.arguments ?? {}) as Record<string, unknown>);
		} catch (error) {
			text = String(error);
			is_error = true;
		}
		const params = { session_id: this.id, call_id: call.call_id, content: [{ type: "text" as const, text }], is_error };
		for (;;) {
			try {
				await this.client.call("tool/result", params);
				return;
			} catch (error) {
				if (!(error instanceof LostError)) return; // the turn has ended, or the client. A result that arrived twice is refused
			}
		}
	}

	private async decide(question: Confirm): Promise<void> {
		if (!this.hosting.approve || this.taken.has(question.confirm_id)) return;
		this.taken.add(question.confirm_id);
		const action = await this.hosting.approve(question);
		for (;;) {
			try {
				await this.client.call("confirm/answer", { session_id: this.id, confirm_id: question.confirm_id, action });
				return;
			} catch (error) {
				if (!(error instanceof LostError)) return; // somebody else has answered, or the client was closed. The first answer counts
			}
		}
	}
}
