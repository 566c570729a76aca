// The page connects the parts and has their shared state. The address says what is shown: a session (#/ID), a view (#/usage), or a new
// session (#/).
import { Client, ClosedError, webSocket, type Block, type Message, type Methods, type Notifications, type Session, type State, type Summary, type Transport } from "../../clients/typescript/src/index.js";
import { coded } from "./approval.js";
import { Asides } from "./aside.js";
import { branch, branched, branchesOf } from "./branch.js";
import type { Choice } from "./choice.js";
import { Compare, type Source } from "./compare.js";
import { Composer, type How } from "./composer.js";
import { attach, Conversation, type Running } from "./conversation.js";
import { demoTool } from "./demo.js";
import { button, byId, h, say } from "./dom.js";
import { twiceASecond } from "./frames.js";
import { Keys } from "./keys.js";
import { bars } from "./levels.js";
import { Meter } from "./meter.js";
import { full, Picker } from "./picker.js";
import { wrapped } from "./markdown.js";
import { badgeText, notify, onBadge, unseen } from "./notify.js";
import { FindBar, mark } from "./find.js";
import { PlanLine } from "./plan.js";
import { closePopover, menu, popover } from "./popover.js";
import { promptCost } from "./price.js";
import { askAbove, QuoteLine } from "./quote.js";
import { Raw } from "./raw.js";
import { link, placeOf, SearchView, type At } from "./search.js";
import { Sessions } from "./sessions.js";
import { Settings } from "./settings.js";
import { SetupControl } from "./setup.js";
import { showShortcuts } from "./shortcuts.js";
import { applyTheme } from "./theme.js";
import { Tidy } from "./tidy.js";
import { access, afterSignIn, forget, givenToken, hideToken, isSignIn, logIn, maySignIn, onAccess, refused, renew, signIn } from "./token.js";
import type { Preview } from "./unfinished.js";
import { UsageView } from "./usage.js";
import type { Kept } from "./summary.js";
import type { Acts } from "./turn.js";
import { duration, standing } from "./words.js";

type Info = Methods["session/state"]["result"]["session"];
type NewSession = Methods["session/new"]["params"];

/** A view in place of the conversation. */
interface View {
	title: string;
	show(into: HTMLElement, query: URLSearchParams): void;
	/** Another view is shown. */
	hide?(): void;
}

class App {
	private readonly client: Client;
	private readonly tidy: Tidy;
	private readonly sessions: Sessions;
	private readonly composer: Composer;
	private readonly asides: Asides;
	private readonly picker: Picker;
	private readonly keys: Keys;
	private readonly setup: SetupControl;
	private readonly usage: UsageView;
	private readonly search: SearchView;
	private readonly compare: Compare;
	private readonly findBar: FindBar;
	private readonly quote: QuoteLine;
	private readonly views: Record<string, View>;
	private view: View | undefined;
	private readonly meter = new Meter();
	private readonly raw = new Raw();
	private readonly plan = new PlanLine();
	private conversation: Conversation | undefined;
	private info: Info | undefined;
	private draft: Choice = { model_id: "", level: undefined }; // for a session that does not exist yet
	private nextOnly: Choice | undefined;
	private noFallback = false; // of the next turn: the first choice, or an error
	private running: Running = "idle";
	private opened = 0; // a session that opens slowly does not replace a later one
	private opening: Promise<unknown> = Promise.resolve(); // until then the session before is shown, and a text that is sent waits

	constructor(has: { token?: string }) {
		const address = { url: `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}/rpc`, ...has };
		this.client = new Client(isSignIn() ? this.renewing(webSocket(address)) : webSocket(address), {
			client: { name: "thinkd-page", version: "1", attended: true },
			capabilities: { tools: true, confirm: true },
			onState: (state) => this.line(state),
			onNotification: (n) => {
				if (n.method !== "list_update") return;
				this.sessions.update(n.params);
				this.shared(n.params);
				this.search.changed([...(n.params.created ?? []), ...(n.params.changed ?? [])], n.params.removed ?? []);
			},
		});
		this.tidy = new Tidy(this.client);
		this.sessions = new Sessions(this.client, this.tidy, (id) => this.go(id));
		this.search = new SearchView(this.client, this.tidy, {
			open: (at) => (location.hash = link(at).slice(1)),
			models: () => this.picker.available().map((m) => ({ id: full(m), name: m.name })),
			folders: () => this.sessions.folders(),
		});
		this.findBar = new FindBar(this.client, (at) => this.reveal(at), () => byId("scroll").focus());
		this.keys = new Keys(this.client, () => void this.keysChanged());
		this.setup = new SetupControl(this.client, { session: () => this.conversation && this.info, folders: () => this.sessions.folders(), storages: () => this.picker.model(this.chosen().model_id)?.thinking_storages ?? ["full"] });
		this.usage = new UsageView(this.client, (id) => this.picker.model(id));
		this.compare = new Compare(this.client, {
			acts: (session) => this.acts(session),
			model: (id) => this.picker.model(id),
			now: () => this.chosen(),
			others: () => [...this.picker.favourites(), ...this.picker.available()],
			pick: (from, now, take) => this.picker.open(from, false, { label: "Model and level of the column", now, take: async (choice) => take(choice) }),
			params: () => this.setup.params(),
			mode: () => this.setup.mode(),
			columns: (n) => this.composer.compare(n),
			go: (address) => (location.hash = address),
		});
		this.views = {
			compare: this.compare,
			search: this.search,
			usage: this.usage,
			settings: new Settings(this.client, {
				models: () => this.picker.available(),
				defaultModel: () => this.picker.defaultModel,
				changed: () => void this.keysChanged(),
				shortcuts: showShortcuts,
			}),
		};
		this.asides = new Asides({
			ask: (session_id, text, heard, signal) => this.client.ask({ session_id, text }, heard, signal),
			keep: (session_id, text) => this.client.call("session/ask", { session_id, text, keep: true }),
			nameOf: (m) => this.picker.model(full(m))?.name ?? m.id,
			open: (id) => this.go(id),
			focus: () => this.composer.focus(),
		});
		this.quote = new QuoteLine(this.client, {
			session: () => (this.running === "idle" && !this.view ? this.conversation?.session.id : undefined),
			only: () => this.nextOnly && { model_id: this.nextOnly.model_id, ...(this.nextOnly.level && { thinking_level: this.nextOnly.level }) },
			compact: () => this.compact(),
		}, askAbove);
		this.composer = new Composer({
			inSession: () => this.conversation !== undefined,
			guest: () => this.guest !== undefined,
			send: (text, how, files) => this.send(text, how, files),
			model: () => this.picker.model(this.chosen().model_id),
			room: () => (this.client.daemon?.limits.max_message_bytes ?? 8 << 20) - (64 << 10), // the rest is for the text
			stop: () => this.stop(),
			remove: async (id) => void (await this.conversation?.session.cancel(id)),
			steerNow: async (id, text) => {
				const content = this.conversation?.content(id);
				if (await this.conversation?.session.cancel(id)) await this.prompt({ ...(content ? { content: sendable(content) } : { text }), when_busy: "steer" });
			},
			pending: (id) => textOf(this.conversation?.content(id) ?? []),
			reword: async (turn_id, text) => {
				const session_id = this.conversation?.session.id;
				if (!session_id) return;
				const files = sendable(this.conversation?.content(turn_id) ?? []).filter((b) => b.type !== "text");
				await this.client.call("queue/update", { session_id, turn_id, ...(files.length ? { content: [...files, { type: "text", text }] } : { text }) });
			},
			move: async (turn_id, before) => {
				const session_id = this.conversation?.session.id;
				if (session_id) await this.client.call("queue/move", { session_id, turn_id, before });
			},
			resume: () => void this.queue({ resume: true }),
			prompts: () => this.conversation?.prompts() ?? [],
			typed: (text) => this.quote.typed(text),
		});
		this.picker = new Picker(this.client, {
			sessionId: () => this.conversation?.session.id,
			running: () => this.running !== "idle",
			now: () => this.chosen(),
			used: () => this.info?.usage.context?.used,
			apply: (choice, onlyNext) => this.choose(choice, onlyNext),
			fork: async (choice) => {
				await this.fork();
				await this.choose(choice, false);
			},
			keys: (from) => void this.keys.open(from),
		});
		onBadge(() => this.title());
		document.addEventListener("visibilitychange", () => this.read());
		this.controls();
	}

	/** Opens the first connection, and later ones sooner when the network is back or the person looks at the page again. */
	connect(): Promise<void> {
		window.addEventListener("online", () => this.client.retry());
		document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.client.retry());
		return this.client.open();
	}

	/** Shows what the address names. The calls in it wait for the first connection, however many attempts that takes. */
	async begin(): Promise<void> {
		await Promise.all([this.picker.load(), this.keys.count()]);
		window.addEventListener("hashchange", () => {
			closePopover();
			void this.route();
		});
		await this.route();
		void this.today();
	}

	// The session that is shown

	private go(id: string): void {
		this.drawer(false);
		closePopover();
		if (location.hash === `#/${id}`) void this.route();
		else location.hash = `/${id}`;
	}

	private async route(): Promise<void> {
		const [path = "", query] = location.hash.slice(2).split("?");
		if (this.open(this.views[path], new URLSearchParams(query))) return;
		const id = /^[0-9A-Z]{26}$/.exec(path)?.[0];
		const mine = ++this.opened;
		this.opening = Promise.resolve();
		if (id && id === this.conversation?.session.id) {
			await this.reveal(placeOf(id, new URLSearchParams(query)));
			return;
		}
		await this.compare.left();
		if (mine !== this.opened) return;
		if (!id) {
			await this.home();
			return;
		}
		const opening = attach(this.client, id).then((session) => {
			if (mine === this.opened) this.show(session);
		});
		this.opening = opening.catch(() => {});
		try {
			await opening;
			if (mine === this.opened) await this.reveal(placeOf(id, new URLSearchParams(query)));
		} catch (error) {
			if (mine !== this.opened) return;
			await this.home();
			this.composer.fail((error as Error).message);
		}
	}

	/** Scrolls to a place of the visible session. Returns false if it has no such message. */
	private async reveal(at: At): Promise<boolean> {
		if (!at.message || at.session !== this.conversation?.session.id) return false;
		const el = await this.conversation.find(at.message, at.block ?? 0);
		for (const e of document.querySelectorAll(".at-place")) e.classList.remove("at-place");
		if (!el) return false;
		el.classList.add("at-place");
		const range = mark(at.text ?? "", el);
		(range?.startContainer.parentElement ?? el).scrollIntoView({ block: "center" });
		return true;
	}

	/** Shows a view, or the conversation. */
	private open(view: View | undefined, query: URLSearchParams): boolean {
		if (this.view !== view || view === this.compare) this.view?.hide?.();
		if (this.view === this.compare && view !== this.compare) this.composer.at(this.conversation?.session.id);
		this.view = view;
		byId("scroll").hidden = view !== undefined;
		byId("dock").hidden = view !== undefined && view !== this.compare;
		byId("dock").classList.toggle("comparing", view === this.compare);
		const into = byId("view");
		into.hidden = view === undefined;
		into.replaceChildren();
		for (const a of byId("side-end").querySelectorAll("a")) {
			if (view && view === this.views[a.hash.slice(2)]) a.setAttribute("aria-current", "page");
			else a.removeAttribute("aria-current");
		}
		this.sessions.current = view ? "" : (this.conversation?.session.id ?? "");
		this.sessions.redraw();
		this.title();
		if (view) {
			this.drawer(false);
			into.setAttribute("aria-label", view.title);
			into.scrollTop = 0;
			view.show(into, query);
			if (view === this.usage) void this.today();
		}
		return view !== undefined;
	}

	private show(session: Session): void {
		this.reset();
		this.sessions.current = session.id;
		byId("hello").hidden = true;
		this.conversation = new Conversation(this.client, session, this.acts(session), {
			running: (state) => {
				this.running = state;
				this.composer.run(state);
				this.quote.again(); // for a draft, as after a reload
			},
			asks: (open) => {
				const news = open > 0 && !this.sessions.asks;
				this.sessions.asks = open > 0;
				this.sessions.redraw();
				this.title();
				if (news) {
					unseen();
					notify(this.info?.title || "thinkd", "A question waits for you", session.id);
				}
			},
			queue: (queue, held) => this.composer.queue(queue, held),
			session: (change) => this.change(change),
			usage: (usage) => {
				if (this.info) this.info = { ...this.info, usage };
				this.meter.show(usage);
			},
			raw: (update) => this.raw.add(update),
			ended: (text, turn_id) => {
				this.read(turn_id);
				void this.today();
				unseen();
				notify(this.info?.title || "thinkd", text, session.id);
			},
		}, { into: byId("turns"), scrolls: { box: byId("scroll"), latest: byId("latest") } });
		this.branches();
		this.asides.show(session.id);
		this.composer.at(session.id);
		this.setup.show();
		this.title(); // the conversation notified the page before it was assigned
		this.read();
		this.sessions.redraw();
	}

	/** What the turns of a session can ask of the page. */
	private acts(session: Session): Acts & Kept {
		return {
			nameOf: (m) => this.picker.model(full(m))?.name ?? m.id,
			fork: (message) => void this.fork(message),
			again: (content) => void this.prompt({ content: sendable(content) }),
			ways: (turn, content, from) => this.ways(from, turn, content),
			edit: async (turn, content) => {
				const place = this.conversation?.around(turn);
				if (!place || !this.info) throw new Error("The messages before this prompt are not loaded.");
				this.go(await branch(this.client, this.info, place.prompt, place.after, sendable(content)));
			},
			continue: async () => {
				await this.client.call("session/continue", { session_id: session.id }).catch((e: Error) => say(e.message));
			},
			preview: (model) => this.preview(session.id, full(model)),
			parked: (turn_id) => ({
				resume: (m) => session.resumeTurn(turn_id, m && full(m)),
				raise: (usd) => session.resumeTurn(turn_id, { raise: usd }),
				compact: () => session.resumeTurn(turn_id, { compact_first: true }),
				models: () => this.picker.available(),
				end: () => session.cancel(turn_id),
			}),
			simulate: (content) => void this.prompt({ content: sendable(content), model_id: "sim/claude-always" }),
			// A session stays with the fallback that answered, until the first choice is cheaper. A turn without fallbacks ends that.
			goBack: (m) => {
				this.nextOnly = { model_id: full(m), level: m.thinking_level };
				this.noFallback = true;
				this.choice();
				this.composer.focus();
				say(`The next prompt goes to ${this.picker.model(full(m))?.name ?? m.id}`);
			},
			pick: () => this.picker.open(byId("pick-model"), false),
			setKey: (provider, key) => this.keys.set(provider, key),
			media: async (message, block) => {
				const { messages } = await this.client.call("session/history", { session_id: session.id, limit: 10 });
				return messages.find((m) => m.id === message)?.content.find((b) => b.block === block);
			},
			pin: async (message_id, on) => {
				const { pinned } = await this.client.call(on ? "message/pin" : "message/unpin", { session_id: session.id, message_id });
				this.change({ pinned_messages: pinned });
			},
			pinned: () => this.info?.pinned_messages ?? [],
			covered: (summary) => this.covered(session.id, summary),
			undo: (summary_id) => this.client.call("session/uncompact", { session_id: session.id, summary_id }),
			forkBefore: async (summary_id) => this.go((await this.client.call("session/fork", { session_id: session.id, summary_id })).session_id),
			modelName: (id) => this.picker.model(id)?.name ?? id,
			answer: (confirm_id, ruling) => this.client.call("confirm/answer", { session_id: session.id, confirm_id, ...ruling }),
		};
	}

	/** Offers ways to ask a prompt again. */
	private ways(from: HTMLElement, turn: string, content: Block[]): void {
		const place = this.conversation?.around(turn);
		menu(from, "Ask again", [
			{ label: "Ask again", what: "As a new turn of this session.", act: () => void this.prompt({ content: sendable(content) }) },
			...(place && this.info && !this.guest ? [
				{ label: "Another model or level", what: "In a new branch. This answer stays.", act: () => this.retryWith(from, place, content) },
				{ label: "Compare models", what: "Two or three models or levels answer side by side, each in a fork.", act: () => this.compareWith({ session: this.info, prompt: place.prompt, after: place.after, files: sendable(content).filter((b) => b.type !== "text") }, textOf(content)) },
			] : []),
		]);
	}

	/** Sends a prompt to another model or with another level, in a new branch. */
	private retryWith(from: HTMLElement, place: { prompt: string; after: string }, content: Block[]): void {
		this.picker.open(from, false, { label: "Ask again with another model or level", now: this.chosen(), take: async (choice) => {
			if (this.info) this.go(await branch(this.client, this.info, place.prompt, place.after, sendable(content), choice));
		} });
	}

	/** Prepares a comparison. */
	private compareWith(source: Source, text: string): void {
		this.compare.prepare(source);
		location.hash = "/compare";
		this.composer.compare(2);
		this.composer.write(text);
		this.composer.focus();
	}

	/** Tells the daemon that a person has seen the visible session, up to a turn. */
	private read(turn_id?: string): void {
		const session_id = this.conversation?.session.id;
		if (!session_id || document.hidden || this.view) return;
		this.client.call("session/read", { session_id, ...(turn_id && { turn_id }) }).catch(() => {}); // it stays new
	}

	private reset(): void {
		this.conversation?.leave();
		this.conversation = undefined;
		this.info = undefined;
		this.nextOnly = undefined;
		this.running = "idle";
		this.sessions.asks = false;
		this.asides.show(undefined);
		this.raw.clear();
		this.findBar.leave();
		this.meter.show(undefined);
		this.plan.show();
		this.composer.queue([], false);
		this.composer.run("idle");
		this.composer.fail("");
	}

	private async home(): Promise<void> {
		this.reset();
		this.sessions.current = "";
		this.composer.at(undefined); // at once: what is typed while the lists load belongs to the new session, and keeps the focus
		if (matchMedia("(hover: hover)").matches) this.composer.focus();
		byId("turns").replaceChildren();
		byId("latest").hidden = true;
		const mine = this.opened;
		await Promise.all([this.sessions.load(false), this.keys.count()]);
		if (mine !== this.opened) return; // a session was opened meanwhile
		byId("hello").hidden = false;
		this.hello();
		this.setup.show();
		this.title();
		this.choice();
	}

	/** What a new session is greeted with. Without a key only the simulator answers. */
	private hello(): void {
		const { ready } = this.keys;
		byId("hello").classList.toggle("first", ready === 0);
		byId("hello-title").textContent = ready === 0 ? "Watch a model think" : this.sessions.empty ? "Start a conversation" : "A new conversation";
	}

	/** The keys changed: other models can be called. */
	private async keysChanged(): Promise<void> {
		await Promise.all([this.keys.count(), this.picker.load()]);
		this.hello();
		this.choice();
	}

	private change(change: Partial<Info> & { deleted?: boolean }): void {
		if (change.deleted) {
			if (this.conversation) this.composer.forget(this.conversation.session.id);
			location.hash = "/";
			say("The session was deleted");
			return;
		}
		const metadata = { ...this.info?.metadata, ...change.metadata };
		this.info = { ...(this.info as Info), ...change, metadata };
		this.plan.show(this.info.plan);
		this.branches();
		this.setup.show();
		this.title();
		this.choice();
	}

	/** What a guest may do with the visible session; undefined: it is one's own, or there is none. */
	private get guest(): Info["access"] {
		return this.view ? undefined : this.info?.access;
	}

	/** Takes over that the owner has changed what a guest may do. */
	private shared(u: Notifications["list_update"]): void {
		const { info } = this;
		const now = u.changed?.find((s) => s.session_id === info?.session_id);
		if (now?.access && now.access !== info?.access) this.change({ access: now.access });
	}

	/** Offers a guest only what the guest may do: the style sheet hides the rest. */
	private guestLine(): void {
		const { guest } = this;
		const line = byId("guest");
		byId("page").dataset["guest"] = guest ?? "";
		line.hidden = !guest;
		if (guest) line.textContent = guest === "write" ? `${this.info?.owner} shares this session with you. Turns count as theirs.` : `${this.info?.owner} shares this session with you for reading.`;
	}

	/** Shows which prompts have branches. */
	private branches(): void {
		const { info } = this;
		this.conversation?.branches(info?.session_id && branched(info) ? (after) => branchesOf(this.client, info, after, (id) => this.go(id)) : undefined);
	}

	private title(): void {
		const title = this.view?.title ?? (this.info?.title || "New session");
		byId("title").textContent = title;
		document.title = `${badgeText()}${this.sessions.asks ? "Asks you: " : ""}${title} · thinkd`;
		byId("menu-session").hidden = byId("find-here").hidden = !this.conversation || this.view !== undefined;
		byId("raw-toggle").hidden = this.view !== undefined;
		this.meter.away(this.view !== undefined);
		this.guestLine();
		byId("grants").textContent = this.view || this.guest ? "" : standing(this.info?.grants ?? []);
		byId("grants").hidden = byId("grants").textContent === "";
	}

	// Prompts

	private async send(text: string, how: How, files: Block[]): Promise<void> {
		await this.opening;
		if (this.view === this.compare) {
			await this.compare.send([...files, ...(text ? [{ type: "text" as const, text }] : [])]);
			return;
		}
		if (how === "compare") {
			const after = this.conversation?.last() ?? "";
			this.compareWith({ ...(this.info && { session: this.info }), after, files }, text);
			return;
		}
		const session = this.conversation?.session.id;
		// Files come first, as vendors advise.
		const said = files.length > 0 ? { content: [...files, ...(text ? [{ type: "text" as const, text }] : [])] } : { text };
		if (how === "add") await this.add(said);
		else if (how === "queue" || how === "steer") await this.prompt({ ...said, when_busy: how });
		else if (session) this.asides.ask(session, text, how === "fork");
	}

	/** Adds a message without a model call. */
	private async add(said: { text?: string; content?: Block[] }): Promise<void> {
		const session_id = await this.made({});
		this.conversation?.toEnd();
		const { disposition } = await this.client.call("session/append", { session_id, ...said });
		say(disposition === "appended" ? "Added. The next prompt sends it." : "Added to the queue");
	}

	private async prompt(p: Omit<Methods["session/prompt"]["params"], "session_id">, made: NewSession = {}): Promise<void> {
		const session_id = await this.made(made);
		const only = p.when_busy === "steer" ? undefined : this.nextOnly; // a prompt that steers uses the model of its turn
		if (only) this.nextOnly = undefined;
		this.choice();
		this.conversation?.toEnd();
		// The daemon sends the title at the end of the turn. It will be this one.
		if (this.info && !this.info.title && p.text) this.change({ title: (p.text.trim().split("\n")[0] ?? "").slice(0, 80) });
		await this.client.call("session/prompt", {
			session_id,
			...(only && { model_id: only.model_id, ...(only.level && { thinking_level: only.level }), ...(this.noFallback && { fallbacks: [] }) }),
			...p,
		});
	}

	/** Returns the visible session, or creates one. */
	private async made(more: NewSession): Promise<string> {
		if (this.conversation) return this.conversation.session.id;
		const { model_id, level } = this.draft;
		const only = this.nextOnly; // it is for the first turn of this session
		const mode = this.setup.mode();
		const session = await this.client.newSession({ ...this.setup.params(), ...(model_id && { model_id }), ...(level && { thinking_level: level }), ...more });
		this.opened++;
		this.show(session);
		this.nextOnly = only;
		history.pushState(null, "", `#/${session.id}`);
		if (mode) await this.client.call("session/update", { session_id: session.id, tool_mode: mode });
		const { session: info } = await this.client.call("session/state", { session_id: session.id });
		this.change(info);
		return session.id;
	}

	private stop(): void {
		void this.conversation?.session.cancel();
		this.composer.focus();
	}

	private async queue(params: Omit<Methods["session/queue"]["params"], "session_id">): Promise<void> {
		const session_id = this.conversation?.session.id;
		if (session_id) await this.client.call("session/queue", { session_id, ...params });
	}

	private async fork(message?: string): Promise<void> {
		const session_id = this.conversation?.session.id;
		if (!session_id) return;
		const made = await this.client.call("session/fork", { session_id, ...(message && { message_id: message }) });
		this.go(made.session_id);
	}

	/** The messages that a summary covers. */
	private async covered(session_id: string, s: Summary): Promise<Message[]> {
		const found: Message[] = [];
		let before: string | undefined;
		for (;;) {
			const { messages, more } = await this.client.call("session/history", { session_id, limit: 1000, ...(before && { before }) });
			found.unshift(...messages);
			const first = found.findIndex((m) => m.id === s.from);
			before = messages[0]?.id;
			if (first < 0 && more && before) continue;
			const last = found.findIndex((m) => m.id === s.upto);
			return found.slice(Math.max(first, 0), last < 0 ? undefined : last + 1);
		}
	}

	/** Shows in the list of views what was spent today. */
	private async today(): Promise<void> {
		const spent = await this.usage.today().catch(() => undefined);
		byId("usage-today").textContent = spent ? `${spent} today` : "";
	}

	private async compact(): Promise<void> {
		const session_id = this.conversation?.session.id;
		if (!session_id) return;
		const { compacted } = await this.client.call("session/compact", { session_id });
		say(compacted ? "Summarised" : "There was nothing to summarise");
	}

	/** What continuing the last turn would do. Asking for it costs nothing. */
	private async preview(session_id: string, model_id: string): Promise<Preview> {
		const { parts } = await this.client.call("session/continue", { session_id, dry_run: true });
		const { cache } = await this.client.call("thinking/explain", { session_id, model_id }).catch(() => ({ cache: undefined }));
		const tokens = this.info?.usage.context?.used;
		const price = this.picker.model(model_id)?.price;
		return { parts, tokens, cost: price && tokens ? promptCost(price, tokens, cache) : undefined };
	}

	// Model and level

	private chosen(): Choice {
		if (this.nextOnly) return this.nextOnly;
		if (this.info?.model) return { model_id: full(this.info.model), level: this.info.preferred_thinking_level ?? this.info.thinking_level };
		return { ...this.draft, model_id: this.draft.model_id || this.picker.defaultModel };
	}

	private async choose(choice: Choice, onlyNext: boolean): Promise<void> {
		const id = this.conversation?.session.id;
		this.nextOnly = onlyNext ? choice : undefined;
		this.noFallback = false;
		if (onlyNext) {
			// The session, or a new one, keeps its model.
		} else if (!id) {
			this.draft = choice;
		} else {
			const answer = await this.client.call("model/set", { session_id: id, model_id: choice.model_id, ...(choice.level && { thinking_level: choice.level }) });
			this.change({ model: answer.model, thinking_level: answer.thinking_level, preferred_thinking_level: answer.preferred_thinking_level });
			say(`${answer.model.id}, level ${answer.thinking_level}${answer.applies === "next_turn" ? ", from the next turn" : ""}`);
		}
		this.choice();
	}

	/** Shows the model and the level at the composer. */
	private choice(): void {
		const { model_id, level } = this.chosen();
		this.composer.modelChanged();
		const m = this.picker.model(model_id);
		byId("model-now").textContent = (this.nextOnly ? "Next turn: " : "") + (m?.name ?? (model_id ? model_id.slice(model_id.indexOf("/") + 1) : "Default model"));
		byId("pick-model").title = model_id + (model_id && model_id === this.picker.defaultModel && !this.conversation ? ", the default of new sessions" : "");
		const inForce = this.nextOnly || !this.info ? level : this.info.thinking_level;
		const box = byId("level-now");
		const asked = level ?? "";
		if (!inForce) box.replaceChildren(m && !m.supports_thinking ? "no thinking" : "default level");
		else if (m && !m.supports_thinking) box.replaceChildren("no thinking");
		else if (asked && asked !== inForce) box.replaceChildren(bars(m?.thinking_levels ?? [], inForce, asked), h("span", { class: "vh" }, "Requested "), h("s", {}, asked), h("span", { class: "vh" }, ", in effect "), inForce);
		else box.replaceChildren(...(m ? [bars(m.thinking_levels, inForce)] : []), inForce);
		byId("pick-level").classList.toggle("clamp", asked !== "" && inForce !== undefined && asked !== inForce && (m?.supports_thinking ?? true));
	}

	// The connection

	private line(state: State): void {
		const banner = byId("banner");
		const text = byId("banner-text");
		byId("dot").classList.toggle("off", state.is !== "open");
		byId("line-state").textContent = state.is === "open" ? "Connected" : state.is === "closed" ? "Disconnected" : "Connecting";
		byId("retry").hidden = state.is !== "waiting";
		if (state.is === "open") {
			void this.sessions.watch().catch(() => {}); // a lost connection is followed by another
			if (!banner.hidden) {
				text.textContent = "Connected.";
				setTimeout(() => (banner.hidden = this.client.state.is === "open"), 2000);
			}
			return;
		}
		if (state.is === "closed") {
			forget();
			lock(`${state.reason}.`);
		}
		if (state.is !== "waiting") return;
		const tick = () => {
			if (this.client.state !== state) return false;
			text.textContent = `Connection lost. Turns continue in the daemon. Reconnecting in ${duration(Math.max(1000, state.until - Date.now()))}.`;
			return true;
		};
		tick();
		twiceASecond(tick);
		banner.hidden = false;
	}

	/** Renews the sign-in before each connection, and in time before it ends. A connection that ends with it is followed by another. */
	private renewing(inner: Transport): Transport {
		let next = 0;
		const later = (pause: number) => {
			clearTimeout(next);
			next = window.setTimeout(() => void renewed().catch(() => later(10_000)), Math.min(pause, 2 ** 31 - 1));
		};
		const renewed = async (): Promise<boolean> => {
			const lasts = await renew();
			if (lasts === undefined) {
				this.client.close("Your sign-in has ended. Sign in again");
				return false;
			}
			later(lasts / 2 + 500); // the daemon renews once half of the time is over
			return true;
		};
		return {
			...inner,
			open: async (receiver) => {
				if (!(await renewed())) throw new Error("the sign-in has ended");
				return inner.open({ ...receiver, closed: (why) => receiver.closed(why, false) });
			},
		};
	}

	// Controls and keys

	private drawer(on: boolean): void {
		const was = document.body.classList.contains("drawer");
		document.body.classList.toggle("drawer", on);
		byId("page").inert = on;
		byId("menu").setAttribute("aria-expanded", String(on));
		if (on) {
			byId("find").focus();
			// A hidden element cannot get the focus, and the drawer becomes visible with its first frame.
			if (document.activeElement !== byId("find")) requestAnimationFrame(() => requestAnimationFrame(() => document.body.classList.contains("drawer") && byId("find").focus()));
			return;
		}
		const at = document.activeElement;
		if (was && (at === document.body || byId("side").contains(at))) byId("menu").focus();
	}

	private controls(): void {
		byId("retry").addEventListener("click", () => this.client.retry());
		byId("menu").addEventListener("click", () => this.drawer(true));
		byId("scrim").addEventListener("click", () => this.drawer(false));
		byId("latest").addEventListener("click", () => this.conversation?.toEnd());
		byId("new").addEventListener("click", () => {
			this.drawer(false);
			if (this.conversation || this.view) location.hash = "/";
			this.composer.focus();
		});
		byId("add-key").addEventListener("click", (event) => void this.keys.open(event.currentTarget as HTMLElement));
		byId("find-here").addEventListener("click", () => this.findHere());
		byId("grants").addEventListener("click", (event) => this.grants(event.currentTarget as HTMLElement));
		byId("menu-session").addEventListener("click", (event) => this.menu(event.currentTarget as HTMLElement));
		byId("try-think").addEventListener("click", () => void this.try({ text: "Which is later: 23:30 in Lisbon or 00:15 in Berlin? [[sim: pace=30 thinking=120 text=60]]" }, { title: "Lisbon or Berlin", model_id: "sim/claude-always", thinking_level: "high" }));
		byId("try-tool").addEventListener("click", () => void this.try({ text: "What time is it here? [[sim: tool=local_time pace=30]]" }, { title: "The time here", model_id: "sim/claude-always", ...demoTool }));
		byId("try-clamp").addEventListener("click", () => void this.try({ text: "Think as hard as you can about a chess ending. [[sim: pace=30 text=60]]" }, { title: "A chess ending", model_id: "sim/claude-budget", thinking_level: "max" }));
		document.addEventListener("keydown", (event) => this.key(event));
		matchMedia("(min-width: 901px)").addEventListener("change", () => this.drawer(false));
	}

	private findHere(): void {
		if (this.conversation) this.findBar.open(this.conversation.session.id);
	}

	private async try(p: { text: string }, made: NewSession): Promise<void> {
		try {
			await this.prompt(p, made);
		} catch (error) {
			this.composer.fail((error as Error).message);
		}
	}

	private menu(from: HTMLElement): void {
		const id = this.conversation?.session.id;
		if (!id || !this.info) return;
		const { title, pinned, archived } = this.info;
		const { owner } = this.info;
		const compact = () => void this.compact().catch((error: Error) => this.composer.fail(error.message));
		this.tidy.menu(from, { session_id: id, title, ...(pinned && { pinned }), ...(archived && { archived }), ...(owner && { owner }) }, () => {}, [{ label: "Summarise earlier turns", act: compact }]);
	}

	/** The standing approvals and denials of the session, each with a button that ends it. */
	private grants(from: HTMLElement): void {
		const session_id = this.conversation?.session.id;
		if (!session_id) return;
		const list = h("ul", { class: "granted" }, ...(this.info?.grants ?? []).map((g) => {
			const revoke = button("Revoke", "", () => {
				revoke.disabled = true;
				void this.client.call("session/grants", { session_id, revoke: [g.id] }).then((r) => {
					this.change({ grants: r.grants });
					row.remove();
					say("Revoked");
					if (r.grants.length === 0) closePopover();
				});
			});
			const row = h("li", {}, h("span", {}, h("b", {}, g.deny ? "Denied: " : "Allowed: "), ...coded(g.text)), revoke);
			return row;
		}));
		popover(from, "Without a question until the session ends", list, "small");
	}

	private key(event: KeyboardEvent): void {
		const command = event.ctrlKey || event.metaKey;
		if (command && event.key.toLowerCase() === "k") {
			event.preventDefault();
			if (matchMedia("(max-width: 900px)").matches) this.drawer(true);
			byId("find").focus();
			return;
		}
		if (command && event.key === "/") {
			event.preventDefault();
			if (!this.guest) this.picker.open(byId("pick-model"), false);
			return;
		}
		if (event.key === "Escape") {
			if (closePopover()) return;
			if (document.body.classList.contains("drawer")) this.drawer(false);
			else if (this.raw.open && byId("raw").contains(document.activeElement)) this.raw.show(false);
			else if (this.composer.focused && this.running === "running" && !this.view) this.stop();
			return;
		}
		if (command && event.shiftKey && event.key.toLowerCase() === "f" ) {
			event.preventDefault();
			location.hash = "/search";
			return;
		}
		const typing = (event.target as Element).matches("input, textarea, select");
		if (event.key === "?" && !command && !typing) {
			event.preventDefault();
			showShortcuts(byId("to-settings"));
			return;
		}
		if (event.key === "t" && this.view === this.compare && !command && !typing && byId("view").contains(event.target as Element)) {
			this.compare.foldAll();
			return;
		}
		// Single letters work only outside of text fields (WCAG 2.1.4).
		if (command || event.altKey || !byId("scroll").contains(document.activeElement) || (event.target as Element).matches("input, textarea")) return;
		switch (event.key) {
			case "j":
				this.conversation?.step(1);
				break;
			case "k":
				this.conversation?.step(-1);
				break;
			case "t":
				this.conversation?.foldAll();
				break;
			case "r":
				this.raw.show(!this.raw.open);
				break;
			case "f":
				event.preventDefault();
				this.findHere();
		}
	}
}

/** The blocks of a prompt, as they were sent. */
function sendable(content: Block[]): Block[] {
	return content.map(({ block: _, ...b }) => b) as Block[];
}

function textOf(content: Block[]): string {
	return content.flatMap((b) => (b.type === "text" ? [b.text] : [])).join("\n");
}

/** Shows that the page has no access, and why. */
function lock(why = ""): void {
	closePopover();
	for (const id of ["hello", "dock", "view", "banner", "menu-session", "find-here", "findbar", "raw-toggle", "meter", "grants", "menu"]) byId(id).hidden = true;
	byId("turns").replaceChildren();
	byId("side").inert = true;
	byId("line-state").textContent = "No access";
	byId("scroll").hidden = byId("locked").hidden = false;
	byId("title").textContent = "thinkd";
	document.title = "thinkd";
	byId("unlock-why").textContent = why;
	byId("unlock-why").hidden = why === "";
	byId("unlock-token").focus();
	void maySignIn().then(offerSignIn, () => {}); // a daemon that cannot be reached offers nothing
}

/** Shows the way in for people whom the daemon's OpenID provider knows. */
function offerSignIn(may: boolean): void {
	byId("sign-in-way").hidden = !may;
	byId("token-way").hidden = may;
	if (may) byId("sign-in").focus();
}

byId("sign-in").addEventListener("click", () => void signIn().catch((error: Error) => lock(error.message)));

byId("unlock").addEventListener("submit", (event) => {
	event.preventDefault();
	const field = byId<HTMLInputElement>("unlock-token");
	const given = field.value.trim();
	logIn(new URLSearchParams(given.slice(given.indexOf("#") + 1)).get("token") ?? given).then(() => location.reload(), (error: Error) => lock(error.message)); // people paste the whole address too
});

async function start(): Promise<void> {
	applyTheme();
	wrapped();
	window.addEventListener("hashchange", () => {
		if (givenToken()) location.reload(); // somebody opened the printed address in this tab
	});
	const given = givenToken();
	try {
		if (given) {
			document.body.inert = true; // nothing listens to its controls yet
			try {
				await logIn(given);
			} finally {
				document.body.inert = false;
			}
			hideToken();
		}
	} catch (error) {
		if (!(error instanceof TypeError)) hideToken(); // the daemon refused it. fetch rejects with a TypeError if there was no answer
		lock((error as Error).message);
		return;
	}
	const failed = afterSignIn();
	onAccess(() => location.reload());
	const has = access();
	if (!has) {
		lock(failed);
		return;
	}
	const app = new App(has);
	app.connect().catch(async () => {
		if (!access() || !(await refused())) return; // the page is locked already; or the client keeps trying, and shows it
		forget();
		lock("This browser’s access is not valid any more.");
	});
	await app.begin().catch((error: Error) => {
		if (!(error instanceof ClosedError)) throw error; // the page is locked
	});
}

void start();
