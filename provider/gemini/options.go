package gemini

import (
	"encoding/json"
	"reflect"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/schema"
)

type generation struct {
	MaxOutputTokens int             `json:"maxOutputTokens,omitempty"`
	Temperature     *float64        `json:"temperature,omitempty"`
	TopP            *float64        `json:"topP,omitempty"`
	TopK            *int            `json:"topK,omitempty"`
	Stop            []string        `json:"stopSequences,omitempty"`
	Seed            *int32          `json:"seed,omitempty"`
	Type            string          `json:"responseMimeType,omitempty"`
	Schema          json.RawMessage `json:"responseJsonSchema,omitempty"`
	Thinking        *thinking       `json:"thinkingConfig,omitempty"`
}

// orNil is nil if nothing is said.
func (g *generation) orNil() *generation {
	if reflect.ValueOf(*g).IsZero() {
		return nil
	}
	return g
}

// thinking has a level or a budget: both in one request are refused (docs: thinking).
type thinking struct {
	Level   string `json:"thinkingLevel,omitempty"`
	Budget  *int   `json:"thinkingBudget,omitempty"`
	Include bool   `json:"includeThoughts,omitempty"`
}

// toolConfig says which functions the model may or must call.
type toolConfig struct {
	Calling *functionCalling `json:"functionCallingConfig,omitempty"`
	Exposed bool             `json:"includeServerSideToolInvocations,omitempty"` // parts of the vendor's tools are in answers
}

type functionCalling struct {
	Mode    string   `json:"mode"`
	Allowed []string `json:"allowedFunctionNames,omitempty"`
}

// modes are the API's words for tool_choice (docs: function-calling).
var modes = map[provider.ToolChoice]string{provider.ChooseAuto: "AUTO", provider.ChooseNone: "NONE", provider.ChooseRequired: "ANY"}

// choice is what the options say of tools, nil if they say nothing. With tools of the vendor's a request says VALIDATED in place of AUTO
// (practice of @ai-sdk/google 4.0.121). Their parts are wanted in answers: without them nothing of them could go back.
func (a *API) choice(req *provider.Request) *toolConfig {
	var c toolConfig
	asked, mixed := req.Options.ToolChoice, len(req.Options.ServerTools) > 0
	c.Exposed = mixed && leveled(req.Model) && !a.host.Cloud
	switch {
	case asked == "" || len(req.Tools) == 0:
	case asked.Tool() != "":
		c.Calling = &functionCalling{"ANY", []string{asked.Tool()}}
	case mixed && asked == provider.ChooseAuto:
		c.Calling = &functionCalling{Mode: "VALIDATED"}
	default:
		c.Calling = &functionCalling{Mode: modes[asked]}
	}
	if c == (toolConfig{}) {
		return nil
	}
	return &c
}

// generate is what the options say of the answer, and what of a schema is lost. The limit on output is up to the caller.
func generate(req *provider.Request) (g *generation, lost []provider.Notice) {
	o := req.Options
	g = &generation{Temperature: o.Temperature, TopP: o.TopP, TopK: o.TopK, Stop: o.Stop, Seed: o.Seed}
	if o.Schema != nil || o.Output == provider.OutputJSON {
		g.Type = "application/json"
	}
	if o.Schema != nil {
		g.Schema, _, lost = schema.Output(*o.Schema, schema.Gemini(), req.Model.ID)
	}
	return g, lost
}

// stripSampling takes out what the row says is not taken, and names it. A model of the newer generations without a row
// gets none: there it is ignored, may become an error, and a low temperature can make the model loop (docs:
// whats-new-gemini-3.6).
func stripSampling(req *provider.Request, g *generation) []string {
	if newer := !req.Model.Known && leveled(req.Model); !newer && !req.RefusesSampling() {
		return nil
	}
	return exchange.StripSampling(&g.Temperature, &g.TopP, &g.TopK)
}
