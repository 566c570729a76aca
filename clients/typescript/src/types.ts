// Code generated from rpc.discover by `go generate ./web`. DO NOT EDIT.

export type About = {
	tenant?: string;
	user: string;
};

export type Access = "read" | "write";

export type Agent = {
	agent: string;
	model_id?: string;
	system_prompt?: string;
	reasoning: AgentReasoning;
	on_other_model?: OtherModel;
	thinking_level?: Level;
	options?: Options;
	fallbacks?: FallbackModel[];
	egress?: string[];
	compact_model?: string;
	ask_above?: number;
};

export type AgentReasoning = {
	override_mode?: OverrideMode;
	effort?: Level;
	fallback?: Fallback;
};

export type Applies = "now" | "next_turn";

export type AskKind = "thinking" | "text";

export type AuditRecord = {
	time: string;
	user?: string;
	tenant?: string;
	from?: string;
	token_id?: string;
	node?: string;
	method: string;
	session_id?: string;
	new_session_id?: string;
	about?: About;
	code: number;
	kind?: string;
	others?: number;
	lost?: number;
};

export type AuthState = {
	provider: string;
	state: KeyState;
	source?: KeySource;
	login?: boolean;
	payer?: Payer;
	ends_in?: string;
	keys?: NamedKey[];
	egress?: string[];
	limits?: RateLimit[];
	scope?: KeyScope;
};

export type Block = TextBlock | ThinkingBlock | ToolCallBlock | ToolResultBlock | ServerToolBlock | MediaBlock;

export type CacheCause = "model" | "level" | "tools" | "system" | "summary" | "message" | "expired" | "vendor";

export type CacheMiss = {
	cause: CacheCause;
	why: string;
	tokens: number;
	cost?: Cost;
};

export type CacheMisses = {
	cause: CacheCause;
	calls: number;
	tokens: number;
	cost?: Cost;
};

export type CacheState = "kept" | "lost" | "cold" | "unknown";

export type CacheTime = "5m" | "1h" | "off";

export type CacheUse = {
	expected_tokens: number;
	cached_tokens: number;
	misses?: CacheMiss[];
};

export type Capabilities = {
	tools: boolean;
	confirm: boolean;
	builtin_tools: boolean;
	mcp_servers: boolean;
};

export type Change = {
	model: string;
	fact: string;
	from?: string;
	to?: string;
	was?: Fact;
	is?: Fact;
};

export type Citation = {
	url: string;
	title?: string;
	start?: number;
	end?: number;
	quote?: string;
};

export type Cited = {
	block: number;
	sources: Citation[];
};

export type ClientCapabilities = {
	tools?: boolean;
	confirm?: boolean;
};

export type ClientInfo = {
	name?: string;
	version?: string;
	attended?: boolean;
};

export type CompactFirst = {
	messages: number;
	tokens: number;
	summary_cost: CostRange | null;
	cost: CostRange | null;
};

export type Confirm = {
	confirm_id: string;
	message_id: string;
	block: number;
	call_id: string;
	name: string;
	arguments: unknown;
	title: string;
	message: string;
	origin: Origin;
	parts: Part[];
	actions: ConfirmAction[];
	grants: Grant[];
	denials: Grant[];
	limit?: number;
	until?: number;
	truncated?: boolean;
};

export type ConfirmAction = "allow" | "allow_session" | "deny";

export type Context = {
	used: number;
	window: number;
};

export type ContinueAction = "kept" | "prefilled" | "requested_again" | "dropped";

export type ContinuedPart = {
	message_id: string;
	block: number;
	type: string;
	action: ContinueAction;
};

export type Cost = {
	amount: number;
	currency: string;
	partial?: boolean;
};

export type CostRange = {
	low: Cost;
	likely: Cost;
	high: Cost;
};

export type Display = "summarized" | "omitted" | "updates";

export type Disposition = "started" | "queued" | "steered" | "appended";

export type Error = {
	code: number;
	message: string;
	/** kind is the stable word; the others are there where they help */
	data?: {
		kind: string;
		field?: string;
		candidates?: string[];
		model?: string;
		valid?: string[];
		ignored?: string[];
		did_you_mean?: Record<string, string>;
		thinking_levels?: Level[];
		/** a number of bytes, or the name of a setting */
		limit?: number | string;
		detail?: string;
		retry_after_ms?: number;
		status?: number;
		request_id?: string;
		right?: string;
		ref?: string;
		model_id?: string;
		media?: string;
		reason?: string;
		block?: number;
		takes?: string[];
	};
};

export type Excerpt = {
	in: Place;
	message_id?: string;
	block?: number;
	text: string;
	matches: Match[];
};

export type ExportFormat = "json" | "markdown";

export type Fact = {
	state: FactState;
	source?: string;
	as_of?: string;
};

export type FactState = "confirmed" | "table" | "family" | "learned";

export type Facts = {
	levels?: Fact;
	default?: Fact;
	limits?: Fact;
	input?: Fact;
	media?: Fact;
	price?: Fact;
	lifecycle?: Fact;
};

export type FailureKind = "auth" | "rate_limit" | "quota" | "overloaded" | "context_too_long" | "refused" | "bad_request" | "transport" | "stalled" | "empty_answer" | "other_model" | "egress";

export type Fallback = "downgrade" | "off" | "provider_default" | "error";

export type FallbackModel = {
	model_id: string;
	thinking_level?: Level;
	key?: string;
};

export type FellBack = {
	from: ModelInForce;
	to: ModelInForce;
	key?: string;
	why: SwitchReason;
	continues?: boolean;
	thinking?: Thoughts;
	cache?: CacheState;
	cache_why?: string;
	price_factor?: number;
	payer?: Payer;
	options?: OptionDecision;
	error?: Error;
};

export type Found = {
	session: Session;
	hits: number;
	excerpts: Excerpt[];
};

export type Grant = {
	id: string;
	text: string;
	scope: GrantScope;
	deny?: boolean;
	tool: string;
	prefix?: string[];
	folder?: string;
	definition?: string;
};

export type GrantScope = "tool" | "prefix" | "folder";

export type Guest = {
	user: string;
	access: Access;
};

export type Identity = {
	user: string;
	tenant?: string;
	rights: string[];
	expires_at?: number;
};

export type Incomplete = "cancelled" | "interrupted" | "error" | "max_tokens" | "refusal" | "refused";

export type InstructionFile = {
	path: string;
	bytes: number;
	cut?: boolean;
};

export type Joined = {
	message_id: string;
	block: number;
};

export type KeyScope = "user" | "tenant" | "operator";

export type KeySource = "environment" | "keys" | "login" | "identity";

export type KeyState = "ready" | "missing" | "refused" | "not_needed";

export type KindLimits = {
	types?: string[];
	max_bytes?: number;
	max_count?: number;
	max_side?: number;
	max_pixels?: number;
	max_pages?: number;
	many?: number;
	many_max_side?: number;
	tokens?: TokenRule;
};

export type Level = "off" | "auto" | "on" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

export type LevelReason = "as_requested" | "level_not_supported" | "off_not_supported" | "off_up_front_only" | "no_thinking" | "unknown_model" | "model_default";

export type LevelSource = "turn" | "session" | "agent" | "config" | "provider" | "model" | "unset";

export type Lifecycle = {
	state: ModelLifecycle;
	retires?: string;
	replaced_by?: string;
	redirects?: boolean;
	gone?: boolean;
};

export type Limits = {
	max_message_bytes: number;
	max_depth: number;
	max_method_bytes: number;
	max_id_bytes: number;
	max_batch: number;
	max_in_flight: number;
};

export type LoginState = "started" | "waiting" | "ready" | "failed";

export type Match = {
	start: number;
	end: number;
};

export type MediaBlock = {
	mime_type: string;
	name?: string;
	data?: string;
	/** pixels of an image, in what the daemon sends */
	width?: number;
	/** pixels of an image, in what the daemon sends */
	height?: number;
	/** of a sound, in what the daemon sends */
	duration_ms?: number;
	type: "media";
	/** its number in the message, in what the daemon sends */
	block?: number;
	/** it is being written */
	open?: boolean;
	/** there is more of it than is shown */
	truncated?: boolean;
};

export type MediaLimits = {
	max_bytes?: number;
	image?: KindLimits;
	pdf?: KindLimits;
	audio?: KindLimits;
};

export type Message = {
	id: string;
	turn_id: string;
	role: Role;
	ts?: number;
	content: Block[];
	model?: ModelInForce;
	reasoning?: Reasoning;
	served?: ServedRecord;
	payer?: Payer;
	tier?: string;
	stop_reason?: StopReason;
	usage?: Usage;
	incomplete?: Incomplete;
	open?: boolean;
	queued?: boolean;
	into?: string;
	continues?: string;
	joins?: Joined;
	pinned?: boolean;
	turn_end?: TurnEnded;
};

export type Model = {
	id: string;
	name: string;
	provider: string;
	supports_thinking: boolean;
	thinking_levels: Level[];
	default_thinking_level: Level;
	thinking: ModelThinking;
	context_window?: number;
	max_output_tokens?: number;
	input?: string[];
	media?: MediaLimits;
	tools: boolean;
	price?: Price;
	premium_multiplier?: number;
	lifecycle?: Lifecycle;
	facts?: Facts;
	thinking_storages: ThinkingStorage[];
	available: boolean;
	why?: string;
};

export type ModelInForce = {
	provider: string;
	id: string;
	thinking_level: Level;
};

export type ModelLifecycle = "preview" | "current" | "deprecated" | "retired";

export type ModelSource = "config" | "live" | "refreshed" | "catalog" | "family" | "unknown";

export type ModelThinking = {
	control?: ThinkingControl;
	can_disable: boolean;
	display?: Display[];
	source: ModelSource;
	as_of?: string;
};

export type NamedKey = {
	name: string;
	ends_in?: string;
};

export type Need = "approval" | "answer" | "parked" | "read";

export type NewTool = {
	name: string;
	description?: string;
	/** the JSON schema of an object */
	input_schema?: Record<string, unknown>;
	title?: string;
	effect?: ToolEffect;
};

export type OfferedServer = {
	name: string;
	command?: string[];
	env?: Record<string, string>;
	cwd?: string;
	url?: string;
	headers?: Record<string, string>;
	tools?: string[];
};

export type Omitted = {
	message_id: string;
	part: OmittedPart;
	why: string;
};

export type OmittedPart = "all" | "media_and_results";

export type OpenTool = {
	message_id: string;
	block: number;
	call_id: string;
	name: string;
	arguments?: unknown;
	invalid_arguments?: string;
	host?: ToolHost;
	title?: string;
	truncated?: boolean;
	output?: string;
};

export type OpenTurn = {
	turn_id: string;
	model: ModelInForce;
	reasoning: Reasoning;
	payer?: Payer;
	options?: OptionDecision;
	messages: Message[];
	more?: boolean;
	confirms?: Confirm[];
	tools?: OpenTool[];
	parked?: Parked;
	continues?: string;
	joins?: Joined;
	queue: Queued[];
	held: boolean;
};

export type OptionDecision = {
	options: OptionOutcome[];
	output_form?: OutputForm;
	wire?: unknown;
};

export type OptionOutcome = {
	option: string;
	state: OptionState;
	source: LevelSource;
	requested: unknown;
	effective?: unknown;
	why?: string;
};

export type OptionState = "sent" | "adjusted" | "refused";

export type Options = {
	output_schema?: OutputSchema;
	output?: Output;
	tool_choice?: string;
	parallel_tools?: boolean;
	max_output_tokens?: number;
	temperature?: number;
	top_p?: number;
	top_k?: number;
	stop?: string[];
	seed?: number;
	verbosity?: Verbosity;
	service_tier?: ServiceTier;
	cache?: CacheTime;
	server_tools?: ServerToolName[];
	server_tool_limits?: ServerToolLimits;
};

export type Origin = {
	provider: string;
	model: string;
	host: ToolHost;
	server?: string;
	effect: ToolEffect;
	folder?: string;
};

export type OtherModel = "notify" | "stop";

export type Output = "text" | "json";

export type OutputForm = "native" | "tool";

export type OutputSchema = {
	name?: string;
	schema: unknown;
	strict?: boolean;
};

export type OverrideMode = "inherit" | "custom";

export type ParkReason = "quota" | "approval" | "outage" | "client" | "budget";

export type Parked = {
	why: ParkReason;
	since: number;
	until?: number;
	resumes: Resumption;
	spending?: Spending;
	error?: Error;
};

export type Part = {
	kind: PartKind;
	name?: string;
	text: string;
};

export type PartKind = "command" | "diff" | "content" | "value";

export type Payer = {
	kind: PayerKind;
	name: string;
};

export type PayerKind = "plan" | "key" | "local";

export type PeakHours = {
	factor: number;
	utc_offset: number;
	hours: number[][];
	weekdays?: boolean;
};

export type PinApplies = "now" | "next_summary";

export type Place = "title" | "prompt" | "thought" | "answer" | "tool";

export type PlanItem = {
	content: string;
	status: PlanStatus;
	priority: PlanPriority;
};

export type PlanPriority = "high" | "medium" | "low";

export type PlanStatus = "pending" | "in_progress" | "completed";

export type Price = {
	input: number;
	output: number;
	cached_input?: number;
	cache_write?: number;
	cache_write_1h?: number;
	tiers?: PriceTier[];
	changes?: PriceChange[];
	peak?: PeakHours;
	service_tiers?: Record<string, number>;
	web_search?: number;
};

export type PriceChange = {
	from: string;
	input: number;
	output: number;
	cached_input?: number;
	cache_write?: number;
	cache_write_1h?: number;
	tiers?: PriceTier[];
};

export type PriceTier = {
	above: number;
	input: number;
	output: number;
	cached_input?: number;
	cache_write?: number;
	cache_write_1h?: number;
};

export type PromptPart = "tools" | "system" | "summary" | "turns" | "media";

export type Provider = {
	provider: string;
	available: boolean;
	why?: string;
	reasoning_defaults: ReasoningDefaults | null;
};

export type Purpose = "turn" | "summary" | "aside";

export type Queued = {
	turn_id: string;
	text: string;
};

export type Quoted = {
	prompt: QuotedPrompt | null;
	cost: CostRange | null;
	compact_first?: CompactFirst;
};

export type QuotedPart = {
	part: PromptPart;
	tokens: number;
	read: number | null;
	written: number | null;
	paid: number | null;
};

export type QuotedPrompt = {
	tokens: number;
	tokens_low: number;
	tokens_high: number;
	counted: boolean;
	read: number | null;
	written: number | null;
	paid: number | null;
	parts: QuotedPart[];
};

export type RateLimit = {
	name: string;
	plan?: boolean;
	limit?: number;
	remaining?: number;
	used_percent?: number;
	resets?: number;
	window_ms?: number;
};

export type Reasoning = {
	source: LevelSource;
	requested_effort: Level;
	effective_effort: Level;
	fallback: Fallback;
	reason: LevelReason;
	supported_levels: Level[];
	used_provider_default: boolean;
	known_model: boolean;
	wire?: unknown;
};

export type ReasoningDefaults = {
	effort?: Level;
	fallback?: Fallback;
};

export type Reconnect = {
	min_ms: number;
	max_ms: number;
};

export type Refreshed = {
	provider: string;
	models: number;
	as_of?: string;
	error?: string;
	skipped?: string[];
};

export type ResolvedBy = "client" | "timeout" | "turn_end" | "tool_mode";

export type ResumedBy = "time" | "client" | "answer";

export type Resumption = "automatically" | "on_request";

export type Role = "user" | "assistant";

export type Served = {
	model?: string;
	host?: string;
	substituted?: boolean;
};

export type ServedRecord = {
	requested?: string;
	sent?: string;
	model?: string;
	host?: string;
	substituted?: boolean;
};

export type ServerInfo = {
	name: string;
	version: string;
};

export type ServerStatus = "running" | "done" | "failed";

export type ServerToolBlock = {
	call_id: string;
	name: string;
	arguments?: Record<string, unknown>;
	/** what came of the call; absent: the block has no result */
	text?: string;
	sources?: Citation[];
	is_error?: boolean;
	type: "server_tool";
	/** its number in the message, in what the daemon sends */
	block?: number;
	/** it is being written */
	open?: boolean;
	/** there is more of it than is shown */
	truncated?: boolean;
};

export type ServerToolLimits = {
	max_uses?: number;
	allowed_domains?: string[];
	blocked_domains?: string[];
};

export type ServerToolName = "web_search" | "web_fetch" | "code_execution";

export type ServiceTier = "auto" | "standard" | "flex" | "priority";

export type Session = {
	session_id: string;
	title: string;
	status: SessionStatus;
	model: ModelInForce;
	thinking_level: Level;
	preferred_thinking_level: Level | null;
	agent?: string;
	tool_mode?: ToolMode;
	on_other_model?: OtherModel;
	fallbacks?: FallbackModel[];
	egress?: string[];
	thinking_storage?: ThinkingStorage;
	ephemeral?: boolean;
	ask_above?: number;
	cwd: string;
	created: number;
	updated: number;
	usage: Usage;
	warm_until?: number;
	metadata: Record<string, unknown>;
	grants?: Grant[];
	needs?: Need;
	owner?: string;
	access?: Access;
	archived?: boolean;
	pinned?: boolean;
	pinned_messages?: string[];
	options?: Options;
	tools?: SessionTool[];
	plan?: PlanItem[];
	project_instructions?: InstructionFile[];
};

export type SessionOptions = {
	output_schema?: OutputSchema;
	output?: Output;
	tool_choice?: string;
	parallel_tools?: boolean;
	max_output_tokens?: number;
	temperature?: number;
	top_p?: number;
	top_k?: number;
	stop?: string[];
	seed?: number;
	verbosity?: Verbosity;
	service_tier?: ServiceTier;
	cache?: CacheTime;
	server_tools?: ServerToolName[];
	server_tool_limits?: ServerToolLimits;
	keep_alive?: string;
	on_other_model?: OtherModel;
	fallbacks?: FallbackModel[];
	egress?: string[];
	ask_above?: number;
};

export type SessionStatus = "idle" | "running" | "waiting" | "parked" | "held" | "damaged";

export type SessionTool = {
	name: string;
	host: ToolHost;
	source?: string;
	effect: ToolEffect;
};

export type Severity = "info" | "warning";

export type ShareAccess = "read" | "write" | "none";

export type SharedSession = {
	session_id: string;
	user: string;
	access: Access;
	title?: string;
	updated_at: number;
};

export type Spending = {
	limit: SpendingLimit;
	used: number;
	most: number;
	next: number;
	quote?: Quoted;
};

export type SpendingLimit = "max_day_cost" | "max_cost_unattended" | "ask_above";

export type Step = {
	turn_id: string;
	after?: string;
	ts: number;
	fell_back?: FellBack;
	parked?: Parked;
	by?: ResumedBy;
};

export type StopReason = "end_turn" | "max_tokens" | "tool_use" | "refusal" | "pause" | "cancelled" | "interrupted" | "error" | "limit" | "max_model_calls" | "output_mismatch";

export type Summary = {
	summary_id: string;
	includes?: string;
	from: string;
	upto: string;
	messages: number;
	after: string;
	pinned?: string[];
	text: string;
	model_id: string;
	tokens_before?: number;
	tokens_after?: number;
	usage: Usage;
	truncated?: boolean;
	turn_id?: string;
	ts: number;
	undone?: boolean;
	undoable?: boolean;
};

export type SwitchReason = "auth" | "rate_limit" | "quota" | "overloaded" | "context_too_long" | "refused" | "bad_request" | "transport" | "stalled" | "empty_answer" | "other_model" | "egress" | "returned";

export type TextBlock = {
	text: string;
	/** the text as a value, if it is the JSON that was asked for */
	json?: Record<string, unknown>;
	sources?: Citation[];
	type: "text";
	/** its number in the message, in what the daemon sends */
	block?: number;
	/** it is being written */
	open?: boolean;
	/** there is more of it than is shown */
	truncated?: boolean;
};

export type ThinkingBlock = {
	text: string;
	kind: ThinkingKind;
	signed: boolean;
	tokens?: number;
	estimated?: boolean;
	duration_ms?: number;
	type: "thinking";
	/** its number in the message, in what the daemon sends */
	block?: number;
	/** it is being written */
	open?: boolean;
	/** there is more of it than is shown */
	truncated?: boolean;
};

export type ThinkingControl = "effort" | "budget" | "toggle" | "always" | "none";

export type ThinkingKind = "full" | "summary" | "redacted" | "omitted";

export type ThinkingStorage = "full" | "opaque" | "none";

export type Thoughts = {
	kept: number;
	converted: number;
	dropped: number;
	why: string[];
	media_left_out?: number;
};

export type TokenRule = {
	tile?: number;
	each?: number;
	shown_side?: number;
	max_tokens?: number;
	per_second?: number;
};

export type ToolCallBlock = {
	call_id: string;
	name: string;
	arguments?: Record<string, unknown>;
	invalid_arguments?: string;
	type: "tool_call";
	/** its number in the message, in what the daemon sends */
	block?: number;
	/** it is being written */
	open?: boolean;
	/** there is more of it than is shown */
	truncated?: boolean;
};

export type ToolEffect = "read" | "edit" | "run" | "other";

export type ToolHost = "client" | "mcp" | "builtin";

export type ToolMode = "ask" | "edit" | "read";

export type ToolPolicy = {
	names?: Record<string, ToolRule>;
	effects?: Record<string, ToolRule>;
};

export type ToolResultBlock = {
	call_id: string;
	content: (TextBlock | MediaBlock)[];
	is_error?: boolean;
	type: "tool_result";
	/** its number in the message, in what the daemon sends */
	block?: number;
	/** it is being written */
	open?: boolean;
	/** there is more of it than is shown */
	truncated?: boolean;
};

export type ToolRule = "allow" | "ask" | "deny";

export type TurnEnded = {
	stop_reason: StopReason;
	model?: ModelInForce;
	limit?: string;
	error?: Error;
	output_errors?: string[];
};

export type Usage = {
	input_tokens: number;
	output_tokens: number;
	reasoning_tokens: number | null;
	cached_tokens: number;
	cache_write_tokens: number;
	cache_write_1h_tokens?: number;
	estimated: boolean;
	cost?: Cost;
	web_searches?: number;
	premium_requests?: number;
	context?: Context;
};

export type UsageBy = "day" | "model" | "level" | "session" | "provider" | "payer" | "purpose" | "user";

export type UsageRow = {
	day?: string;
	model_id?: string;
	thinking_level?: Level;
	session_id?: string;
	provider?: string;
	payer?: string;
	purpose?: Purpose;
	user?: string;
	tenant?: string;
	title?: string;
	deleted?: boolean;
	calls: number;
	usage: Usage;
	cache_misses?: CacheMisses[];
};

export type Verbosity = "low" | "medium" | "high";

export type WaitOrReject = "queue" | "reject";

export type WhenBusy = "queue" | "steer" | "reject";

/** Methods by name. */
export interface Methods {
	/** Tells the daemon who the client is, and returns what the daemon can do. Optional; at most once. */
	"initialize": {
		params: {
			protocol_version?: number;
			client?: ClientInfo;
			capabilities?: ClientCapabilities;
			strict?: boolean;
			notifications?: ("prompt" | "turn_start" | "message_start" | "message_end" | "thinking_start" | "thinking_delta" | "thinking_end" | "message_delta" | "text_end" | "media_end" | "server_tool" | "usage" | "retry" | "thinking_converted" | "notice" | "session_update" | "queue_update" | "fell_back" | "turn_parked" | "turn_resumed" | "turn_end" | "summary" | "summary_undone" | "tool_start" | "tool_output" | "tool_end" | "plan" | "confirm" | "confirm_resolved")[];
		};
		result: {
			protocol_version: number;
			server: ServerInfo;
			capabilities: Capabilities;
			limits: Limits;
			reconnect: Reconnect;
			listen?: string;
			identity?: Identity;
			durability?: string;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns an empty result. */
	"ping": {
		params: {};
		result: {
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns this document. */
	"rpc.discover": {
		params: {};
		result: Record<string, unknown>;
	};
	/** Returns all models, or those of one provider. With refresh, the response is late. */
	"models/list": {
		params: {
			provider?: string;
			refresh?: boolean;
		};
		result: {
			models: Model[];
			default_model?: string;
			refresh?: Refreshed[];
			changes?: Change[];
			more?: number;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Sets the session's model from the next turn on. */
	"model/set": {
		params: {
			session_id: string;
			model_id: string;
			provider?: string;
			thinking_level?: Level | "none";
		};
		result: {
			model: ModelInForce;
			thinking_level: Level;
			preferred_thinking_level: Level | null;
			reasoning: Reasoning;
			thinking_levels: Level[];
			applies: Applies;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Sets the preferred level from the next turn on. */
	"thinking/set": {
		params: {
			session_id: string;
			level: Level | "none";
			fallback?: Fallback;
			display?: Display;
		};
		result: {
			thinking_level: Level;
			preferred_thinking_level: Level | null;
			reasoning: Reasoning;
			thinking_levels: Level[];
			applies: Applies;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns the decision for another model or level, and what would happen to earlier thinking. It changes nothing. */
	"thinking/explain": {
		params: {
			session_id: string;
			model_id?: string;
			level?: Level | "none";
			options?: Options;
		};
		result: {
			reasoning: Reasoning;
			options?: OptionDecision;
			facts?: Facts;
			blocks?: Thoughts;
			cache?: CacheState;
			cache_why?: string;
			left_out?: Omitted[];
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns the configured providers and their defaults. */
	"providers/list": {
		params: {};
		result: {
			providers: Provider[];
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns the agents: named settings for new sessions. */
	"agents/list": {
		params: {};
		result: {
			agents: Agent[];
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Creates, changes or removes an agent. The change applies to new sessions. */
	"agents/set": {
		params: {
			agent: string;
			model_id?: string;
			system_prompt?: string;
			reasoning?: AgentReasoning;
			on_other_model?: OtherModel;
			thinking_level?: string;
			options?: Options;
			remove?: boolean;
			fallbacks?: FallbackModel[];
			egress?: string[];
			compact_model?: string;
			ask_above?: number;
		};
		result: {
			agent: Agent | null;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Sets a provider's defaults, from the next turn on. */
	"providers/set": {
		params: {
			provider: string;
			reasoning_defaults?: ReasoningDefaults;
		};
		result: {
			provider: Provider;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns which providers have the key or the login that they need. */
	"auth/status": {
		params: {};
		result: {
			providers: AuthState[];
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Stores a key for a provider: one's own, or with the right keys that of the tenant or the operator. An empty key removes it. */
	"auth/set_key": {
		params: {
			provider: string;
			key: string;
			name?: string;
			scope?: KeyScope;
		};
		result: {
			provider: string;
			state: KeyState;
			source?: KeySource;
			login?: boolean;
			payer?: Payer;
			ends_in?: string;
			keys?: NamedKey[];
			egress?: string[];
			limits?: RateLimit[];
			scope?: KeyScope;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Starts a login at a provider. auth_update reports its progress. */
	"auth/login": {
		params: {
			provider: string;
		};
		result: {
			provider: string;
			state: LoginState;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Continues the connection with a new token of the same user, before its token expires. The response is late. */
	"auth/renew": {
		params: {
			token: string;
		};
		result: {
			identity: Identity | null;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Creates a session and subscribes this connection to it. If tool servers have to start, the response is late. */
	"session/new": {
		params: {
			model_id?: string;
			thinking_level?: Level | "none";
			fallback?: Fallback;
			display?: Display;
			system_prompt?: string;
			agent?: string;
			cwd?: string;
			title?: string;
			tools?: "builtin" | ("builtin" | NewTool)[];
			mcp_servers?: OfferedServer[];
			options?: SessionOptions;
			tool_policy?: ToolPolicy;
			thinking_storage?: ThinkingStorage;
			ephemeral?: boolean;
			/** any text of at most 256 bytes */
			client_id?: string;
		};
		result: {
			session_id: string;
			model: ModelInForce;
			thinking_level: Level;
			preferred_thinking_level: Level | null;
			reasoning: Reasoning;
			seq?: number;
			deleted?: boolean;
			project_instructions?: InstructionFile[];
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Sends a prompt. The prompt is on disk when the daemon responds. */
	"session/prompt": {
		params: {
			session_id: string;
			text?: string;
			content?: Block[];
			thinking_level?: Level | "none";
			model_id?: string;
			display?: Display;
			when_busy?: WhenBusy;
			/** any text of at most 256 bytes */
			client_id?: string;
			/** Unix milliseconds */
			not_before?: number;
			/** Unix milliseconds */
			deadline?: number;
			options?: Options;
			fallbacks?: FallbackModel[];
		};
		result: {
			turn_id: string;
			message_id: string;
			disposition: Disposition;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Adds a user message without a model call. The next prompt sends it to the model. */
	"session/append": {
		params: {
			session_id: string;
			text?: string;
			content?: Block[];
			when_busy?: WaitOrReject;
			/** any text of at most 256 bytes */
			client_id?: string;
		};
		result: {
			turn_id: string;
			message_id: string;
			disposition: Disposition;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns what the next prompt would cost. It changes nothing. The response is late. */
	"session/quote": {
		params: {
			session_id: string;
			model_id?: string;
			thinking_level?: Level | "none";
			text?: string;
			content?: Block[];
		};
		result: {
			model: ModelInForce;
			reasoning: Reasoning;
			cache?: CacheState;
			cache_why?: string;
			warm_until?: number;
			running?: boolean;
			prompt: QuotedPrompt | null;
			cost: CostRange | null;
			compact_first?: CompactFirst;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Continues a turn that was cut off, without a prompt. With dry_run, it only returns what would happen to its blocks. */
	"session/continue": {
		params: {
			session_id: string;
			/** any text of at most 256 bytes */
			client_id?: string;
			dry_run?: boolean;
		};
		result: {
			turn_id?: string;
			continues: string;
			parts: ContinuedPart[];
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Asks a side question with the conversation so far. Question and answer are not recorded. */
	"session/ask": {
		params: {
			session_id: string;
			text?: string;
			content?: Block[];
			thinking_level?: Level | "none";
			model_id?: string;
			keep?: boolean;
			/** any text of at most 256 bytes */
			ask_id?: string;
			/** any text of at most 256 bytes */
			client_id?: string;
		};
		result: {
			model?: ModelInForce;
			reasoning?: Reasoning;
			cache?: CacheState;
			cache_why?: string;
			thinking?: string;
			text?: string;
			stop_reason?: StopReason;
			usage?: Usage;
			duration_ms?: number;
			error?: Error;
			session_id?: string;
			turn_id?: string;
			message_id?: string;
			deleted?: boolean;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns when the turn has ended. */
	"turn/wait": {
		params: {
			session_id: string;
			turn_id: string;
		};
		result: {
			turn_id: string;
			stop_reason: StopReason;
			limit?: string;
			message?: Message;
			usage: Usage;
			reasoning?: Reasoning;
			error?: Error;
			output_errors?: string[];
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Resumes a parked turn, also with another model. */
	"turn/resume": {
		params: {
			session_id: string;
			turn_id: string;
			model_id?: string;
			raise?: number;
			compact_first?: boolean;
		};
		result: {
			turn_id: string;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Ends the running turn, or removes a queued one. */
	"session/cancel": {
		params: {
			session_id: string;
			turn_id?: string;
		};
		result: {
			cancelled: boolean;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Changes a pending prompt, or what its turn runs with. */
	"queue/update": {
		params: {
			session_id: string;
			turn_id: string;
			text?: string;
			content?: Block[];
			thinking_level?: Level | "none";
			model_id?: string;
			display?: Display;
			options?: Options;
			fallbacks?: FallbackModel[];
		};
		result: {
			queue: Queued[];
			held: boolean;
			more_queued?: boolean;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Moves a pending prompt to another place in the queue. */
	"queue/move": {
		params: {
			session_id: string;
			turn_id: string;
			before?: string;
		};
		result: {
			queue: Queued[];
			held: boolean;
			more_queued?: boolean;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns the pending prompts, removes some of them, or resumes a held queue. */
	"session/queue": {
		params: {
			session_id: string;
			remove?: string[];
			resume?: boolean;
		};
		result: {
			queue: Queued[];
			held: boolean;
			more_queued?: boolean;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Subscribes this connection, and returns the current state or the updates that it missed. */
	"session/attach": {
		params: {
			session_id: string;
			after_seq?: number;
			limit?: number;
			notifications?: ("prompt" | "turn_start" | "message_start" | "message_end" | "thinking_start" | "thinking_delta" | "thinking_end" | "message_delta" | "text_end" | "media_end" | "server_tool" | "usage" | "retry" | "thinking_converted" | "notice" | "session_update" | "queue_update" | "fell_back" | "turn_parked" | "turn_resumed" | "turn_end" | "summary" | "summary_undone" | "tool_start" | "tool_output" | "tool_end" | "plan" | "confirm" | "confirm_resolved")[];
		};
		result: {
			session: Session;
			seq: number;
			updates?: {
				method: string;
				params: Record<string, unknown>;
			}[];
			messages?: Message[];
			summaries?: Summary[];
			steps?: Step[];
			more?: boolean;
			open?: OpenTurn;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Ends this connection's subscription. */
	"session/detach": {
		params: {
			session_id: string;
		};
		result: {
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns the session. */
	"session/state": {
		params: {
			session_id: string;
		};
		result: {
			session: Session;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns a page of sessions: those that others share with the user, and then the user's own, the last changed first. */
	"session/list": {
		params: {
			cursor?: string;
			limit?: number;
			query?: string;
			shared?: boolean;
			cwd?: string;
			model_id?: string;
			/** Unix milliseconds */
			since?: number;
			/** Unix milliseconds */
			until?: number;
			archived?: boolean;
			pinned?: boolean;
		};
		result: {
			sessions: Session[];
			next_cursor?: string;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Finds text in all sessions, or in one, the last changed first. One call reads a bounded amount; its cursor continues. */
	"session/search": {
		params: {
			text: string;
			in?: Place[];
			session_id?: string;
			cursor?: string;
			limit?: number;
			cwd?: string;
			model_id?: string;
			/** Unix milliseconds */
			since?: number;
			/** Unix milliseconds */
			until?: number;
			archived?: boolean;
			pinned?: boolean;
		};
		result: {
			found: Found[];
			read: number;
			unreadable?: number;
			next_cursor?: string;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns the first page of sessions, and subscribes this connection to the changes of the list. */
	"session/watch": {
		params: {
			limit?: number;
		};
		result: {
			sessions: Session[];
			next_cursor?: string;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Ends the subscription to the list of sessions. */
	"session/unwatch": {
		params: {};
		result: {
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Marks a session as read. */
	"session/read": {
		params: {
			session_id: string;
			turn_id?: string;
		};
		result: {
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Creates a session that continues from a message of this one. Both share the messages up to it. */
	"session/fork": {
		params: {
			session_id: string;
			message_id?: string;
			before_message_id?: string;
			summary_id?: string;
			/** any text of at most 256 bytes */
			client_id?: string;
		};
		result: {
			session_id: string;
			deleted?: boolean;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Lets a model summarise the earlier turns, and returns when that is done. */
	"session/compact": {
		params: {
			session_id: string;
		};
		result: {
			compacted: boolean;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Undoes the newest summary, until the next prompt. */
	"session/uncompact": {
		params: {
			session_id: string;
			summary_id?: string;
		};
		result: {
			summary_id: string;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns a page of the session's summaries, in order. */
	"session/summaries": {
		params: {
			session_id: string;
			before?: string;
			limit?: number;
		};
		result: {
			summaries: Summary[];
			more: boolean;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Keeps a message word for word beside all later summaries. */
	"message/pin": {
		params: {
			session_id: string;
			message_id: string;
		};
		result: {
			pinned: string[];
			applies: PinApplies;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Lets later summaries replace a message again. */
	"message/unpin": {
		params: {
			session_id: string;
			message_id: string;
		};
		result: {
			pinned: string[];
			applies: PinApplies;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Sets the title, the metadata, the tool mode, what happens if another model answers, or whether people archived or pinned the session. */
	"session/update": {
		params: {
			session_id: string;
			title?: string;
			metadata?: Record<string, unknown>;
			tool_mode?: ToolMode;
			on_other_model?: OtherModel;
			options?: Options;
			fallbacks?: FallbackModel[];
			ask_above?: number;
			archived?: boolean;
			pinned?: boolean;
		};
		result: {
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Cancels the running turn and deletes the session. */
	"session/delete": {
		params: {
			session_id: string;
		};
		result: {
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns a page of messages, in order. */
	"session/history": {
		params: {
			session_id: string;
			before?: string;
			after?: string;
			limit?: number;
		};
		result: {
			messages: Message[];
			summaries?: Summary[];
			steps?: Step[];
			more: boolean;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns the session in pages, as JSON or Markdown. */
	"session/export": {
		params: {
			session_id: string;
			format: ExportFormat;
			thinking?: boolean;
			cursor?: string;
		};
		result: {
			session: Session;
			messages?: Message[];
			summaries?: Summary[];
			steps?: Step[];
			text?: string;
			next_cursor?: string;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Sends the result of a call that clients run. The first result counts. */
	"tool/result": {
		params: {
			session_id: string;
			call_id: string;
			content: Block[];
			is_error?: boolean;
		};
		result: {
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Answers whether a call may run. The first answer counts. */
	"confirm/answer": {
		params: {
			session_id: string;
			confirm_id: string;
			action: ConfirmAction;
			grant?: string;
			reason?: string;
		};
		result: {
			accepted: boolean;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns what model calls used and cost, by day, model, level or session. */
	"usage/report": {
		params: {
			/** a day in UTC, as YYYY-MM-DD */
			from?: string;
			/** a day in UTC, as YYYY-MM-DD */
			to?: string;
			by?: UsageBy;
			split?: UsageBy;
			session_id?: string;
			model_id?: string;
		};
		result: {
			from: string;
			to: string;
			by: UsageBy;
			split?: UsageBy;
			rows: UsageRow[];
			more?: boolean;
			total: UsageRow;
			budgets: Spending[];
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns a page of the audit: who called what, from where, with what result. The response is late. */
	"audit/read": {
		params: {
			from?: string;
			to?: string;
			user?: string;
			tenant?: string;
			named_session_id?: string;
			cursor?: string;
			limit?: number;
		};
		result: {
			records: AuditRecord[];
			damaged?: number;
			next_cursor?: string;
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Shares a session with a user of the same tenant, changes what the user may do, or ends that. Returns all guests. */
	"session/share": {
		params: {
			session_id: string;
			user?: string;
			access?: ShareAccess;
		};
		result: {
			guests: Guest[];
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Returns the sessions that other users share with the client's user. */
	"session/shared": {
		params: {};
		result: {
			sessions: SharedSession[];
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
	/** Lists the standing approvals and denials of a session, and revokes some of them. */
	"session/grants": {
		params: {
			session_id: string;
			revoke?: string[];
		};
		result: {
			grants: Grant[];
			ignored?: string[];
			did_you_mean?: Record<string, string>;
		};
	};
}

/** Params of notifications by name. */
export interface Notifications {
	prompt: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		message_id: string;
		content: Block[];
		disposition: Disposition;
		into?: string;
		replaces?: boolean;
	};
	turn_start: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		model: ModelInForce;
		reasoning: Reasoning;
		payer?: Payer;
		options?: OptionDecision;
		cache?: CacheState;
		cache_why?: string;
		continues?: string;
		joins?: Joined;
		instead_of?: string;
	};
	message_start: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		message_id: string;
		role: Role;
		served?: Served;
	};
	message_end: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		message_id: string;
		stop_reason: StopReason;
		usage: Usage;
		served?: Served;
		tier?: string;
		cited?: Cited[];
	};
	thinking_start: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		message_id: string;
		block: number;
	};
	thinking_delta: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		message_id: string;
		block: number;
		delta: string;
	};
	thinking_end: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		message_id: string;
		block: number;
		text: string;
		kind: ThinkingKind;
		signed: boolean;
		tokens?: number;
		estimated?: boolean;
		duration_ms: number;
		truncated?: boolean;
	};
	message_delta: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		message_id: string;
		block: number;
		delta: string;
	};
	text_end: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		message_id: string;
		block: number;
		text: string;
		json?: unknown;
		sources?: Citation[];
		truncated?: boolean;
	};
	media_end: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		message_id: string;
		block: number;
		mime_type: string;
		size: number;
	};
	server_tool: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		message_id: string;
		block: number;
		call_id: string;
		name: string;
		status: ServerStatus;
		arguments?: unknown;
		text?: string;
		sources?: Citation[];
		truncated?: boolean;
	};
	usage: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		usage: Usage;
	};
	retry: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		attempt: number;
		after_ms: number;
		kind: FailureKind;
		message: string;
		discarded: number[];
	};
	thinking_converted: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		from: string;
		to: string;
		kept: number;
		dropped: number;
		as_text: number;
		media_left_out?: number;
	};
	notice: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		severity: Severity;
		kind: string;
		message: string;
		summary_id?: string;
	};
	session_update: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		title?: string;
		model?: ModelInForce;
		thinking_level?: Level;
		preferred_thinking_level?: Level;
		tool_mode?: ToolMode;
		on_other_model?: OtherModel;
		grants?: Grant[];
		archived?: boolean;
		pinned?: boolean;
		pinned_messages?: string[];
		options?: Options;
		status?: SessionStatus;
		metadata?: Record<string, unknown>;
		deleted?: boolean;
		ask_above?: number;
		fallbacks?: FallbackModel[];
	};
	queue_update: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		queue: Queued[];
		held: boolean;
		more_queued?: boolean;
	};
	fell_back: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		from: ModelInForce;
		to: ModelInForce;
		key?: string;
		why: SwitchReason;
		continues?: boolean;
		thinking?: Thoughts;
		cache?: CacheState;
		cache_why?: string;
		price_factor?: number;
		payer?: Payer;
		options?: OptionDecision;
		error?: Error;
	};
	turn_parked: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		why: ParkReason;
		since: number;
		until?: number;
		resumes: Resumption;
		spending?: Spending;
		error?: Error;
	};
	turn_resumed: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		by: ResumedBy;
	};
	turn_end: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		stop_reason: StopReason;
		limit?: string;
		usage: Usage;
		duration_ms: number;
		output_errors?: string[];
		cache_use?: CacheUse;
		into?: string;
		error?: Error;
	};
	summary: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		summary_id: string;
		includes?: string;
		from: string;
		upto: string;
		messages: number;
		after: string;
		pinned?: string[];
		text: string;
		model_id: string;
		tokens_before?: number;
		tokens_after?: number;
		usage: Usage;
		truncated?: boolean;
	};
	summary_undone: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		summary_id: string;
	};
	tool_start: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		message_id: string;
		block: number;
		call_id: string;
		name: string;
		arguments?: unknown;
		invalid_arguments?: string;
		host?: ToolHost;
		title?: string;
		truncated?: boolean;
	};
	tool_output: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		call_id: string;
		chunk: string;
	};
	tool_end: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		message_id: string;
		block: number;
		call_id: string;
		content: Block[];
		is_error: boolean;
		duration_ms: number;
	};
	plan: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		items: PlanItem[];
	};
	confirm: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		confirm_id: string;
		message_id: string;
		block: number;
		call_id: string;
		name: string;
		arguments: unknown;
		title: string;
		message: string;
		origin: Origin;
		parts: Part[];
		actions: ConfirmAction[];
		grants: Grant[];
		denials: Grant[];
		limit?: number;
		until?: number;
		truncated?: boolean;
	};
	confirm_resolved: {
		session_id: string;
		first_seq?: number;
		seq: number;
		ts: number;
		turn_id?: string;
		confirm_id: string;
		action: ConfirmAction;
		by: ResolvedBy;
		client?: string;
		grant?: Grant;
	};
	stale: {
		session_id: string;
		after_seq: number;
	};
	auth_update: {
		provider: string;
		state: LoginState;
		url?: string;
		code?: string;
		expires_in_ms?: number;
		error?: Error;
	};
	list_update: {
		created?: Session[];
		changed?: Session[];
		removed?: string[];
		stale?: boolean;
	};
	ask_delta: {
		session_id: string;
		ask_id: string;
		kind: AskKind;
		delta: string;
	};
}
