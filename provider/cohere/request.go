package cohere

import (
	"encoding/json"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/replay"
	"github.com/thinkd/thinkd/provider/schema"
)

// request is what a call has that its answer and its refusal are read by.
type request struct {
	api   *API
	req   *provider.Request
	names *replay.Names
	body  body
	kept  int // blocks of thinking that went back
}

type body struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	Messages []message `json:"messages"`
	Tools    []tool    `json:"tools,omitempty"`
	Thinking *thinking `json:"thinking,omitempty"`
	options
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

func (a *API) build(req *provider.Request) (*exchange.Call, error) {
	t, clamped, err := control(req)
	if err != nil {
		return nil, err
	}
	h := newHistory(req)
	list, err := h.messages(req.System, req.Messages)
	if err != nil {
		return nil, err
	}
	chosen, lost := asked(req)
	b := body{Model: req.Model.ID, Stream: true, Messages: list, Thinking: t, options: chosen}
	b.MaxTokens = a.caller.Fit(req, req.OutputLimit())
	own := &request{api: a, req: req, names: h.names, kept: h.count.Kept}
	out := &exchange.Call{URL: a.caller.BaseURL + "/v2/chat", Header: a.header(), Dialect: own, Limit: b.MaxTokens,
		Prompt: exchange.Prompt{Tools: "tools", List: "messages"}}
	offered, reduced := schema.Tools(req.Tools, schema.OpenAI(), req.Model.ID)
	for _, t := range offered {
		parameters := t.Schema
		if len(parameters) == 0 {
			parameters = schema.Empty
		}
		b.Tools = append(b.Tools, tool{"function", function{h.names.Wire(t.Name), t.Description, parameters}})
	}
	if req.RefusesSampling() {
		out.LeftOut(exchange.StripSampling(&b.Temperature, &b.TopP, &b.TopK), req.Model.ID)
	}
	for _, changed := range []string{clamped, t.shrink(b.MaxTokens)} {
		if changed != "" {
			out.Override("%s", changed)
		}
	}
	own.body = b
	out.Notices = slices.Concat(out.Notices, reduced, lost, replay.OmittedMedia(req.Model, h.unseen), replay.ForeignTools(h.elsewhere), h.count.Notices())
	out.Body, err = exchange.EncodeBody(req, b)
	return out, err
}
