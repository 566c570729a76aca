package gemini

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/replay"
	"github.com/thinkd/thinkd/provider/schema"
)

// Limits on output in tokens, where the request names none. The limit counts thoughts and answer together.
// dynamic is the budget by which a model chooses for itself (docs: thinking).
const dynamic = -1

// call is what a request has that its answer and its refusal are read by.
type call struct {
	api  *API
	req  *provider.Request
	body body // to be sent again with a continuation
}

type body struct {
	Contents     []content   `json:"contents"`
	System       *content    `json:"systemInstruction,omitempty"`
	Tools        []tools     `json:"tools,omitempty"`
	Choice       *toolConfig `json:"toolConfig,omitempty"`
	Generation   *generation `json:"generationConfig,omitempty"`
	Tier         string      `json:"serviceTier,omitempty"` // standard, flex or priority
	Continuation string      `json:"continuationToken,omitempty"`
}

type tools struct {
	Functions []function `json:"functionDeclarations,omitempty"`
	Search    *struct{}  `json:"googleSearch,omitempty"`
	Pages     *struct{}  `json:"urlContext,omitempty"`
	Code      *struct{}  `json:"codeExecution,omitempty"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

// control turns the decision into the form that the model takes. clamped is a level that the vendor has no word for.
func control(req *provider.Request) (t *thinking, clamped provider.Level, err error) {
	want := req.Decision.Control
	if exchange.Withholds(req, wireAPI, "thinkingConfig") {
		return nil, "", nil
	}
	on := &thinking{Include: want.Display != provider.Omitted}
	switch want.Mode {
	case provider.ModeOmit, "":
		return nil, "", nil
	case provider.ModeOff:
		if req.Model.Thinking.Control == provider.ControlNone {
			return nil, "", nil
		}
		return &thinking{Budget: new(int)}, "", nil
	case provider.ModeOn:
		if !leveled(req.Model) && req.Model.Thinking.Control != provider.ControlAlways {
			budget := dynamic // without it the smallest model of the generation does not think
			on.Budget = &budget
		} else if !on.Include {
			return nil, "", nil
		}
		return on, "", nil
	case provider.ModeEffort:
		switch want.Effort {
		case provider.Minimal, provider.Low, provider.Medium, provider.High:
			on.Level = strings.ToUpper(string(want.Effort))
			return on, "", nil
		case provider.XHigh, provider.Max:
			on.Level = "HIGH"
			return on, want.Effort, nil
		}
		return nil, "", fmt.Errorf("decision on thinking: no word for the effort %q", want.Effort)
	case provider.ModeBudget:
		on.Budget = &want.Budget
		return on, "", nil
	}
	return nil, "", fmt.Errorf("decision on thinking: unknown mode %q", want.Mode)
}

// thinks reports whether a request says anything about thinking.
func thinks(req *provider.Request) bool {
	t, _, err := control(req)
	return err == nil && t != nil
}

func (a *API) build(req *provider.Request) (*exchange.Call, error) {
	t, clamped, err := control(req)
	if err != nil {
		return nil, err
	}
	h := newHistory(req)
	contents, err := h.contents(req.Messages)
	if err != nil {
		return nil, err
	}
	own := &call{api: a, req: req, body: body{Contents: contents}}
	out := &exchange.Call{URL: a.address(req.Model.ID), Header: a.header(), MaxValue: maxValue, Dialect: own,
		Prompt: exchange.Prompt{Tools: "tools", System: "systemInstruction", List: "contents"}}
	g, lost := generate(req)
	g.MaxOutputTokens, g.Thinking = a.caller.Fit(req, req.OutputLimit()), t
	out.Limit = g.MaxOutputTokens
	out.LeftOut(stripSampling(req, g), req.Model.ID)
	if clamped != "" {
		out.Override("thinking level %s sent as HIGH, the vendor's highest", clamped)
	}
	out.Notices = slices.Concat(out.Notices, lost, replay.OmittedMedia(req.Model, h.unseen), replay.ForeignTools(h.elsewhere), h.converted())
	own.body.Generation, own.body.Choice, own.body.Tier = g.orNil(), a.choice(req), string(req.Options.ServiceTier)
	if !provider.Blank(req.System) {
		own.body.System = &content{Parts: []any{part{Text: &req.System}}}
	}
	own.body.Tools = servedTools(req.Options)
	if len(req.Tools) > 0 {
		var list []function
		offered, reduced := schema.Tools(req.Tools, schema.Gemini(), req.Model.ID)
		out.Notices = append(out.Notices, reduced...)
		for _, t := range offered {
			list = append(list, function{t.Name, t.Description, t.Schema})
		}
		own.body.Tools = append(own.body.Tools, tools{Functions: list})
	}
	out.Body, err = exchange.EncodeBody(req, own.body)
	return out, err
}

// servedTools are the tools that the vendor may run.
func servedTools(o provider.Options) (list []tools) {
	for _, name := range o.ServerTools {
		switch name {
		case provider.WebSearch:
			list = append(list, tools{Search: &struct{}{}})
		case provider.WebFetch:
			list = append(list, tools{Pages: &struct{}{}})
		case provider.CodeExecution:
			list = append(list, tools{Code: &struct{}{}})
		}
	}
	return list
}

// converted reports what became of earlier thinking.
func (h *history) converted() []provider.Notice {
	if h.bypass && h.bypassed > 0 {
		return append([]provider.Notice{{Kind: provider.NoticeRepaired,
			Text: "earlier tool calls are sent without their thought signatures, which the provider did not take"}}, h.count.Notices()...)
	}
	return h.count.Notices()
}

func (a *API) header() http.Header {
	if a.host.Cloud {
		return a.caller.Header("")
	}
	return a.caller.Header("x-goog-api-key")
}

// maxValue bounds an answer that comes whole, in bytes. The images that a model's tools have made may be in it.
const maxValue = 32 << 20
