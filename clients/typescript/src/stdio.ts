/** The transport of programs that run in node: `thinkd stdio`, which starts the daemon when there is none. */
import { spawn } from "node:child_process";

import type { Transport } from "./transport.js";

/** stdio starts a command that speaks the protocol on its standard input and output. What it says on standard error goes to ours. */
export function stdio(command = "thinkd", args: string[] = ["stdio"]): Transport {
	return {
		open: (receiver) =>
			new Promise((resolve, reject) => {
				const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
				let rest = "";
				child.stdout.setEncoding("utf8");
				child.stdout.on("data", (chunk: string) => {
					// Not node's readline: that ends lines at U+2028 as well, which JSON may hold.
					const lines = (rest + chunk).split("\n");
					rest = lines.pop() ?? "";
					for (const line of lines) receiver.message(line);
				});
				child.stdin.on("error", () => {}); // the child has gone, which its end tells
				child.once("error", reject);
				child.once("spawn", () => {
					child.once("close", (code) => receiver.closed(`${command} ended (${code ?? "killed"})`, false));
					resolve({ send: (message) => child.stdin.write(message + "\n"), close: () => child.stdin.end() });
				});
			}),
	};
}
