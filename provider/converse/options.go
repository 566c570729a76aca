package converse

import (
	"encoding/json"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/schema"
)

type inference struct {
	MaxTokens   int      `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"topP,omitempty"`
	Stop        []string `json:"stopSequences,omitempty"`
}

func (i inference) orNil() *inference {
	if i.MaxTokens == 0 && i.Temperature == nil && i.TopP == nil && len(i.Stop) == 0 {
		return nil
	}
	return &i
}

type toolChoice struct {
	Auto *struct{}   `json:"auto,omitempty"`
	Any  *struct{}   `json:"any,omitempty"`
	Tool *chosenTool `json:"tool,omitempty"`
}

type chosenTool struct {
	Name string `json:"name"`
}

type outputConfig struct {
	Format textFormat `json:"textFormat"`
}

type textFormat struct {
	Type      string `json:"type"`
	Structure struct {
		Schema jsonSchema `json:"jsonSchema"`
	} `json:"structure"`
}

// jsonSchema has the schema as a text.
type jsonSchema struct {
	Name   string `json:"name"`
	Schema string `json:"schema"`
}

type tier struct {
	Type string `json:"type"`
}

// tiers are the API's words for service_tier (docs: service-tiers-inference).
var tiers = map[provider.ServiceTier]string{provider.TierStandard: "default", provider.TierFlex: "flex", provider.TierPriority: "priority"}

func tierOf(o provider.Options) *tier {
	if word := tiers[o.ServiceTier]; word != "" {
		return &tier{word}
	}
	return nil
}

// choiceOf is what the options say of tools; nil: nothing. The API has no word for none.
func choiceOf(o provider.Options, tools int, name func(string) string) *toolChoice {
	switch c := o.ToolChoice; {
	case tools == 0, c == "", c == provider.ChooseNone:
		return nil
	case c.Tool() != "":
		return &toolChoice{Tool: &chosenTool{name(c.Tool())}}
	case c == provider.ChooseRequired:
		return &toolChoice{Any: &struct{}{}}
	}
	return &toolChoice{Auto: &struct{}{}}
}

// formatOf is the schema of the answer, nil if none is asked for, and what of it is lost (docs: structured-output).
func formatOf(req *provider.Request) (*outputConfig, []provider.Notice) {
	if req.Options.Schema == nil {
		return nil, nil
	}
	fit, _, lost := schema.Output(*req.Options.Schema, schema.AnthropicOutput(), req.Model.ID)
	form := textFormat{Type: "json_schema"}
	form.Structure.Schema = jsonSchema{req.Options.Schema.Named(), string(fit)}
	return &outputConfig{form}, lost
}

// topK puts the parameter where the maker has it, and reports whether there is such a place.
func (f *fields) topK(by family, n *int) bool {
	switch {
	case n == nil:
	case by == claude:
		f.TopK = n
	case by == nova:
		f.Inference = &novaTopK{*n}
	default:
		return false
	}
	return true
}

// raw is JSON as it is, or nil.
func raw(f fields) json.RawMessage {
	if f.isZero() {
		return nil
	}
	data, err := json.Marshal(f)
	if err != nil {
		panic(err) // strings and numbers
	}
	return data
}
