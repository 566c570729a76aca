package responses

import (
	"encoding/json"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/schema"
)

// asked is what the options put into the body, except for the limit on output.
type asked struct {
	Temperature *float64    `json:"temperature,omitempty"`
	TopP        *float64    `json:"top_p,omitempty"`
	Choice      any         `json:"tool_choice,omitempty"` // a word, or a function
	Parallel    *bool       `json:"parallel_tool_calls,omitempty"`
	Text        *textConfig `json:"text,omitempty"`
	Tier        string      `json:"service_tier,omitempty"`
}

type textConfig struct {
	Verbosity provider.Verbosity `json:"verbosity,omitempty"`
	Format    *format            `json:"format,omitempty"`
}

type format struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

type chosen struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// tiers are the vendor's words (docs: api-reference).
var tiers = map[provider.ServiceTier]string{provider.TierAuto: "auto", provider.TierStandard: "default", provider.TierFlex: "flex", provider.TierPriority: "priority"}

// askedOf turns the options into the form that the API takes, and says what of a schema is lost.
func askedOf(req *provider.Request) (a asked, lost []provider.Notice) {
	o := req.Options
	a = asked{Temperature: o.Temperature, TopP: o.TopP, Tier: tiers[o.ServiceTier]}
	if len(req.Tools) > 0 {
		a.Parallel = o.ParallelTools
		if name := o.ToolChoice.Tool(); name != "" {
			a.Choice = chosen{"function", name}
		} else if o.ToolChoice != "" {
			a.Choice = o.ToolChoice
		}
		if req.NoTools {
			a.Choice = provider.ChooseNone
		}
	}
	text := textConfig{Verbosity: o.Verbosity}
	switch {
	case o.Schema != nil:
		fit, strict, dropped := schema.Output(*o.Schema, schema.OpenAIOutput(), req.Model.ID)
		text.Format, lost = &format{"json_schema", o.Schema.Named(), fit, strict}, dropped
	case o.Output == provider.OutputJSON: // the API's own JSON mode wants the word in the prompt
		text.Format = &format{"json_schema", "answer", schema.AnyObject, false}
	}
	if text != (textConfig{}) {
		a.Text = &text
	}
	a.withhold(exchange.Withheld(req, wireAPI))
	return a, lost
}

// hosted is a tool that the vendor runs (SDK: WebSearchTool, Tool.CodeInterpreter).
type hosted struct {
	Type      string            `json:"type"`
	Filters   *filters          `json:"filters,omitempty"`
	Container map[string]string `json:"container,omitempty"`
}

type filters struct {
	Allowed []string `json:"allowed_domains"`
}

// servedTools returns the tools that the vendor may run, and the members that make their items include the results.
func servedTools(o provider.Options) (list []any, shown []string) {
	for _, name := range o.ServerTools {
		switch name {
		case provider.WebSearch:
			t := hosted{Type: "web_search"}
			if o.ServerLimits != nil && len(o.ServerLimits.AllowedDomains) > 0 {
				t.Filters = &filters{o.ServerLimits.AllowedDomains}
			}
			list, shown = append(list, t), append(shown, "web_search_call.action.sources")
		case provider.CodeExecution:
			list, shown = append(list, hosted{Type: "code_interpreter", Container: map[string]string{"type": "auto"}}), append(shown, "code_interpreter_call.outputs")
		case provider.WebFetch: // the options leave it out
		}
	}
	return list, shown
}

// withhold takes out what a host has refused by name.
func (a *asked) withhold(members []string) {
	for _, member := range members {
		switch member {
		case "temperature":
			a.Temperature = nil
		case "top_p":
			a.TopP = nil
		case "tool_choice":
			a.Choice = nil
		case "parallel_tool_calls":
			a.Parallel = nil
		case "service_tier":
			a.Tier = ""
		case "text", "text.format", "text.verbosity":
			a.Text = a.Text.without(member)
		}
	}
}

func (t *textConfig) without(member string) *textConfig {
	if t == nil {
		return nil
	}
	left := *t
	if member != "text.format" {
		left.Verbosity = ""
	}
	if member != "text.verbosity" {
		left.Format = nil
	}
	if left == (textConfig{}) {
		return nil
	}
	return &left
}
