package cohere

import (
	"encoding/json"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/schema"
)

// options are the members of a body that the options of a call put there. The API's own names differ from ours.
type options struct {
	MaxTokens   int             `json:"max_tokens,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	TopP        *float64        `json:"p,omitempty"`
	TopK        *int            `json:"k,omitempty"`
	Stop        []string        `json:"stop_sequences,omitempty"`
	Seed        *int32          `json:"seed,omitempty"`
	Choice      string          `json:"tool_choice,omitempty"` // REQUIRED or NONE
	Format      *responseFormat `json:"response_format,omitempty"`
}

// responseFormat asks for JSON, of a schema if there is one (docs: structured-outputs).
type responseFormat struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"json_schema,omitempty"`
}

// choices are the API's words. It cannot name a tool, and a model is free to choose without a word.
var choices = map[provider.ToolChoice]string{provider.ChooseRequired: "REQUIRED", provider.ChooseNone: "NONE"}

// asked are the options of a request, and what of a schema is lost. left are names of options that go out in no request of this kind.
func asked(req *provider.Request) (out options, lost []provider.Notice) {
	o := req.Options
	out = options{Temperature: o.Temperature, TopP: o.TopP, TopK: o.TopK, Stop: o.Stop, Seed: o.Seed}
	if len(req.Tools) > 0 && !exchange.Withholds(req, wireAPI, "tool_choice") {
		out.Choice = choices[o.ToolChoice]
	}
	switch {
	case exchange.Withholds(req, wireAPI, "response_format"):
	case o.Schema != nil:
		fit, _, notices := schema.Output(*o.Schema, schema.OpenAI(), req.Model.ID)
		out.Format, lost = &responseFormat{"json_object", fit}, notices
	case o.Output == provider.OutputJSON:
		out.Format = &responseFormat{Type: "json_object"}
	}
	return out, lost
}
