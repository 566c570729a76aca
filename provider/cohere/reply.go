package cohere

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// reply is the state of one answer.
type reply struct {
	*exchange.Answer

	request *request
	origin  provider.Origin
	parts   exchange.Parts
	all     []*block         // in the order of their start
	latest  map[place]*block // at each place
	stencil exchange.Stencil // of the event before, which had nothing but a piece of this block:
	grown   *block
	stop    provider.Stop
}

// place is where a block stands in the API's message. Content and calls are counted apart.
type place struct {
	member string // content, tool_plan or tool_calls
	index  int64
}

// block is a block of the answer while it comes.
type block struct {
	exchange.Part
	place place
	cites []gjson.Result // of a text
	late  bool           // a citation came after its end
}

// Reply begins to read an answer. The API does not name the model.
func (c *request) Reply(a *exchange.Answer) exchange.Reply {
	return &reply{Answer: a, request: c, parts: exchange.NewParts(a), latest: map[place]*block{}, origin: a.Origin(c.req.Model.Rules()), stop: a.Stop(c.req.Model.ID)}
}

// open begins a block. One that is open at the place was not ended by its host.
func (r *reply) open(at place, kind provider.BlockKind) (*block, error) {
	if b := r.latest[at]; b != nil && !b.Ended {
		r.Deviations++
		if err := r.seal(b); err != nil {
			return nil, err
		}
	}
	b := &block{Part: r.parts.Open(kind), place: at}
	b.Thinking = provider.ThinkingFull
	r.all, r.latest[at] = append(r.all, b), b
	return b, nil
}

// seal ends a block. Text and thinking that are empty are not announced at all.
func (r *reply) seal(b *block) error {
	return r.parts.End(&b.Part, func() (provider.Block, error) {
		said := b.Text.String()
		switch {
		case b.Kind == provider.KindToolCall:
			return r.parts.Call(&b.Part)
		case said == "":
			return nil, nil
		case b.Kind == provider.KindText:
			return provider.Text{Text: said, Sources: b.sources()}, nil
		}
		return r.thought(b)
	})
}

// sources are what the text refers to, as far as it is known.
func (b *block) sources() (list []provider.Citation) {
	for _, c := range b.cites {
		for _, page := range cited(c, b.Text.String()) {
			list = exchange.Cite(list, page)
		}
	}
	return list
}

// thought keeps the member that thinking came in.
func (r *reply) thought(b *block) (provider.Block, error) {
	t := provider.Thinking{Text: b.Text.String(), Kind: provider.ThinkingFull, Duration: b.Duration()}
	if r.request.req.Opaque {
		return t, nil
	}
	member := "thinking"
	if b.place.member == "tool_plan" {
		member = "tool_plan"
	}
	data, err := exchange.Encode(map[string]string{member: t.Text})
	t.Signed, t.State = true, provider.State{Origin: r.origin, Data: data}
	return t, err
}

// reasons are the API's words for the end of an answer. Words that this build does not know are the end of a turn. Those with ERROR_ are of
// the first version (docs: reference/chat, finish_reason).
var reasons = map[string]provider.StopReason{
	"MAX_TOKENS": provider.StopMaxTokens, "ERROR_LIMIT": provider.StopMaxTokens, "TOOL_CALL": provider.StopToolUse, "ERROR_TOXIC": provider.StopRefusal,
}

// ends notes how the answer ends. ERROR and TIMEOUT are no answers: the vendor gave up, and may not the next time.
func (r *reply) ends(end gjson.Result) error {
	word, message := r.Text(end.Get("finish_reason").Str), r.Text(end.Get("error").Str)
	if message == "" {
		message = "the vendor ended the answer with " + word
	}
	switch word {
	case "ERROR", "TIMEOUT":
		body, err := exchange.Encode(map[string]string{"message": message})
		if err != nil {
			return err
		}
		return r.Refusal(failed(message), body)
	}
	r.stop.Raw, r.stop.Reason = word, provider.StopEndTurn
	if reason, known := reasons[word]; known {
		r.stop.Reason = reason
	}
	if u := end.Get("usage"); u.IsObject() {
		r.stop.Usage, r.stop.RawUsage = used(u), json.RawMessage(u.Raw)
	}
	return nil
}

// failed is the status that an error inside an answer would have come with, which only its text tells.
func failed(message string) int {
	if text := strings.ToLower(message); strings.Contains(text, "unavailable") || strings.Contains(text, "overloaded") || strings.Contains(text, "capacity") {
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// used is the usage as the API counts it. Its counts have the vendor's own part of the prompt, which is not charged for: billed_units are (docs:
// how-does-cohere-pricing-work).
func used(u gjson.Result) provider.Usage {
	count := func(path string) int { return provider.Tokens(u.Get(path).Int()) }
	out := provider.Usage{Input: count("tokens.input_tokens"), Output: count("tokens.output_tokens"), Cached: count("cached_tokens")}
	out.Cached = min(out.Cached, out.Input)
	if n := u.Get("tokens.reasoning_tokens"); n.Type == gjson.Number {
		reasoning := provider.Tokens(n.Int())
		out.Reasoning = &reasoning
	}
	if billed := u.Get("billed_units"); billed.IsObject() {
		out.Billed = &provider.Billed{Input: count("billed_units.input_tokens"), Output: count("billed_units.output_tokens")}
		if !u.Get("tokens").Exists() {
			out.Input, out.Output = out.Billed.Input, out.Billed.Output
		}
	}
	return out
}
