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

// How long a WebSocket may take to open, in milliseconds. A browser waits for minutes if a network swallows what it sends.
const openTime = 20_000;

// See Transport.patience. The daemon pings every 30 s, but a browser does not show that.
const patience = 20_000;

// Close codes of protocol.md after which the daemon refuses the same token again.
const tokenReplaced = 4001;

/** What webSocket needs of a WebSocket class. The one of browsers has it, and that of the package ws. */
export interface WebSocketLike {
	onopen: ((event: any) => void) | null;
	onmessage: ((event: any) => void) | null;
	onclose: ((event: any) => void) | null;
	onerror: ((event: any) => void) | null;
	readonly bufferedAmount?: number; // falls while browsers send a message, and in node when all of it is sent
	send(message: string): void;
	close(code?: number): void;
}

/**
 * webSocket connects to `thinkd serve`. Browsers have a WebSocket class, and node from version 22 on. Elsewhere, pass one, such as that of
 * the package ws.
 */
export function webSocket(address: Address, WebSocketClass?: new (url: string, protocols: string[]) => WebSocketLike): Transport {
	return {
		patience,
		open: (receiver) =>
			new Promise((resolve, reject) => {
				// A page cannot set headers, so the client offers the token as a subprotocol. The daemon selects the other one.
				const Class = WebSocketClass ?? (globalThis.WebSocket as unknown as typeof WebSocketClass);
				if (!Class) throw new Error("there is no WebSocket here: pass the class of a package, such as ws");
				const socket = new Class(address.url, ["thinkd.v1", ...(address.token ? [`thinkd.token.${address.token}`] : [])]);
				let opened = false;
				const late = setTimeout(() => {
					socket.onopen = socket.onclose = null;
					socket.close();
					reject(new Error(`no answer for ${openTime / 1000} s`));
				}, openTime);
				socket.onopen = () => {
					clearTimeout(late);
					opened = true;
					resolve({ send: (message) => socket.send(message), close: () => socket.close(1000), unsent: () => socket.bufferedAmount ?? 0 });
				};
				socket.onmessage = ({ data }) => receiver.message(data as string);
				socket.onerror = () => {}; // onclose follows; the package ws throws without a listener
				socket.onclose = ({ code, reason }) => {
					clearTimeout(late);
					const why = reason || `the connection ended (${code})`;
					if (opened) receiver.closed(why, code === tokenReplaced);
					else reject(new Error(why));
				};
			}),
	};
}
