import type { Transport } from "./transport.js";

/** The address of a daemon, and its token. A page of the daemon itself needs no token after its login: the browser sends a cookie. */
export interface Address {
	url: string;
	token?: string;
}

/**
 * addressOf takes the page's address, and the token: `thinkd serve` prints the path of its file. In a terminal, `thinkd serve` prints one
 * address with the token in its fragment, which needs no second argument.
 */
export function addressOf(page: string, secret?: string): Address {
	const url = new URL(page);
	const token = secret?.trim() || new URLSearchParams(url.hash.slice(1)).get("token");
	if (!token) throw new Error("the address has no #token=, and no token was given");
	url.hash = "";
	url.pathname = "/rpc";
	url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
	return { url: url.href, token };
}

// Close codes of protocol.md after which the daemon refuses the same token again.
const tokenReplaced = 4001;

/** webSocket connects to `thinkd serve`. It needs a WebSocket: a browser, or node from version 22 on. */
export function webSocket(address: Address): Transport {
	return {
		open: (receiver) =>
			new Promise((resolve, reject) => {
				// A page cannot set headers, so the client offers the token as a subprotocol. The daemon selects the other one.
				const socket = new WebSocket(address.url, ["thinkd.v1", ...(address.token ? [`thinkd.token.${address.token}`] : [])]);
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
