/** The transport for node: `thinkd stdio`, which starts the daemon if none runs. */
import { spawn } from "node:child_process";

import type { Transport } from "./transport.js";

/** stdio starts a command that speaks the protocol on its standard input and output. Its standard error goes to ours. */
export function stdio(command = "thinkd", args: string[] = ["stdio"]): Transport {
	return {
		open: (receiver) =>
			new Promise((resolve, reject) => {
				const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
				let rest = "";
				child.stdout.setEncoding("utf8");
				child.stdout.on("data", (chunk: string) => {
					// Not node's readline: it also ends lines at U+2028, which JSON may contain.
					const lines = (rest + chunk).split("\n");
					rest = lines.pop() ?? "";
					for (const line of lines) receiver.message(line);
				});
				child.stdin.on("error", () => {}); // the child has exited, and its exit event reports it
				child.once("error", reject);
				child.once("spawn", () => {
					child.once("close", (code) => receiver.closed(`${command} ended (${code ?? "killed"})`, false));
					resolve({ send: (message) => child.stdin.write(message + "\n"), close: () => child.stdin.end() });
				});
			}),
	};
}
