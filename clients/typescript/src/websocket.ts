import type { Transport } from "./transport.js";

/** Where a daemon listens, and the token that it wants. */
export interface Address {
	url: string;
	token: string;
}

/** addressOf takes apart what `thinkd serve` prints: the page's address with the token in its fragment. */
export function addressOf(page: string): Address {
	const url = new URL(page);
	const token = new URLSearchParams(url.hash.slice(1)).get("token");
	if (!token) throw new Error("the address has no #token=");
	url.hash = "";
	url.pathname = "/rpc";
	url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
	return { url: url.href, token };
}

// Codes of protocol.md after which the same token is refused again.
const tokenReplaced = 4001;

/** webSocket talks to `thinkd serve`. Browsers have a WebSocket, and node from version 22 on. */
export function webSocket(address: Address): Transport {
	return {
		open: (receiver) =>
			new Promise((resolve, reject) => {
				// A page cannot set headers, so the token is offered as a subprotocol; the daemon selects the other.
				const socket = new WebSocket(address.url, ["thinkd.v1", `thinkd.token.${address.token}`]);
				let opened = false;
				socket.onopen = () => {
					opened = true;
					resolve({ send: (message) => socket.send(message), close: () => socket.close(1000) });
				};
				socket.onmessage = ({ data }) => receiver.message(data as string);
				socket.onclose = ({ code, reason }) => {
					const why = reason || `the connection ended (${code})`;
					if (opened) receiver.closed(why, code === tokenReplaced);
					else reject(new Error(why));
				};
			}),
	};
}
