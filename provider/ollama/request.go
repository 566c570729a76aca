package ollama

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/replay"
	"github.com/thinkd/thinkd/provider/schema"
)

// outputLimit is in tokens, where nobody names one: without it a model may think until the window is full (docs: faq).
const outputLimit = 32_768

// call is what a request has that its answer and its refusal are read by.
type call struct {
	api   *API
	req   *provider.Request
	model string
	off   bool // thinking was asked to be off
}

type body struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	Think    any       `json:"think,omitempty"`      // bool or a level; left out, a model that can think does
	Truncate bool      `json:"truncate"`             // false: a prompt that does not fit is refused, not cut
	Shift    bool      `json:"shift"`                // false: nothing is discarded while generating
	Keep     *int      `json:"keep_alive,omitempty"` // seconds that the model stays loaded; negative: until it is unloaded
	Options  options   `json:"options"`
	Tools    []tool    `json:"tools,omitempty"`
	Messages []message `json:"messages"`

	Format json.RawMessage `json:"format,omitempty"` // of the answer: "json" or a schema
}

type options struct {
	Window      int      `json:"num_ctx,omitempty"`
	Predict     int      `json:"num_predict,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	TopK        *int     `json:"top_k,omitempty"`
	Seed        *int32   `json:"seed,omitempty"`
	Stop        []string `json:"stop,omitempty"`
}

// asked are the options of a request, except for its limits.
func asked(req *provider.Request) options {
	o := req.Options
	return options{Temperature: o.Temperature, TopP: o.TopP, TopK: o.TopK, Seed: o.Seed, Stop: o.Stop}
}

// format is the form of the answer, nil if none is asked for, and what of a schema is lost (docs: structured-outputs).
func format(req *provider.Request) (json.RawMessage, []provider.Notice) {
	switch o := req.Options; {
	case o.Schema != nil:
		fit, _, lost := schema.Output(*o.Schema, schema.OpenAI(), req.Model.ID)
		return fit, lost
	case o.Output == provider.OutputJSON:
		return json.RawMessage(`"json"`), nil
	}
	return nil, nil
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

// think turns the decision into the form that the API takes: nil for nothing, a bool, or a level. clamped is what the
// vendor has no word for (docs: thinking).
func think(req *provider.Request) (value any, clamped string, err error) {
	want := req.Decision.Control
	if exchange.Withholds(req, wireAPI, "think") {
		return nil, "", nil
	}
	switch want.Mode {
	case provider.ModeOmit, "":
		return nil, "", nil
	case provider.ModeOff:
		if req.Model.Thinking.Control == provider.ControlNone {
			return nil, "", nil
		}
		return false, "", nil
	case provider.ModeOn:
		return true, "", nil
	case provider.ModeBudget:
		return true, fmt.Sprintf("a budget of %d tokens sent as on, since there are none here", want.Budget), nil
	case provider.ModeEffort:
		switch want.Effort {
		case provider.Low, provider.Medium, provider.High, provider.Max:
			return string(want.Effort), "", nil
		case provider.Minimal:
			return "low", "thinking level minimal sent as low, the vendor's lowest", nil
		case provider.XHigh:
			return "max", "thinking level xhigh sent as max, the vendor's nearest", nil
		}
		return nil, "", fmt.Errorf("decision on thinking: no word for the effort %q", want.Effort)
	}
	return nil, "", fmt.Errorf("decision on thinking: unknown mode %q", want.Mode)
}

func (a *API) build(req *provider.Request) (*exchange.Call, error) {
	t, clamped, err := think(req)
	if err != nil {
		return nil, err
	}
	h := newHistory(req)
	list, err := h.messages(req.System, req.Messages)
	if err != nil {
		return nil, err
	}
	out := &exchange.Call{URL: a.caller.BaseURL + "/api/chat", Header: a.header(),
		Dialect: &call{api: a, req: req, model: req.Model.ID, off: t == false}, Prompt: exchange.Prompt{Tools: "tools", List: "messages"}}
	form, lost := format(req)
	b := body{Model: req.Model.ID, Stream: true, Think: t, Messages: list, Options: asked(req), Format: form}
	b.Options.Window, b.Options.Predict = provider.OllamaWindow(req.Model, a.caller.Window), a.caller.Fit(req, predict(req))
	if req.KeepAlive != "" {
		seconds := req.KeepAlive.Seconds()
		b.Keep = &seconds
	}
	offered, reduced := schema.Tools(req.Tools, schema.OpenAI(), req.Model.ID)
	for _, t := range offered {
		parameters := t.Schema
		if len(parameters) == 0 {
			parameters = schema.Empty
		}
		b.Tools = append(b.Tools, tool{"function", function{t.Name, t.Description, parameters}})
	}
	out.Notices = append(out.Notices, reduced...)
	if o := &b.Options; req.RefusesSampling() {
		out.LeftOut(exchange.StripSampling(&o.Temperature, &o.TopP, &o.TopK), req.Model.ID)
	}
	if clamped != "" {
		out.Override("%s", clamped)
	}
	out.Notices = slices.Concat(out.Notices, lost, replay.OmittedMedia(req.Model, h.unseen), replay.ForeignTools(h.elsewhere), h.count.Notices())
	out.Body, err = exchange.EncodeBody(req, b)
	return out, err
}

func predict(req *provider.Request) int {
	switch {
	case req.Options.MaxOutput > 0:
		return req.Options.MaxOutput
	case req.Model.MaxOutput > 0:
		return min(req.Model.MaxOutput, outputLimit)
	}
	return outputLimit
}
