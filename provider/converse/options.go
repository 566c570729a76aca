package converse

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
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

// settled are the options of a request in the form in which they are sent.
type settled struct {
	limits inference
	topK   *int
	choice *toolChoice
	format *outputConfig
	tier   *tier
	lost   []provider.Notice // parts of the schema that are not sent
	left   []string          // options that the model does not take
}

// settle leaves out what the model's row, the rules of its maker and the session's repairs say that it does not take. tools is how many
// tools are offered.
func settle(req *provider.Request, by family, f fields, tools int, name func(string) string) settled {
	o := req.Options
	s := settled{limits: inference{MaxTokens: o.MaxOutput, Temperature: o.Temperature, TopP: o.TopP, Stop: o.Stop}, topK: o.TopK,
		choice: choiceOf(o, tools, name), tier: tierOf(o)}
	s.format, s.lost = formatOf(req)
	thinks := f.Nova != nil && f.Nova.Type == "enabled" // which refuses sampling (docs: nova, extended-thinking)
	if thinks || req.RefusesSampling() {
		s.left = exchange.StripSampling(&s.limits.Temperature, &s.limits.TopP, &s.topK)
	}
	lacks := func(member string) bool { return by.lacks(member) || exchange.Withholds(req, wireAPI, member) }
	leave := func(member, option string, there bool, remove func()) {
		if there && lacks(member) {
			remove()
			s.left = append(s.left, option)
		}
	}
	leave(memberTemperature, "temperature", s.limits.Temperature != nil, func() { s.limits.Temperature = nil })
	leave(memberTopP, "top_p", s.limits.TopP != nil, func() { s.limits.TopP = nil })
	leave(memberStop, "stop", len(s.limits.Stop) > 0, func() { s.limits.Stop = nil })
	leave(memberAny, "tool_choice", s.choice != nil && s.choice.Any != nil, func() { s.choice = nil })
	leave(memberTool, "tool_choice", s.choice != nil && s.choice.Tool != nil, func() { s.choice = nil })
	leave(memberFormat, "the schema of the answer", s.format != nil, func() { s.format, s.lost = nil, nil })
	leave(memberTier, "service_tier", s.tier != nil, func() { s.tier = nil })
	if s.topK != nil && by != claude && by != nova {
		s.topK, s.left = nil, append(s.left, "top_k")
	}
	return s
}

// sends reports whether a member is in the request.
func (s settled) sends(member string) bool {
	switch member {
	case memberTemperature:
		return s.limits.Temperature != nil
	case memberTopP:
		return s.limits.TopP != nil
	case memberStop:
		return len(s.limits.Stop) > 0
	case memberAny:
		return s.choice != nil && s.choice.Any != nil
	case memberTool:
		return s.choice != nil && s.choice.Tool != nil
	case memberFormat:
		return s.format != nil
	case memberTier:
		return s.tier != nil
	}
	return false
}

var unsupported = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`support the ([A-Za-z.]+) field`) })

// refused is the member that a refusal says the model does not take; empty: the request has none that it names.
func (s settled) refused(text string) string {
	if s.sends(memberTopP) && strings.Contains(text, "temperature") && strings.Contains(text, "cannot both be specified") { // Claude, since Opus 4.1
		return memberTopP
	}
	m := unsupported().FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	for _, member := range []string{memberTemperature, memberTopP, memberStop, memberAny, memberTool, memberFormat, memberTier} {
		if named := strings.TrimPrefix(m[1], "inferenceConfig."); (named == member || strings.HasPrefix(named, member+".")) && s.sends(member) {
			return member
		}
	}
	return ""
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

// topK puts the parameter where the maker has it.
func (f *fields) topK(by family, n *int) {
	switch {
	case n == nil:
	case by == nova:
		f.Inference = &novaTopK{*n}
	default:
		f.TopK = n
	}
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
