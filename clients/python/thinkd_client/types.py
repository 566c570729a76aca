# Code generated from rpc.discover by `go generate ./web`. DO NOT EDIT.
"""The types of the protocol: protocol.md describes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Union


@dataclass(kw_only=True)
class About:
    user: str
    tenant: str | None = None


@dataclass(kw_only=True)
class Agent:
    agent: str
    reasoning: AgentReasoning
    model_id: str | None = None
    system_prompt: str | None = None
    on_other_model: OtherModel | None = None
    thinking_level: Level | None = None
    options: Options | None = None
    fallbacks: list[FallbackModel] | None = None
    egress: list[str] | None = None
    compact_model: str | None = None
    ask_above: float | None = None


@dataclass(kw_only=True)
class AgentReasoning:
    override_mode: OverrideMode | None = None
    effort: Level | None = None
    fallback: Fallback | None = None


@dataclass(kw_only=True)
class AuditRecord:
    time: str
    method: str
    code: int
    user: str | None = None
    tenant: str | None = None
    from_: str | None = None
    token_id: str | None = None
    node: str | None = None
    session_id: str | None = None
    new_session_id: str | None = None
    about: About | None = None
    kind: str | None = None
    others: int | None = None
    lost: int | None = None


@dataclass(kw_only=True)
class AuthState:
    provider: str
    state: KeyState
    source: KeySource | None = None
    login: bool | None = None
    payer: Payer | None = None
    ends_in: str | None = None
    keys: list[NamedKey] | None = None
    egress: list[str] | None = None
    limits: list[RateLimit] | None = None
    scope: KeyScope | None = None


@dataclass(kw_only=True)
class CacheMiss:
    cause: CacheCause
    why: str
    tokens: int
    cost: Cost | None = None


@dataclass(kw_only=True)
class CacheMisses:
    cause: CacheCause
    calls: int
    tokens: int
    cost: Cost | None = None


@dataclass(kw_only=True)
class CacheUse:
    expected_tokens: int
    cached_tokens: int
    misses: list[CacheMiss] | None = None


@dataclass(kw_only=True)
class Capabilities:
    tools: bool
    confirm: bool
    builtin_tools: bool
    mcp_servers: bool


@dataclass(kw_only=True)
class Change:
    model: str
    fact: str
    from_: str | None = None
    to: str | None = None
    was: Fact | None = None
    is_: Fact | None = None


@dataclass(kw_only=True)
class Citation:
    url: str
    title: str | None = None
    start: int | None = None
    end: int | None = None
    quote: str | None = None


@dataclass(kw_only=True)
class Cited:
    block: int
    sources: list[Citation]


@dataclass(kw_only=True)
class ClientCapabilities:
    tools: bool | None = None
    confirm: bool | None = None


@dataclass(kw_only=True)
class ClientInfo:
    name: str | None = None
    version: str | None = None
    attended: bool | None = None


@dataclass(kw_only=True)
class CompactFirst:
    messages: int
    tokens: int
    summary_cost: CostRange | None
    cost: CostRange | None


@dataclass(kw_only=True)
class Confirm:
    confirm_id: str
    message_id: str
    block: int
    call_id: str
    name: str
    arguments: Any
    title: str
    message: str
    origin: Origin
    parts: list[Part]
    actions: list[ConfirmAction]
    grants: list[Grant]
    denials: list[Grant]
    limit: int | None = None
    until: int | None = None
    truncated: bool | None = None


@dataclass(kw_only=True)
class Context:
    used: int
    window: int


@dataclass(kw_only=True)
class ContinuedPart:
    message_id: str
    block: int
    type: str
    action: ContinueAction


@dataclass(kw_only=True)
class Cost:
    amount: float
    currency: str
    partial: bool | None = None


@dataclass(kw_only=True)
class CostRange:
    low: Cost
    likely: Cost
    high: Cost


@dataclass(kw_only=True)
class ErrorData:
    kind: str
    field: str | None = None
    candidates: list[str] | None = None
    model: str | None = None
    valid: list[str] | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None
    thinking_levels: list[Level] | None = None
    limit: Any | None = None
    detail: str | None = None
    retry_after_ms: int | None = None
    status: int | None = None
    request_id: str | None = None
    right: str | None = None
    ref: str | None = None
    model_id: str | None = None
    media: str | None = None
    reason: str | None = None
    block: int | None = None
    takes: list[str] | None = None


@dataclass(kw_only=True)
class Error:
    code: int
    message: str
    data: ErrorData | None = None


@dataclass(kw_only=True)
class Excerpt:
    in_: Place
    text: str
    matches: list[Match]
    message_id: str | None = None
    block: int | None = None


@dataclass(kw_only=True)
class Fact:
    state: FactState
    source: str | None = None
    as_of: str | None = None


@dataclass(kw_only=True)
class Facts:
    levels: Fact | None = None
    default: Fact | None = None
    limits: Fact | None = None
    input: Fact | None = None
    media: Fact | None = None
    price: Fact | None = None
    lifecycle: Fact | None = None


@dataclass(kw_only=True)
class FallbackModel:
    model_id: str
    thinking_level: Level | None = None
    key: str | None = None


@dataclass(kw_only=True)
class FellBack:
    from_: ModelInForce
    to: ModelInForce
    why: SwitchReason
    key: str | None = None
    continues: bool | None = None
    thinking: Thoughts | None = None
    cache: CacheState | None = None
    cache_why: str | None = None
    price_factor: float | None = None
    payer: Payer | None = None
    options: OptionDecision | None = None
    error: Error | None = None


@dataclass(kw_only=True)
class Found:
    session: Session
    hits: int
    excerpts: list[Excerpt]


@dataclass(kw_only=True)
class Grant:
    id: str
    text: str
    scope: GrantScope
    tool: str
    deny: bool | None = None
    prefix: list[str] | None = None
    folder: str | None = None
    definition: str | None = None


@dataclass(kw_only=True)
class Guest:
    user: str
    access: Access


@dataclass(kw_only=True)
class Identity:
    user: str
    rights: list[str]
    tenant: str | None = None
    expires_at: int | None = None


@dataclass(kw_only=True)
class InstructionFile:
    path: str
    bytes: int
    cut: bool | None = None


@dataclass(kw_only=True)
class Joined:
    message_id: str
    block: int


@dataclass(kw_only=True)
class KindLimits:
    types: list[str] | None = None
    max_bytes: int | None = None
    max_count: int | None = None
    max_side: int | None = None
    max_pixels: int | None = None
    max_pages: int | None = None
    many: int | None = None
    many_max_side: int | None = None
    tokens: TokenRule | None = None


@dataclass(kw_only=True)
class Lifecycle:
    state: ModelLifecycle
    retires: str | None = None
    replaced_by: str | None = None
    redirects: bool | None = None
    gone: bool | None = None


@dataclass(kw_only=True)
class Limits:
    max_message_bytes: int
    max_depth: int
    max_method_bytes: int
    max_id_bytes: int
    max_batch: int
    max_in_flight: int


@dataclass(kw_only=True)
class Match:
    start: int
    end: int


@dataclass(kw_only=True)
class MediaBlock:
    mime_type: str
    type: Literal["media"]
    name: str | None = None
    data: str | None = None
    width: int | None = None
    height: int | None = None
    duration_ms: int | None = None
    block: int | None = None
    open: bool | None = None
    truncated: bool | None = None


@dataclass(kw_only=True)
class MediaLimits:
    max_bytes: int | None = None
    image: KindLimits | None = None
    pdf: KindLimits | None = None
    audio: KindLimits | None = None


@dataclass(kw_only=True)
class Message:
    id: str
    turn_id: str
    role: Role
    content: list[Block]
    ts: int | None = None
    model: ModelInForce | None = None
    reasoning: Reasoning | None = None
    served: ServedRecord | None = None
    payer: Payer | None = None
    tier: str | None = None
    stop_reason: StopReason | None = None
    usage: Usage | None = None
    incomplete: Incomplete | None = None
    open: bool | None = None
    queued: bool | None = None
    into: str | None = None
    continues: str | None = None
    joins: Joined | None = None
    pinned: bool | None = None
    turn_end: TurnEnded | None = None


@dataclass(kw_only=True)
class Model:
    id: str
    name: str
    provider: str
    supports_thinking: bool
    thinking_levels: list[Level]
    default_thinking_level: Level
    thinking: ModelThinking
    tools: bool
    thinking_storages: list[ThinkingStorage]
    available: bool
    context_window: int | None = None
    max_output_tokens: int | None = None
    input: list[str] | None = None
    media: MediaLimits | None = None
    price: Price | None = None
    premium_multiplier: float | None = None
    lifecycle: Lifecycle | None = None
    facts: Facts | None = None
    why: str | None = None


@dataclass(kw_only=True)
class ModelInForce:
    provider: str
    id: str
    thinking_level: Level


@dataclass(kw_only=True)
class ModelThinking:
    can_disable: bool
    source: ModelSource
    control: ThinkingControl | None = None
    display: list[Display] | None = None
    as_of: str | None = None


@dataclass(kw_only=True)
class NamedKey:
    name: str
    ends_in: str | None = None


@dataclass(kw_only=True)
class NewTool:
    name: str
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    title: str | None = None
    effect: ToolEffect | None = None


@dataclass(kw_only=True)
class OfferedServer:
    name: str
    command: list[str] | None = None
    env: dict[str, str] | None = None
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] | None = None
    tools: list[str] | None = None


@dataclass(kw_only=True)
class Omitted:
    message_id: str
    part: OmittedPart
    why: str


@dataclass(kw_only=True)
class OpenTool:
    message_id: str
    block: int
    call_id: str
    name: str
    arguments: Any | None = None
    invalid_arguments: str | None = None
    host: ToolHost | None = None
    title: str | None = None
    truncated: bool | None = None
    output: str | None = None


@dataclass(kw_only=True)
class OpenTurn:
    turn_id: str
    model: ModelInForce
    reasoning: Reasoning
    messages: list[Message]
    queue: list[Queued]
    held: bool
    payer: Payer | None = None
    options: OptionDecision | None = None
    more: bool | None = None
    confirms: list[Confirm] | None = None
    tools: list[OpenTool] | None = None
    parked: Parked | None = None
    continues: str | None = None
    joins: Joined | None = None


@dataclass(kw_only=True)
class OptionDecision:
    options: list[OptionOutcome]
    output_form: OutputForm | None = None
    wire: Any | None = None


@dataclass(kw_only=True)
class OptionOutcome:
    option: str
    state: OptionState
    source: LevelSource
    requested: Any
    effective: Any | None = None
    why: str | None = None


@dataclass(kw_only=True)
class Options:
    output_schema: OutputSchema | None = None
    output: Output | None = None
    tool_choice: str | None = None
    parallel_tools: bool | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: list[str] | None = None
    seed: int | None = None
    verbosity: Verbosity | None = None
    service_tier: ServiceTier | None = None
    cache: CacheTime | None = None
    server_tools: list[ServerToolName] | None = None
    server_tool_limits: ServerToolLimits | None = None


@dataclass(kw_only=True)
class Origin:
    provider: str
    model: str
    host: ToolHost
    effect: ToolEffect
    server: str | None = None
    folder: str | None = None


@dataclass(kw_only=True)
class OutputSchema:
    schema: Any
    name: str | None = None
    strict: bool | None = None


@dataclass(kw_only=True)
class Parked:
    why: ParkReason
    since: int
    resumes: Resumption
    until: int | None = None
    spending: Spending | None = None
    error: Error | None = None


@dataclass(kw_only=True)
class Part:
    kind: PartKind
    text: str
    name: str | None = None


@dataclass(kw_only=True)
class Payer:
    kind: PayerKind
    name: str


@dataclass(kw_only=True)
class PeakHours:
    factor: float
    utc_offset: int
    hours: list[list[int]]
    weekdays: bool | None = None


@dataclass(kw_only=True)
class PlanItem:
    content: str
    status: PlanStatus
    priority: PlanPriority


@dataclass(kw_only=True)
class Price:
    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None
    tiers: list[PriceTier] | None = None
    changes: list[PriceChange] | None = None
    peak: PeakHours | None = None
    service_tiers: dict[str, float] | None = None
    web_search: float | None = None


@dataclass(kw_only=True)
class PriceChange:
    from_: str
    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None
    tiers: list[PriceTier] | None = None


@dataclass(kw_only=True)
class PriceTier:
    above: int
    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None


@dataclass(kw_only=True)
class Provider:
    provider: str
    available: bool
    reasoning_defaults: ReasoningDefaults | None
    why: str | None = None


@dataclass(kw_only=True)
class Queued:
    turn_id: str
    text: str


@dataclass(kw_only=True)
class Quoted:
    prompt: QuotedPrompt | None
    cost: CostRange | None
    compact_first: CompactFirst | None = None


@dataclass(kw_only=True)
class QuotedPart:
    part: PromptPart
    tokens: int
    read: int | None
    written: int | None
    paid: int | None


@dataclass(kw_only=True)
class QuotedPrompt:
    tokens: int
    tokens_low: int
    tokens_high: int
    counted: bool
    read: int | None
    written: int | None
    paid: int | None
    parts: list[QuotedPart]


@dataclass(kw_only=True)
class RateLimit:
    name: str
    plan: bool | None = None
    limit: float | None = None
    remaining: float | None = None
    used_percent: float | None = None
    resets: int | None = None
    window_ms: int | None = None


@dataclass(kw_only=True)
class Reasoning:
    source: LevelSource
    requested_effort: Level
    effective_effort: Level
    fallback: Fallback
    reason: LevelReason
    supported_levels: list[Level]
    used_provider_default: bool
    known_model: bool
    wire: Any | None = None


@dataclass(kw_only=True)
class ReasoningDefaults:
    effort: Level | None = None
    fallback: Fallback | None = None


@dataclass(kw_only=True)
class Reconnect:
    min_ms: int
    max_ms: int


@dataclass(kw_only=True)
class Refreshed:
    provider: str
    models: int
    as_of: str | None = None
    error: str | None = None
    skipped: list[str] | None = None


@dataclass(kw_only=True)
class Served:
    model: str | None = None
    host: str | None = None
    substituted: bool | None = None


@dataclass(kw_only=True)
class ServedRecord:
    requested: str | None = None
    sent: str | None = None
    model: str | None = None
    host: str | None = None
    substituted: bool | None = None


@dataclass(kw_only=True)
class ServerInfo:
    name: str
    version: str


@dataclass(kw_only=True)
class ServerToolBlock:
    call_id: str
    name: str
    type: Literal["server_tool"]
    arguments: dict[str, Any] | None = None
    text: str | None = None
    sources: list[Citation] | None = None
    is_error: bool | None = None
    block: int | None = None
    open: bool | None = None
    truncated: bool | None = None


@dataclass(kw_only=True)
class ServerToolLimits:
    max_uses: int | None = None
    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None


@dataclass(kw_only=True)
class Session:
    session_id: str
    title: str
    status: SessionStatus
    model: ModelInForce
    thinking_level: Level
    preferred_thinking_level: Level | None
    cwd: str
    created: int
    updated: int
    usage: Usage
    metadata: dict[str, Any]
    agent: str | None = None
    tool_mode: ToolMode | None = None
    on_other_model: OtherModel | None = None
    fallbacks: list[FallbackModel] | None = None
    egress: list[str] | None = None
    thinking_storage: ThinkingStorage | None = None
    ephemeral: bool | None = None
    ask_above: float | None = None
    warm_until: int | None = None
    grants: list[Grant] | None = None
    needs: Need | None = None
    owner: str | None = None
    access: Access | None = None
    archived: bool | None = None
    pinned: bool | None = None
    pinned_messages: list[str] | None = None
    options: Options | None = None
    tools: list[SessionTool] | None = None
    plan: list[PlanItem] | None = None
    project_instructions: list[InstructionFile] | None = None


@dataclass(kw_only=True)
class SessionOptions:
    output_schema: OutputSchema | None = None
    output: Output | None = None
    tool_choice: str | None = None
    parallel_tools: bool | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop: list[str] | None = None
    seed: int | None = None
    verbosity: Verbosity | None = None
    service_tier: ServiceTier | None = None
    cache: CacheTime | None = None
    server_tools: list[ServerToolName] | None = None
    server_tool_limits: ServerToolLimits | None = None
    keep_alive: str | None = None
    on_other_model: OtherModel | None = None
    fallbacks: list[FallbackModel] | None = None
    egress: list[str] | None = None
    ask_above: float | None = None


@dataclass(kw_only=True)
class SessionTool:
    name: str
    host: ToolHost
    effect: ToolEffect
    source: str | None = None


@dataclass(kw_only=True)
class SharedSession:
    session_id: str
    user: str
    access: Access
    updated_at: int
    title: str | None = None


@dataclass(kw_only=True)
class Spending:
    limit: SpendingLimit
    used: float
    most: float
    next: float
    quote: Quoted | None = None


@dataclass(kw_only=True)
class Step:
    turn_id: str
    ts: int
    after: str | None = None
    fell_back: FellBack | None = None
    parked: Parked | None = None
    by: ResumedBy | None = None


@dataclass(kw_only=True)
class Summary:
    summary_id: str
    from_: str
    upto: str
    messages: int
    after: str
    text: str
    model_id: str
    usage: Usage
    ts: int
    includes: str | None = None
    pinned: list[str] | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    truncated: bool | None = None
    turn_id: str | None = None
    undone: bool | None = None
    undoable: bool | None = None


@dataclass(kw_only=True)
class TextBlock:
    text: str
    type: Literal["text"]
    json: dict[str, Any] | None = None
    sources: list[Citation] | None = None
    block: int | None = None
    open: bool | None = None
    truncated: bool | None = None


@dataclass(kw_only=True)
class ThinkingBlock:
    text: str
    kind: ThinkingKind
    signed: bool
    type: Literal["thinking"]
    tokens: int | None = None
    estimated: bool | None = None
    duration_ms: int | None = None
    block: int | None = None
    open: bool | None = None
    truncated: bool | None = None


@dataclass(kw_only=True)
class Thoughts:
    kept: int
    converted: int
    dropped: int
    why: list[str]
    media_left_out: int | None = None


@dataclass(kw_only=True)
class TokenRule:
    tile: int | None = None
    each: int | None = None
    shown_side: int | None = None
    max_tokens: int | None = None
    per_second: float | None = None


@dataclass(kw_only=True)
class ToolCallBlock:
    call_id: str
    name: str
    type: Literal["tool_call"]
    arguments: dict[str, Any] | None = None
    invalid_arguments: str | None = None
    block: int | None = None
    open: bool | None = None
    truncated: bool | None = None


@dataclass(kw_only=True)
class ToolPolicy:
    names: dict[str, ToolRule] | None = None
    effects: dict[str, ToolRule] | None = None


@dataclass(kw_only=True)
class ToolResultBlock:
    call_id: str
    content: list[Union[TextBlock, MediaBlock]]
    type: Literal["tool_result"]
    is_error: bool | None = None
    block: int | None = None
    open: bool | None = None
    truncated: bool | None = None


@dataclass(kw_only=True)
class TurnEnded:
    stop_reason: StopReason
    model: ModelInForce | None = None
    limit: str | None = None
    error: Error | None = None
    output_errors: list[str] | None = None


@dataclass(kw_only=True)
class Usage:
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int | None
    cached_tokens: int
    cache_write_tokens: int
    estimated: bool
    cache_write_1h_tokens: int | None = None
    cost: Cost | None = None
    web_searches: int | None = None
    premium_requests: float | None = None
    context: Context | None = None


@dataclass(kw_only=True)
class UsageRow:
    calls: int
    usage: Usage
    day: str | None = None
    model_id: str | None = None
    thinking_level: Level | None = None
    session_id: str | None = None
    provider: str | None = None
    payer: str | None = None
    purpose: Purpose | None = None
    user: str | None = None
    tenant: str | None = None
    title: str | None = None
    deleted: bool | None = None
    cache_misses: list[CacheMisses] | None = None


@dataclass(kw_only=True)
class InitializeResult:
    protocol_version: int
    server: ServerInfo
    capabilities: Capabilities
    limits: Limits
    reconnect: Reconnect
    listen: str | None = None
    identity: Identity | None = None
    durability: str | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class PingResult:
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class ModelsListResult:
    models: list[Model]
    default_model: str | None = None
    refresh: list[Refreshed] | None = None
    changes: list[Change] | None = None
    more: int | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class ModelSetResult:
    model: ModelInForce
    thinking_level: Level
    preferred_thinking_level: Level | None
    reasoning: Reasoning
    thinking_levels: list[Level]
    applies: Applies
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class ThinkingSetResult:
    thinking_level: Level
    preferred_thinking_level: Level | None
    reasoning: Reasoning
    thinking_levels: list[Level]
    applies: Applies
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class ThinkingExplainResult:
    reasoning: Reasoning
    options: OptionDecision | None = None
    facts: Facts | None = None
    blocks: Thoughts | None = None
    cache: CacheState | None = None
    cache_why: str | None = None
    left_out: list[Omitted] | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class ProvidersListResult:
    providers: list[Provider]
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class AgentsListResult:
    agents: list[Agent]
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class AgentsSetResult:
    agent: Agent | None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class ProvidersSetResult:
    provider: Provider
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class AuthStatusResult:
    providers: list[AuthState]
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class AuthSetKeyResult:
    provider: str
    state: KeyState
    source: KeySource | None = None
    login: bool | None = None
    payer: Payer | None = None
    ends_in: str | None = None
    keys: list[NamedKey] | None = None
    egress: list[str] | None = None
    limits: list[RateLimit] | None = None
    scope: KeyScope | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class AuthLoginResult:
    provider: str
    state: LoginState
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class AuthRenewResult:
    identity: Identity | None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionNewResult:
    session_id: str
    model: ModelInForce
    thinking_level: Level
    preferred_thinking_level: Level | None
    reasoning: Reasoning
    seq: int | None = None
    deleted: bool | None = None
    project_instructions: list[InstructionFile] | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionPromptResult:
    turn_id: str
    message_id: str
    disposition: Disposition
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionAppendResult:
    turn_id: str
    message_id: str
    disposition: Disposition
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionQuoteResult:
    model: ModelInForce
    reasoning: Reasoning
    prompt: QuotedPrompt | None
    cost: CostRange | None
    cache: CacheState | None = None
    cache_why: str | None = None
    warm_until: int | None = None
    running: bool | None = None
    compact_first: CompactFirst | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionContinueResult:
    continues: str
    parts: list[ContinuedPart]
    turn_id: str | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionAskResult:
    model: ModelInForce | None = None
    reasoning: Reasoning | None = None
    cache: CacheState | None = None
    cache_why: str | None = None
    thinking: str | None = None
    text: str | None = None
    stop_reason: StopReason | None = None
    usage: Usage | None = None
    duration_ms: int | None = None
    error: Error | None = None
    session_id: str | None = None
    turn_id: str | None = None
    message_id: str | None = None
    deleted: bool | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class TurnWaitResult:
    turn_id: str
    stop_reason: StopReason
    usage: Usage
    limit: str | None = None
    message: Message | None = None
    reasoning: Reasoning | None = None
    error: Error | None = None
    output_errors: list[str] | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class TurnResumeResult:
    turn_id: str
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionCancelResult:
    cancelled: bool
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class QueueUpdateResult:
    queue: list[Queued]
    held: bool
    more_queued: bool | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class QueueMoveResult:
    queue: list[Queued]
    held: bool
    more_queued: bool | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionQueueResult:
    queue: list[Queued]
    held: bool
    more_queued: bool | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionAttachResultUpdates:
    method: str
    params: dict[str, Any]


@dataclass(kw_only=True)
class SessionAttachResult:
    session: Session
    seq: int
    updates: list[SessionAttachResultUpdates] | None = None
    messages: list[Message] | None = None
    summaries: list[Summary] | None = None
    steps: list[Step] | None = None
    more: bool | None = None
    open: OpenTurn | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionDetachResult:
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionStateResult:
    session: Session
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionListResult:
    sessions: list[Session]
    next_cursor: str | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionSearchResult:
    found: list[Found]
    read: int
    unreadable: int | None = None
    next_cursor: str | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionWatchResult:
    sessions: list[Session]
    next_cursor: str | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionUnwatchResult:
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionReadResult:
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionForkResult:
    session_id: str
    deleted: bool | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionCompactResult:
    compacted: bool
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionUncompactResult:
    summary_id: str
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionSummariesResult:
    summaries: list[Summary]
    more: bool
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class MessagePinResult:
    pinned: list[str]
    applies: PinApplies
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class MessageUnpinResult:
    pinned: list[str]
    applies: PinApplies
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionUpdateResult:
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionDeleteResult:
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionHistoryResult:
    messages: list[Message]
    more: bool
    summaries: list[Summary] | None = None
    steps: list[Step] | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionExportResult:
    session: Session
    messages: list[Message] | None = None
    summaries: list[Summary] | None = None
    steps: list[Step] | None = None
    text: str | None = None
    next_cursor: str | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class ToolResultResult:
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class ConfirmAnswerResult:
    accepted: bool
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class UsageReportResult:
    from_: str
    to: str
    by: UsageBy
    rows: list[UsageRow]
    total: UsageRow
    budgets: list[Spending]
    split: UsageBy | None = None
    more: bool | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class AuditReadResult:
    records: list[AuditRecord]
    damaged: int | None = None
    next_cursor: str | None = None
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionShareResult:
    guests: list[Guest]
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionSharedResult:
    sessions: list[SharedSession]
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class SessionGrantsResult:
    grants: list[Grant]
    ignored: list[str] | None = None
    did_you_mean: dict[str, str] | None = None


@dataclass(kw_only=True)
class PromptEvent:
    method: ClassVar[str] = "prompt"
    session_id: str
    seq: int
    ts: int
    message_id: str
    content: list[Block]
    disposition: Disposition
    first_seq: int | None = None
    turn_id: str | None = None
    into: str | None = None
    replaces: bool | None = None


@dataclass(kw_only=True)
class TurnStartEvent:
    method: ClassVar[str] = "turn_start"
    session_id: str
    seq: int
    ts: int
    model: ModelInForce
    reasoning: Reasoning
    first_seq: int | None = None
    turn_id: str | None = None
    payer: Payer | None = None
    options: OptionDecision | None = None
    cache: CacheState | None = None
    cache_why: str | None = None
    continues: str | None = None
    joins: Joined | None = None
    instead_of: str | None = None


@dataclass(kw_only=True)
class MessageStartEvent:
    method: ClassVar[str] = "message_start"
    session_id: str
    seq: int
    ts: int
    message_id: str
    role: Role
    first_seq: int | None = None
    turn_id: str | None = None
    served: Served | None = None


@dataclass(kw_only=True)
class MessageEndEvent:
    method: ClassVar[str] = "message_end"
    session_id: str
    seq: int
    ts: int
    message_id: str
    stop_reason: StopReason
    usage: Usage
    first_seq: int | None = None
    turn_id: str | None = None
    served: Served | None = None
    tier: str | None = None
    cited: list[Cited] | None = None


@dataclass(kw_only=True)
class ThinkingStartEvent:
    method: ClassVar[str] = "thinking_start"
    session_id: str
    seq: int
    ts: int
    message_id: str
    block: int
    first_seq: int | None = None
    turn_id: str | None = None


@dataclass(kw_only=True)
class ThinkingDeltaEvent:
    method: ClassVar[str] = "thinking_delta"
    session_id: str
    seq: int
    ts: int
    message_id: str
    block: int
    delta: str
    first_seq: int | None = None
    turn_id: str | None = None


@dataclass(kw_only=True)
class ThinkingEndEvent:
    method: ClassVar[str] = "thinking_end"
    session_id: str
    seq: int
    ts: int
    message_id: str
    block: int
    text: str
    kind: ThinkingKind
    signed: bool
    duration_ms: int
    first_seq: int | None = None
    turn_id: str | None = None
    tokens: int | None = None
    estimated: bool | None = None
    truncated: bool | None = None


@dataclass(kw_only=True)
class MessageDeltaEvent:
    method: ClassVar[str] = "message_delta"
    session_id: str
    seq: int
    ts: int
    message_id: str
    block: int
    delta: str
    first_seq: int | None = None
    turn_id: str | None = None


@dataclass(kw_only=True)
class TextEndEvent:
    method: ClassVar[str] = "text_end"
    session_id: str
    seq: int
    ts: int
    message_id: str
    block: int
    text: str
    first_seq: int | None = None
    turn_id: str | None = None
    json: Any | None = None
    sources: list[Citation] | None = None
    truncated: bool | None = None


@dataclass(kw_only=True)
class MediaEndEvent:
    method: ClassVar[str] = "media_end"
    session_id: str
    seq: int
    ts: int
    message_id: str
    block: int
    mime_type: str
    size: int
    first_seq: int | None = None
    turn_id: str | None = None


@dataclass(kw_only=True)
class ServerToolEvent:
    method: ClassVar[str] = "server_tool"
    session_id: str
    seq: int
    ts: int
    message_id: str
    block: int
    call_id: str
    name: str
    status: ServerStatus
    first_seq: int | None = None
    turn_id: str | None = None
    arguments: Any | None = None
    text: str | None = None
    sources: list[Citation] | None = None
    truncated: bool | None = None


@dataclass(kw_only=True)
class UsageEvent:
    method: ClassVar[str] = "usage"
    session_id: str
    seq: int
    ts: int
    usage: Usage
    first_seq: int | None = None
    turn_id: str | None = None


@dataclass(kw_only=True)
class RetryEvent:
    method: ClassVar[str] = "retry"
    session_id: str
    seq: int
    ts: int
    attempt: int
    after_ms: int
    kind: FailureKind
    message: str
    discarded: list[int]
    first_seq: int | None = None
    turn_id: str | None = None


@dataclass(kw_only=True)
class ThinkingConvertedEvent:
    method: ClassVar[str] = "thinking_converted"
    session_id: str
    seq: int
    ts: int
    from_: str
    to: str
    kept: int
    dropped: int
    as_text: int
    first_seq: int | None = None
    turn_id: str | None = None
    media_left_out: int | None = None


@dataclass(kw_only=True)
class NoticeEvent:
    method: ClassVar[str] = "notice"
    session_id: str
    seq: int
    ts: int
    severity: Severity
    kind: str
    message: str
    first_seq: int | None = None
    turn_id: str | None = None
    summary_id: str | None = None


@dataclass(kw_only=True)
class SessionUpdateEvent:
    method: ClassVar[str] = "session_update"
    session_id: str
    seq: int
    ts: int
    first_seq: int | None = None
    turn_id: str | None = None
    title: str | None = None
    model: ModelInForce | None = None
    thinking_level: Level | None = None
    preferred_thinking_level: Level | None = None
    tool_mode: ToolMode | None = None
    on_other_model: OtherModel | None = None
    grants: list[Grant] | None = None
    archived: bool | None = None
    pinned: bool | None = None
    pinned_messages: list[str] | None = None
    options: Options | None = None
    status: SessionStatus | None = None
    metadata: dict[str, Any] | None = None
    deleted: bool | None = None
    ask_above: float | None = None
    fallbacks: list[FallbackModel] | None = None


@dataclass(kw_only=True)
class QueueUpdateEvent:
    method: ClassVar[str] = "queue_update"
    session_id: str
    seq: int
    ts: int
    queue: list[Queued]
    held: bool
    first_seq: int | None = None
    turn_id: str | None = None
    more_queued: bool | None = None


@dataclass(kw_only=True)
class FellBackEvent:
    method: ClassVar[str] = "fell_back"
    session_id: str
    seq: int
    ts: int
    from_: ModelInForce
    to: ModelInForce
    why: SwitchReason
    first_seq: int | None = None
    turn_id: str | None = None
    key: str | None = None
    continues: bool | None = None
    thinking: Thoughts | None = None
    cache: CacheState | None = None
    cache_why: str | None = None
    price_factor: float | None = None
    payer: Payer | None = None
    options: OptionDecision | None = None
    error: Error | None = None


@dataclass(kw_only=True)
class TurnParkedEvent:
    method: ClassVar[str] = "turn_parked"
    session_id: str
    seq: int
    ts: int
    why: ParkReason
    since: int
    resumes: Resumption
    first_seq: int | None = None
    turn_id: str | None = None
    until: int | None = None
    spending: Spending | None = None
    error: Error | None = None


@dataclass(kw_only=True)
class TurnResumedEvent:
    method: ClassVar[str] = "turn_resumed"
    session_id: str
    seq: int
    ts: int
    by: ResumedBy
    first_seq: int | None = None
    turn_id: str | None = None


@dataclass(kw_only=True)
class TurnEndEvent:
    method: ClassVar[str] = "turn_end"
    session_id: str
    seq: int
    ts: int
    stop_reason: StopReason
    usage: Usage
    duration_ms: int
    first_seq: int | None = None
    turn_id: str | None = None
    limit: str | None = None
    output_errors: list[str] | None = None
    cache_use: CacheUse | None = None
    into: str | None = None
    error: Error | None = None


@dataclass(kw_only=True)
class SummaryEvent:
    method: ClassVar[str] = "summary"
    session_id: str
    seq: int
    ts: int
    summary_id: str
    from_: str
    upto: str
    messages: int
    after: str
    text: str
    model_id: str
    usage: Usage
    first_seq: int | None = None
    turn_id: str | None = None
    includes: str | None = None
    pinned: list[str] | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    truncated: bool | None = None


@dataclass(kw_only=True)
class SummaryUndoneEvent:
    method: ClassVar[str] = "summary_undone"
    session_id: str
    seq: int
    ts: int
    summary_id: str
    first_seq: int | None = None
    turn_id: str | None = None


@dataclass(kw_only=True)
class ToolStartEvent:
    method: ClassVar[str] = "tool_start"
    session_id: str
    seq: int
    ts: int
    message_id: str
    block: int
    call_id: str
    name: str
    first_seq: int | None = None
    turn_id: str | None = None
    arguments: Any | None = None
    invalid_arguments: str | None = None
    host: ToolHost | None = None
    title: str | None = None
    truncated: bool | None = None


@dataclass(kw_only=True)
class ToolOutputEvent:
    method: ClassVar[str] = "tool_output"
    session_id: str
    seq: int
    ts: int
    call_id: str
    chunk: str
    first_seq: int | None = None
    turn_id: str | None = None


@dataclass(kw_only=True)
class ToolEndEvent:
    method: ClassVar[str] = "tool_end"
    session_id: str
    seq: int
    ts: int
    message_id: str
    block: int
    call_id: str
    content: list[Block]
    is_error: bool
    duration_ms: int
    first_seq: int | None = None
    turn_id: str | None = None


@dataclass(kw_only=True)
class PlanEvent:
    method: ClassVar[str] = "plan"
    session_id: str
    seq: int
    ts: int
    items: list[PlanItem]
    first_seq: int | None = None
    turn_id: str | None = None


@dataclass(kw_only=True)
class ConfirmEvent:
    method: ClassVar[str] = "confirm"
    session_id: str
    seq: int
    ts: int
    confirm_id: str
    message_id: str
    block: int
    call_id: str
    name: str
    arguments: Any
    title: str
    message: str
    origin: Origin
    parts: list[Part]
    actions: list[ConfirmAction]
    grants: list[Grant]
    denials: list[Grant]
    first_seq: int | None = None
    turn_id: str | None = None
    limit: int | None = None
    until: int | None = None
    truncated: bool | None = None


@dataclass(kw_only=True)
class ConfirmResolvedEvent:
    method: ClassVar[str] = "confirm_resolved"
    session_id: str
    seq: int
    ts: int
    confirm_id: str
    action: ConfirmAction
    by: ResolvedBy
    first_seq: int | None = None
    turn_id: str | None = None
    client: str | None = None
    grant: Grant | None = None


@dataclass(kw_only=True)
class StaleEvent:
    method: ClassVar[str] = "stale"
    session_id: str
    after_seq: int


@dataclass(kw_only=True)
class AuthUpdateEvent:
    method: ClassVar[str] = "auth_update"
    provider: str
    state: LoginState
    url: str | None = None
    code: str | None = None
    expires_in_ms: int | None = None
    error: Error | None = None


@dataclass(kw_only=True)
class ListUpdateEvent:
    method: ClassVar[str] = "list_update"
    created: list[Session] | None = None
    changed: list[Session] | None = None
    removed: list[str] | None = None
    stale: bool | None = None


@dataclass(kw_only=True)
class AskDeltaEvent:
    method: ClassVar[str] = "ask_delta"
    session_id: str
    ask_id: str
    kind: AskKind
    delta: str


Access = Literal["read", "write"]
Applies = Literal["now", "next_turn"]
AskKind = Literal["thinking", "text"]
Block = Union[TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock, ServerToolBlock, MediaBlock]
CacheCause = Literal["model", "level", "tools", "system", "summary", "message", "expired", "vendor"]
CacheState = Literal["kept", "lost", "cold", "unknown"]
CacheTime = Literal["5m", "1h", "off"]
ConfirmAction = Literal["allow", "allow_session", "deny"]
ContinueAction = Literal["kept", "prefilled", "requested_again", "dropped"]
Display = Literal["summarized", "omitted", "updates"]
Disposition = Literal["started", "queued", "steered", "appended"]
ExportFormat = Literal["json", "markdown"]
FactState = Literal["confirmed", "table", "family", "learned"]
FailureKind = Literal["auth", "rate_limit", "quota", "overloaded", "context_too_long", "refused", "bad_request", "transport", "stalled", "empty_answer", "other_model", "egress"]
Fallback = Literal["downgrade", "off", "provider_default", "error"]
GrantScope = Literal["tool", "prefix", "folder"]
Incomplete = Literal["cancelled", "interrupted", "error", "max_tokens", "refusal", "refused"]
KeyScope = Literal["user", "tenant", "operator"]
KeySource = Literal["environment", "keys", "login", "identity"]
KeyState = Literal["ready", "missing", "refused", "not_needed"]
Level = Literal["off", "auto", "on", "minimal", "low", "medium", "high", "xhigh", "max"]
LevelReason = Literal["as_requested", "level_not_supported", "off_not_supported", "off_up_front_only", "no_thinking", "unknown_model", "model_default"]
LevelSource = Literal["turn", "session", "agent", "config", "provider", "model", "unset"]
LoginState = Literal["started", "waiting", "ready", "failed"]
ModelLifecycle = Literal["preview", "current", "deprecated", "retired"]
ModelSource = Literal["config", "live", "refreshed", "catalog", "family", "unknown"]
Need = Literal["approval", "answer", "parked", "read"]
OmittedPart = Literal["all", "media_and_results"]
OptionState = Literal["sent", "adjusted", "refused"]
OtherModel = Literal["notify", "stop"]
Output = Literal["text", "json"]
OutputForm = Literal["native", "tool"]
OverrideMode = Literal["inherit", "custom"]
ParkReason = Literal["quota", "approval", "outage", "client", "budget"]
PartKind = Literal["command", "diff", "content", "value"]
PayerKind = Literal["plan", "key", "local"]
PinApplies = Literal["now", "next_summary"]
Place = Literal["title", "prompt", "thought", "answer", "tool"]
PlanPriority = Literal["high", "medium", "low"]
PlanStatus = Literal["pending", "in_progress", "completed"]
PromptPart = Literal["tools", "system", "summary", "turns", "media"]
Purpose = Literal["turn", "summary", "aside"]
ResolvedBy = Literal["client", "timeout", "turn_end", "tool_mode"]
ResumedBy = Literal["time", "client", "answer"]
Resumption = Literal["automatically", "on_request"]
Role = Literal["user", "assistant"]
ServerStatus = Literal["running", "done", "failed"]
ServerToolName = Literal["web_search", "web_fetch", "code_execution"]
ServiceTier = Literal["auto", "standard", "flex", "priority"]
SessionStatus = Literal["idle", "running", "waiting", "parked", "held", "damaged"]
Severity = Literal["info", "warning"]
ShareAccess = Literal["read", "write", "none"]
SpendingLimit = Literal["max_day_cost", "max_cost_unattended", "ask_above"]
StopReason = Literal["end_turn", "max_tokens", "tool_use", "refusal", "pause", "cancelled", "interrupted", "error", "limit", "max_model_calls", "output_mismatch"]
SwitchReason = Literal["auth", "rate_limit", "quota", "overloaded", "context_too_long", "refused", "bad_request", "transport", "stalled", "empty_answer", "other_model", "egress", "returned"]
ThinkingControl = Literal["effort", "budget", "toggle", "always", "none"]
ThinkingKind = Literal["full", "summary", "redacted", "omitted"]
ThinkingStorage = Literal["full", "opaque", "none"]
ToolEffect = Literal["read", "edit", "run", "other"]
ToolHost = Literal["client", "mcp", "builtin"]
ToolMode = Literal["ask", "edit", "read"]
ToolRule = Literal["allow", "ask", "deny"]
UsageBy = Literal["day", "model", "level", "session", "provider", "payer", "purpose", "user"]
Verbosity = Literal["low", "medium", "high"]
WaitOrReject = Literal["queue", "reject"]
WhenBusy = Literal["queue", "steer", "reject"]

EVENTS: dict[str, type[Any]] = {
    "prompt": PromptEvent,
    "turn_start": TurnStartEvent,
    "message_start": MessageStartEvent,
    "message_end": MessageEndEvent,
    "thinking_start": ThinkingStartEvent,
    "thinking_delta": ThinkingDeltaEvent,
    "thinking_end": ThinkingEndEvent,
    "message_delta": MessageDeltaEvent,
    "text_end": TextEndEvent,
    "media_end": MediaEndEvent,
    "server_tool": ServerToolEvent,
    "usage": UsageEvent,
    "retry": RetryEvent,
    "thinking_converted": ThinkingConvertedEvent,
    "notice": NoticeEvent,
    "session_update": SessionUpdateEvent,
    "queue_update": QueueUpdateEvent,
    "fell_back": FellBackEvent,
    "turn_parked": TurnParkedEvent,
    "turn_resumed": TurnResumedEvent,
    "turn_end": TurnEndEvent,
    "summary": SummaryEvent,
    "summary_undone": SummaryUndoneEvent,
    "tool_start": ToolStartEvent,
    "tool_output": ToolOutputEvent,
    "tool_end": ToolEndEvent,
    "plan": PlanEvent,
    "confirm": ConfirmEvent,
    "confirm_resolved": ConfirmResolvedEvent,
    "stale": StaleEvent,
    "auth_update": AuthUpdateEvent,
    "list_update": ListUpdateEvent,
    "ask_delta": AskDeltaEvent,
}

Event = Union[
    PromptEvent,
    TurnStartEvent,
    MessageStartEvent,
    MessageEndEvent,
    ThinkingStartEvent,
    ThinkingDeltaEvent,
    ThinkingEndEvent,
    MessageDeltaEvent,
    TextEndEvent,
    MediaEndEvent,
    ServerToolEvent,
    UsageEvent,
    RetryEvent,
    ThinkingConvertedEvent,
    NoticeEvent,
    SessionUpdateEvent,
    QueueUpdateEvent,
    FellBackEvent,
    TurnParkedEvent,
    TurnResumedEvent,
    TurnEndEvent,
    SummaryEvent,
    SummaryUndoneEvent,
    ToolStartEvent,
    ToolOutputEvent,
    ToolEndEvent,
    PlanEvent,
    ConfirmEvent,
    ConfirmResolvedEvent,
    StaleEvent,
    AuthUpdateEvent,
    ListUpdateEvent,
    AskDeltaEvent,
]


class Calls:
    """The methods of the protocol."""

    async def _typed(self, method: str, params: dict[str, Any], result: Any) -> Any:
        raise NotImplementedError

    async def initialize(
        self,
        *,
        protocol_version: int | None = None,
        client: ClientInfo | None = None,
        capabilities: ClientCapabilities | None = None,
        strict: bool | None = None,
        notifications: list[Literal["prompt", "turn_start", "message_start", "message_end", "thinking_start", "thinking_delta", "thinking_end", "message_delta", "text_end", "media_end", "server_tool", "usage", "retry", "thinking_converted", "notice", "session_update", "queue_update", "fell_back", "turn_parked", "turn_resumed", "turn_end", "summary", "summary_undone", "tool_start", "tool_output", "tool_end", "plan", "confirm", "confirm_resolved"]] | None = None,
    ) -> InitializeResult:
        """Tells the daemon who the client is, and returns what the daemon can do. Optional; at most once."""
        return await self._typed("initialize", {"protocol_version": protocol_version, "client": client, "capabilities": capabilities, "strict": strict, "notifications": notifications}, InitializeResult)

    async def ping(
        self,
    ) -> PingResult:
        """Returns an empty result."""
        return await self._typed("ping", {}, PingResult)

    async def rpc_discover(
        self,
    ) -> None:
        """Returns this document."""
        return await self._typed("rpc.discover", {}, None)

    async def models_list(
        self,
        *,
        provider: str | None = None,
        refresh: bool | None = None,
    ) -> ModelsListResult:
        """Returns all models, or those of one provider. With refresh, the response is late."""
        return await self._typed("models/list", {"provider": provider, "refresh": refresh}, ModelsListResult)

    async def model_set(
        self,
        *,
        session_id: str,
        model_id: str,
        provider: str | None = None,
        thinking_level: str | None = None,
    ) -> ModelSetResult:
        """Sets the session's model from the next turn on."""
        return await self._typed("model/set", {"session_id": session_id, "model_id": model_id, "provider": provider, "thinking_level": thinking_level}, ModelSetResult)

    async def thinking_set(
        self,
        *,
        session_id: str,
        level: str,
        fallback: Fallback | None = None,
        display: Display | None = None,
    ) -> ThinkingSetResult:
        """Sets the preferred level from the next turn on."""
        return await self._typed("thinking/set", {"session_id": session_id, "level": level, "fallback": fallback, "display": display}, ThinkingSetResult)

    async def thinking_explain(
        self,
        *,
        session_id: str,
        model_id: str | None = None,
        level: str | None = None,
        options: Options | None = None,
    ) -> ThinkingExplainResult:
        """Returns the decision for another model or level, and what would happen to earlier thinking. It changes nothing."""
        return await self._typed("thinking/explain", {"session_id": session_id, "model_id": model_id, "level": level, "options": options}, ThinkingExplainResult)

    async def providers_list(
        self,
    ) -> ProvidersListResult:
        """Returns the configured providers and their defaults."""
        return await self._typed("providers/list", {}, ProvidersListResult)

    async def agents_list(
        self,
    ) -> AgentsListResult:
        """Returns the agents: named settings for new sessions."""
        return await self._typed("agents/list", {}, AgentsListResult)

    async def agents_set(
        self,
        *,
        agent: str,
        model_id: str | None = None,
        system_prompt: str | None = None,
        reasoning: AgentReasoning | None = None,
        on_other_model: OtherModel | None = None,
        thinking_level: str | None = None,
        options: Options | None = None,
        remove: bool | None = None,
        fallbacks: list[FallbackModel] | None = None,
        egress: list[str] | None = None,
        compact_model: str | None = None,
        ask_above: float | None = None,
    ) -> AgentsSetResult:
        """Creates, changes or removes an agent. The change applies to new sessions."""
        return await self._typed("agents/set", {"agent": agent, "model_id": model_id, "system_prompt": system_prompt, "reasoning": reasoning, "on_other_model": on_other_model, "thinking_level": thinking_level, "options": options, "remove": remove, "fallbacks": fallbacks, "egress": egress, "compact_model": compact_model, "ask_above": ask_above}, AgentsSetResult)

    async def providers_set(
        self,
        *,
        provider: str,
        reasoning_defaults: ReasoningDefaults | None = None,
    ) -> ProvidersSetResult:
        """Sets a provider's defaults, from the next turn on."""
        return await self._typed("providers/set", {"provider": provider, "reasoning_defaults": reasoning_defaults}, ProvidersSetResult)

    async def auth_status(
        self,
    ) -> AuthStatusResult:
        """Returns which providers have the key or the login that they need."""
        return await self._typed("auth/status", {}, AuthStatusResult)

    async def auth_set_key(
        self,
        *,
        provider: str,
        key: str,
        name: str | None = None,
        scope: KeyScope | None = None,
    ) -> AuthSetKeyResult:
        """Stores a key for a provider: one's own, or with the right keys that of the tenant or the operator. An empty key removes it."""
        return await self._typed("auth/set_key", {"provider": provider, "key": key, "name": name, "scope": scope}, AuthSetKeyResult)

    async def auth_login(
        self,
        *,
        provider: str,
    ) -> AuthLoginResult:
        """Starts a login at a provider. auth_update reports its progress."""
        return await self._typed("auth/login", {"provider": provider}, AuthLoginResult)

    async def auth_renew(
        self,
        *,
        token: str,
    ) -> AuthRenewResult:
        """Continues the connection with a new token of the same user, before its token expires. The response is late."""
        return await self._typed("auth/renew", {"token": token}, AuthRenewResult)

    async def session_new(
        self,
        *,
        model_id: str | None = None,
        thinking_level: str | None = None,
        fallback: Fallback | None = None,
        display: Display | None = None,
        system_prompt: str | None = None,
        agent: str | None = None,
        cwd: str | None = None,
        title: str | None = None,
        tools: Any = None,
        mcp_servers: list[OfferedServer] | None = None,
        options: SessionOptions | None = None,
        tool_policy: ToolPolicy | None = None,
        thinking_storage: ThinkingStorage | None = None,
        ephemeral: bool | None = None,
        client_id: str | None = None,
    ) -> SessionNewResult:
        """Creates a session and subscribes this connection to it. If tool servers have to start, the response is late."""
        return await self._typed("session/new", {"model_id": model_id, "thinking_level": thinking_level, "fallback": fallback, "display": display, "system_prompt": system_prompt, "agent": agent, "cwd": cwd, "title": title, "tools": tools, "mcp_servers": mcp_servers, "options": options, "tool_policy": tool_policy, "thinking_storage": thinking_storage, "ephemeral": ephemeral, "client_id": client_id}, SessionNewResult)

    async def session_prompt(
        self,
        *,
        session_id: str,
        text: str | None = None,
        content: list[Block] | None = None,
        thinking_level: str | None = None,
        model_id: str | None = None,
        display: Display | None = None,
        when_busy: WhenBusy | None = None,
        client_id: str | None = None,
        not_before: int | None = None,
        deadline: int | None = None,
        options: Options | None = None,
        fallbacks: list[FallbackModel] | None = None,
    ) -> SessionPromptResult:
        """Sends a prompt. The prompt is on disk when the daemon responds."""
        return await self._typed("session/prompt", {"session_id": session_id, "text": text, "content": content, "thinking_level": thinking_level, "model_id": model_id, "display": display, "when_busy": when_busy, "client_id": client_id, "not_before": not_before, "deadline": deadline, "options": options, "fallbacks": fallbacks}, SessionPromptResult)

    async def session_append(
        self,
        *,
        session_id: str,
        text: str | None = None,
        content: list[Block] | None = None,
        when_busy: WaitOrReject | None = None,
        client_id: str | None = None,
    ) -> SessionAppendResult:
        """Adds a user message without a model call. The next prompt sends it to the model."""
        return await self._typed("session/append", {"session_id": session_id, "text": text, "content": content, "when_busy": when_busy, "client_id": client_id}, SessionAppendResult)

    async def session_quote(
        self,
        *,
        session_id: str,
        model_id: str | None = None,
        thinking_level: str | None = None,
        text: str | None = None,
        content: list[Block] | None = None,
    ) -> SessionQuoteResult:
        """Returns what the next prompt would cost. It changes nothing. The response is late."""
        return await self._typed("session/quote", {"session_id": session_id, "model_id": model_id, "thinking_level": thinking_level, "text": text, "content": content}, SessionQuoteResult)

    async def session_continue(
        self,
        *,
        session_id: str,
        client_id: str | None = None,
        dry_run: bool | None = None,
    ) -> SessionContinueResult:
        """Continues a turn that was cut off, without a prompt. With dry_run, it only returns what would happen to its blocks."""
        return await self._typed("session/continue", {"session_id": session_id, "client_id": client_id, "dry_run": dry_run}, SessionContinueResult)

    async def session_ask(
        self,
        *,
        session_id: str,
        text: str | None = None,
        content: list[Block] | None = None,
        thinking_level: str | None = None,
        model_id: str | None = None,
        keep: bool | None = None,
        ask_id: str | None = None,
        client_id: str | None = None,
    ) -> SessionAskResult:
        """Asks a side question with the conversation so far. Question and answer are not recorded."""
        return await self._typed("session/ask", {"session_id": session_id, "text": text, "content": content, "thinking_level": thinking_level, "model_id": model_id, "keep": keep, "ask_id": ask_id, "client_id": client_id}, SessionAskResult)

    async def turn_wait(
        self,
        *,
        session_id: str,
        turn_id: str,
    ) -> TurnWaitResult:
        """Returns when the turn has ended."""
        return await self._typed("turn/wait", {"session_id": session_id, "turn_id": turn_id}, TurnWaitResult)

    async def turn_resume(
        self,
        *,
        session_id: str,
        turn_id: str,
        model_id: str | None = None,
        raise_: float | None = None,
        compact_first: bool | None = None,
    ) -> TurnResumeResult:
        """Resumes a parked turn, also with another model."""
        return await self._typed("turn/resume", {"session_id": session_id, "turn_id": turn_id, "model_id": model_id, "raise": raise_, "compact_first": compact_first}, TurnResumeResult)

    async def session_cancel(
        self,
        *,
        session_id: str,
        turn_id: str | None = None,
    ) -> SessionCancelResult:
        """Ends the running turn, or removes a queued one."""
        return await self._typed("session/cancel", {"session_id": session_id, "turn_id": turn_id}, SessionCancelResult)

    async def queue_update(
        self,
        *,
        session_id: str,
        turn_id: str,
        text: str | None = None,
        content: list[Block] | None = None,
        thinking_level: str | None = None,
        model_id: str | None = None,
        display: Display | None = None,
        options: Options | None = None,
        fallbacks: list[FallbackModel] | None = None,
    ) -> QueueUpdateResult:
        """Changes a pending prompt, or what its turn runs with."""
        return await self._typed("queue/update", {"session_id": session_id, "turn_id": turn_id, "text": text, "content": content, "thinking_level": thinking_level, "model_id": model_id, "display": display, "options": options, "fallbacks": fallbacks}, QueueUpdateResult)

    async def queue_move(
        self,
        *,
        session_id: str,
        turn_id: str,
        before: str | None = None,
    ) -> QueueMoveResult:
        """Moves a pending prompt to another place in the queue."""
        return await self._typed("queue/move", {"session_id": session_id, "turn_id": turn_id, "before": before}, QueueMoveResult)

    async def session_queue(
        self,
        *,
        session_id: str,
        remove: list[str] | None = None,
        resume: bool | None = None,
    ) -> SessionQueueResult:
        """Returns the pending prompts, removes some of them, or resumes a held queue."""
        return await self._typed("session/queue", {"session_id": session_id, "remove": remove, "resume": resume}, SessionQueueResult)

    async def session_attach(
        self,
        *,
        session_id: str,
        after_seq: int | None = None,
        limit: int | None = None,
        notifications: list[Literal["prompt", "turn_start", "message_start", "message_end", "thinking_start", "thinking_delta", "thinking_end", "message_delta", "text_end", "media_end", "server_tool", "usage", "retry", "thinking_converted", "notice", "session_update", "queue_update", "fell_back", "turn_parked", "turn_resumed", "turn_end", "summary", "summary_undone", "tool_start", "tool_output", "tool_end", "plan", "confirm", "confirm_resolved"]] | None = None,
    ) -> SessionAttachResult:
        """Subscribes this connection, and returns the current state or the updates that it missed."""
        return await self._typed("session/attach", {"session_id": session_id, "after_seq": after_seq, "limit": limit, "notifications": notifications}, SessionAttachResult)

    async def session_detach(
        self,
        *,
        session_id: str,
    ) -> SessionDetachResult:
        """Ends this connection's subscription."""
        return await self._typed("session/detach", {"session_id": session_id}, SessionDetachResult)

    async def session_state(
        self,
        *,
        session_id: str,
    ) -> SessionStateResult:
        """Returns the session."""
        return await self._typed("session/state", {"session_id": session_id}, SessionStateResult)

    async def session_list(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        query: str | None = None,
        shared: bool | None = None,
        cwd: str | None = None,
        model_id: str | None = None,
        since: int | None = None,
        until: int | None = None,
        archived: bool | None = None,
        pinned: bool | None = None,
    ) -> SessionListResult:
        """Returns a page of sessions: those that others share with the user, and then the user's own, the last changed first."""
        return await self._typed("session/list", {"cursor": cursor, "limit": limit, "query": query, "shared": shared, "cwd": cwd, "model_id": model_id, "since": since, "until": until, "archived": archived, "pinned": pinned}, SessionListResult)

    async def session_search(
        self,
        *,
        text: str,
        in_: list[Place] | None = None,
        session_id: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        cwd: str | None = None,
        model_id: str | None = None,
        since: int | None = None,
        until: int | None = None,
        archived: bool | None = None,
        pinned: bool | None = None,
    ) -> SessionSearchResult:
        """Finds text in all sessions, or in one, the last changed first. One call reads a bounded amount; its cursor continues."""
        return await self._typed("session/search", {"text": text, "in": in_, "session_id": session_id, "cursor": cursor, "limit": limit, "cwd": cwd, "model_id": model_id, "since": since, "until": until, "archived": archived, "pinned": pinned}, SessionSearchResult)

    async def session_watch(
        self,
        *,
        limit: int | None = None,
    ) -> SessionWatchResult:
        """Returns the first page of sessions, and subscribes this connection to the changes of the list."""
        return await self._typed("session/watch", {"limit": limit}, SessionWatchResult)

    async def session_unwatch(
        self,
    ) -> SessionUnwatchResult:
        """Ends the subscription to the list of sessions."""
        return await self._typed("session/unwatch", {}, SessionUnwatchResult)

    async def session_read(
        self,
        *,
        session_id: str,
        turn_id: str | None = None,
    ) -> SessionReadResult:
        """Marks a session as read."""
        return await self._typed("session/read", {"session_id": session_id, "turn_id": turn_id}, SessionReadResult)

    async def session_fork(
        self,
        *,
        session_id: str,
        message_id: str | None = None,
        before_message_id: str | None = None,
        summary_id: str | None = None,
        client_id: str | None = None,
    ) -> SessionForkResult:
        """Creates a session that continues from a message of this one. Both share the messages up to it."""
        return await self._typed("session/fork", {"session_id": session_id, "message_id": message_id, "before_message_id": before_message_id, "summary_id": summary_id, "client_id": client_id}, SessionForkResult)

    async def session_compact(
        self,
        *,
        session_id: str,
    ) -> SessionCompactResult:
        """Lets a model summarise the earlier turns, and returns when that is done."""
        return await self._typed("session/compact", {"session_id": session_id}, SessionCompactResult)

    async def session_uncompact(
        self,
        *,
        session_id: str,
        summary_id: str | None = None,
    ) -> SessionUncompactResult:
        """Undoes the newest summary, until the next prompt."""
        return await self._typed("session/uncompact", {"session_id": session_id, "summary_id": summary_id}, SessionUncompactResult)

    async def session_summaries(
        self,
        *,
        session_id: str,
        before: str | None = None,
        limit: int | None = None,
    ) -> SessionSummariesResult:
        """Returns a page of the session's summaries, in order."""
        return await self._typed("session/summaries", {"session_id": session_id, "before": before, "limit": limit}, SessionSummariesResult)

    async def message_pin(
        self,
        *,
        session_id: str,
        message_id: str,
    ) -> MessagePinResult:
        """Keeps a message word for word beside all later summaries."""
        return await self._typed("message/pin", {"session_id": session_id, "message_id": message_id}, MessagePinResult)

    async def message_unpin(
        self,
        *,
        session_id: str,
        message_id: str,
    ) -> MessageUnpinResult:
        """Lets later summaries replace a message again."""
        return await self._typed("message/unpin", {"session_id": session_id, "message_id": message_id}, MessageUnpinResult)

    async def session_update(
        self,
        *,
        session_id: str,
        title: str | None = None,
        metadata: dict[str, Any] | None = None,
        tool_mode: ToolMode | None = None,
        on_other_model: OtherModel | None = None,
        options: Options | None = None,
        fallbacks: list[FallbackModel] | None = None,
        ask_above: float | None = None,
        archived: bool | None = None,
        pinned: bool | None = None,
    ) -> SessionUpdateResult:
        """Sets the title, the metadata, the tool mode, what happens if another model answers, or whether people archived or pinned the session."""
        return await self._typed("session/update", {"session_id": session_id, "title": title, "metadata": metadata, "tool_mode": tool_mode, "on_other_model": on_other_model, "options": options, "fallbacks": fallbacks, "ask_above": ask_above, "archived": archived, "pinned": pinned}, SessionUpdateResult)

    async def session_delete(
        self,
        *,
        session_id: str,
    ) -> SessionDeleteResult:
        """Cancels the running turn and deletes the session."""
        return await self._typed("session/delete", {"session_id": session_id}, SessionDeleteResult)

    async def session_history(
        self,
        *,
        session_id: str,
        before: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> SessionHistoryResult:
        """Returns a page of messages, in order."""
        return await self._typed("session/history", {"session_id": session_id, "before": before, "after": after, "limit": limit}, SessionHistoryResult)

    async def session_export(
        self,
        *,
        session_id: str,
        format: ExportFormat,
        thinking: bool | None = None,
        cursor: str | None = None,
    ) -> SessionExportResult:
        """Returns the session in pages, as JSON or Markdown."""
        return await self._typed("session/export", {"session_id": session_id, "format": format, "thinking": thinking, "cursor": cursor}, SessionExportResult)

    async def tool_result(
        self,
        *,
        session_id: str,
        call_id: str,
        content: list[Block],
        is_error: bool | None = None,
    ) -> ToolResultResult:
        """Sends the result of a call that clients run. The first result counts."""
        return await self._typed("tool/result", {"session_id": session_id, "call_id": call_id, "content": content, "is_error": is_error}, ToolResultResult)

    async def confirm_answer(
        self,
        *,
        session_id: str,
        confirm_id: str,
        action: ConfirmAction,
        grant: str | None = None,
        reason: str | None = None,
    ) -> ConfirmAnswerResult:
        """Answers whether a call may run. The first answer counts."""
        return await self._typed("confirm/answer", {"session_id": session_id, "confirm_id": confirm_id, "action": action, "grant": grant, "reason": reason}, ConfirmAnswerResult)

    async def usage_report(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        by: UsageBy | None = None,
        split: UsageBy | None = None,
        session_id: str | None = None,
        model_id: str | None = None,
    ) -> UsageReportResult:
        """Returns what model calls used and cost, by day, model, level or session."""
        return await self._typed("usage/report", {"from": from_, "to": to, "by": by, "split": split, "session_id": session_id, "model_id": model_id}, UsageReportResult)

    async def audit_read(
        self,
        *,
        from_: str | None = None,
        to: str | None = None,
        user: str | None = None,
        tenant: str | None = None,
        named_session_id: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AuditReadResult:
        """Returns a page of the audit: who called what, from where, with what result. The response is late."""
        return await self._typed("audit/read", {"from": from_, "to": to, "user": user, "tenant": tenant, "named_session_id": named_session_id, "cursor": cursor, "limit": limit}, AuditReadResult)

    async def session_share(
        self,
        *,
        session_id: str,
        user: str | None = None,
        access: ShareAccess | None = None,
    ) -> SessionShareResult:
        """Shares a session with a user of the same tenant, changes what the user may do, or ends that. Returns all guests."""
        return await self._typed("session/share", {"session_id": session_id, "user": user, "access": access}, SessionShareResult)

    async def session_shared(
        self,
    ) -> SessionSharedResult:
        """Returns the sessions that other users share with the client's user."""
        return await self._typed("session/shared", {}, SessionSharedResult)

    async def session_grants(
        self,
        *,
        session_id: str,
        revoke: list[str] | None = None,
    ) -> SessionGrantsResult:
        """Lists the standing approvals and denials of a session, and revokes some of them."""
        return await self._typed("session/grants", {"session_id": session_id, "revoke": revoke}, SessionGrantsResult)
