package converse

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// reply is the state of one answer.
type reply struct {
	*exchange.Answer

	request *request
	family  family
	origin  provider.Origin
	parts   exchange.Parts
	all     []*part         // in order of their start
	blocks  map[int64]*part // the latest at each of the API's indexes
	stencil exchange.Stencil
	grown   *part // by the event that the stencil knows
	usage   json.RawMessage
	stop    provider.Stop
}

// Reply begins to read an answer. The API does not name the model.
func (c *request) Reply(a *exchange.Answer) exchange.Reply {
	return &reply{Answer: a, request: c, parts: exchange.NewParts(a), family: familyOf(c.req.Model.Rules()), blocks: map[int64]*part{}, origin: a.Origin(c.req.Model.Rules()), stop: a.Stop(c.req.Model.ID)}
}

// part is a block of the answer while it comes.
type part struct {
	exchange.Part
	signature string
	redacted  []string       // pieces of base64
	withheld  []gjson.Result // pieces of text that may stand in place of reasoning
	cited     []provider.Citation
}

// used is the usage as the API counts it: inputTokens are without what the cache gave or took (docs: prompt-caching).
func used(raw []byte) provider.Usage {
	root := gjson.ParseBytes(raw)
	count := func(name string) int { return provider.Tokens(root.Get(name).Int()) }
	u := provider.Usage{Output: count("outputTokens"), Cached: count("cacheReadInputTokens"), CacheWrite: count("cacheWriteInputTokens")}
	u.Input = count("inputTokens") + u.Cached + u.CacheWrite
	for _, d := range root.Get("cacheDetails").Array() {
		if d.Get("ttl").Str == string(provider.CacheLong) {
			u.CacheWriteLong += provider.Tokens(d.Get("inputTokens").Int())
		}
	}
	return u
}

// reasons are the API's words for the end of an answer. Words that this build does not know are the end of a turn.
var reasons = map[string]provider.StopReason{
	"max_tokens": provider.StopMaxTokens, "model_context_window_exceeded": provider.StopMaxTokens, "tool_use": provider.StopToolUse,
	"guardrail_intervened": provider.StopRefusal, "content_filtered": provider.StopRefusal, "refusal": provider.StopRefusal,
}

// details say what a refusal is due to.
var details = map[string]string{
	"guardrail_intervened": "a guardrail of the account intervened", "content_filtered": "the content was filtered",
}

// stops notes how the answer ends.
func (r *reply) stops(word string) {
	r.stop.Raw = r.Text(word)
	r.stop.Reason = provider.StopEndTurn
	if reason, known := reasons[word]; known {
		r.stop.Reason = reason
	}
	r.stop.Detail = details[word]
}

// mask is the text that was kept back.
func (p *part) mask() string {
	var b strings.Builder
	for _, piece := range p.withheld {
		b.WriteString(piece.Str)
	}
	return b.String()
}

// redacted is what Nova sends in place of its reasoning (docs: nova, reasoning-capabilities).
const redacted = "[REDACTED]"
