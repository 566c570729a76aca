import { keep, kept } from "./store.js";

/** Whether this browser can notify its user. It needs TLS or localhost. */
export function mayNotify(): boolean {
	return "Notification" in window && isSecureContext && Notification.permission !== "denied";
}

export function notifies(): boolean {
	return mayNotify() && kept("notify") !== undefined && Notification.permission === "granted";
}

/** Turns notifications on or off. The browser may ask its user first. Returns whether they are on. */
export async function setNotifies(on: boolean): Promise<boolean> {
	const granted = on && (await Notification.requestPermission()) === "granted";
	keep("notify", granted ? "on" : undefined);
	return granted;
}

/** Notifies the user of something that happened while the page is not visible. A click shows the page. */
export function notify(title: string, body: string, tag: string): void {
	if (!document.hidden || !notifies()) return;
	const n = new Notification(title, { body, tag, icon: "/icon.png" });
	n.onclick = () => {
		window.focus();
		n.close();
	};
}

let badge = 0;

/** Counts what happened while the page is not visible. The title shows the number until the page is visible. */
export function unseen(): void {
	if (!document.hidden) return;
	badge++;
	listener();
}

/** What stands in front of the title. */
export function badgeText(): string {
	return badge > 0 ? `(${badge}) ` : "";
}

let listener = () => {};

/** Calls back when the number changes. */
export function onBadge(changed: () => void): void {
	listener = changed;
	document.addEventListener("visibilitychange", () => {
		if (document.hidden || badge === 0) return;
		badge = 0;
		changed();
	});
}
