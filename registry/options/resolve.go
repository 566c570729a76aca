package options

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// Request is what a decision depends on in addition to the model and the level.
type Request struct {
	Tools    []string // the names of the client's and the daemon's
	ReadOnly bool     // the session's tool mode is read: nothing but reading is allowed, and no vendor runs tools
}

// Resolve decides which options of a call to a model are sent, adjusted or refused. The level of thinking is decided already. An adapter
// sends the decision's Effective; the caller fills in its Wire.
func Resolve(asked provider.AskedOptions, m provider.Model, thinking provider.Decision, req Request) provider.OptionDecision {
	c := &call{model: m, tools: req.Tools, readOnly: req.ReadOnly, takes: takes(m), effective: map[string]json.RawMessage{}}
	mode := thinking.Control
	c.thinks = mode.Thinking() || mode.Mode == provider.ModeOmit && m.Thinking.OnByDefault()
	c.budget = mode.Mode == provider.ModeBudget
	d := provider.OptionDecision{}
	asked.Each(func(name string, value json.RawMessage) {
		o := c.decide(name, value, asked.Options)
		o.Option, o.Source, o.Requested = name, asked.Sources[name], value
		if name == "output_schema" {
			o.Requested, o.Effective = shown(asked.Schema), nil
			if o.State != provider.OptionRefused {
				o.Effective = o.Requested
			}
		}
		d.Outcomes = append(d.Outcomes, o)
	})
	d.Form = c.form
	d.Force = c.form == provider.OutputTool && c.forces()
	text, err := json.Marshal(c.effective)
	if err == nil {
		err = json.Unmarshal(text, &d.Effective)
	}
	if err != nil {
		panic(err) // each value was one of Options
	}
	return d
}

// shown is a schema in an outcome: a client that sent it has it.
func shown(s *provider.OutputSchema) json.RawMessage {
	text, err := json.Marshal(struct {
		Name   string `json:"name"`
		Strict bool   `json:"strict"`
	}{s.Named(), s.IsStrict()})
	if err != nil {
		panic(err)
	}
	return text
}

// call is what a decision depends on.
type call struct {
	model     provider.Model
	tools     []string
	readOnly  bool
	takes     map[string]*accept
	thinks    bool
	budget    bool
	form      provider.OutputForm
	effective map[string]json.RawMessage
}

// accept is how an option is taken in this call.
func (c *call) accept(name string) *accept {
	a := c.takes[name]
	if a == nil {
		return &accept{Refuse: "the API has no such parameter"}
	}
	switch {
	case a.Tools != nil && len(c.tools) > 0:
		return a.Tools
	case a.Output != nil && c.form == provider.OutputNative:
		return a.Output
	case a.Budget != nil && c.budget:
		return a.Budget
	case a.Thinking != nil && c.thinks:
		return a.Thinking
	}
	return a
}

func refused(why string) provider.OptionOutcome {
	return provider.OptionOutcome{State: provider.OptionRefused, Why: why}
}

// decide is the outcome of one option. Those of the output come first in Options, because others depend on its form, and temperature comes
// before top_p: of two that exclude each other, the first one is sent.
func (c *call) decide(name string, value json.RawMessage, asked provider.Options) provider.OptionOutcome {
	a := c.accept(name)
	switch name {
	case "server_tools":
		return c.serverTools(value, a, asked)
	case "server_tool_limits":
		if c.effective["server_tools"] == nil || len(asked.ServerTools) == 0 {
			return refused("no tool of the vendor's is sent")
		}
		return c.send(name, value)
	}
	if why := c.sampling(name, a); why != "" {
		return refused(why)
	}
	if a.Refuse != "" && !(name == "output" && asked.Output == provider.OutputText) {
		return refused(a.Refuse)
	}
	for other, why := range together(c.model, name) {
		if c.effective[other] != nil {
			return refused(why)
		}
	}
	switch name {
	case "output_schema":
		return c.schema(value, a)
	case "output":
		if asked.Output == provider.OutputJSON {
			c.form = provider.OutputNative
		}
		return c.send(name, value)
	case "tool_choice":
		return c.choice(value, a, asked.ToolChoice)
	case "parallel_tools":
		if len(c.tools) == 0 {
			return refused("the request has no tools")
		}
		return c.send(name, value)
	case "max_output_tokens":
		return c.limit(value, a, asked.MaxOutput)
	case "stop":
		return c.stop(value, a, asked.Stop)
	case "temperature", "top_p", "top_k", "seed":
		return c.number(name, value, a)
	}
	return c.word(name, value, a)
}

func (c *call) serverTools(value json.RawMessage, a *accept, asked provider.Options) provider.OptionOutcome {
	if len(asked.ServerTools) == 0 {
		return c.send("server_tools", value)
	}
	if c.takes["server_tools"] == nil {
		a = nil
	}
	taken, why := serverTools(a, c.readOnly, c.tools, asked)
	switch {
	case len(taken) == 0:
		return refused(why)
	case why != "":
		return c.adjust("server_tools", taken, why)
	}
	return c.send("server_tools", value)
}

// sampling is why the row refuses a parameter of sampling, empty if it does not. The rules know values that stay valid while the model
// thinks; a row alone does not.
func (c *call) sampling(name string, a *accept) string {
	if name != "temperature" && name != "top_p" && name != "top_k" {
		return ""
	}
	switch {
	case c.model.Sampling == provider.SamplingNever:
		return "the model takes no other value than its default"
	case c.model.Sampling == provider.SamplingNotInThinking && c.thinks && c.takes[name] != nil && c.takes[name].Thinking == nil && a.Refuse == "":
		return "the model thinks, and then it is not taken"
	}
	return ""
}

func (c *call) send(name string, value json.RawMessage) provider.OptionOutcome {
	c.effective[name] = value
	return provider.OptionOutcome{State: provider.OptionSent, Effective: value}
}

func (c *call) adjust(name string, value any, why string) provider.OptionOutcome {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // a number, a word or texts
	}
	c.effective[name] = text
	return provider.OptionOutcome{State: provider.OptionAdjusted, Effective: text, Why: why}
}

func (c *call) schema(value json.RawMessage, a *accept) provider.OptionOutcome {
	c.form = a.Form
	o := c.send("output_schema", value)
	if a.Form != provider.OutputTool {
		return o
	}
	if c.model.Known && !c.model.Tools {
		c.form = ""
		delete(c.effective, "output_schema")
		return refused("the model has neither structured output nor tools; the answer is checked all the same")
	}
	o.State, o.Why = provider.OptionAdjusted, "the model answers by a call of a tool, because there is no parameter for a schema"
	if len(c.tools) > 0 {
		o.Why = "the model answers by a call of a tool, because there is no parameter for a schema in requests with tools"
	}
	return o
}

// forces reports whether the model can be made to answer by the tool: there are no others, and it takes the choice of one.
func (c *call) forces() bool {
	a := c.accept("tool_choice")
	return len(c.tools) == 0 && a.Refuse == "" && (len(a.Words) == 0 || slices.Contains(a.Words, "tool"))
}

func (c *call) choice(value json.RawMessage, a *accept, asked provider.ToolChoice) provider.OptionOutcome {
	name, word := asked.Tool(), string(asked)
	switch {
	case len(c.tools) == 0:
		return refused("the request has no tools")
	case name != "" && !slices.Contains(c.tools, name):
		return refused(fmt.Sprintf("there is no tool %s; there are: %s", name, strings.Join(c.tools, ", ")))
	case name != "":
		word = "tool"
	}
	if asked != provider.ChooseAuto && c.form == provider.OutputTool {
		return c.adjust("tool_choice", provider.ChooseAuto, "the model answers by a call of a tool, so the choice is its own")
	}
	if len(a.Words) == 0 || slices.Contains(a.Words, word) {
		return c.send("tool_choice", value)
	}
	if instead := a.Instead[word]; instead != "" {
		return c.adjust("tool_choice", instead, a.Why)
	}
	return refused(taken(a.Words))
}

func taken(words []string) string { return "it takes only: " + strings.Join(words, ", ") }

func (c *call) word(name string, value json.RawMessage, a *accept) provider.OptionOutcome {
	var word string
	if json.Unmarshal(value, &word) != nil || len(a.Words) == 0 || slices.Contains(a.Words, word) {
		return c.send(name, value)
	}
	if instead := a.Instead[word]; instead != "" {
		return c.adjust(name, instead, a.Why)
	}
	return refused(taken(a.Words))
}

func (c *call) number(name string, value json.RawMessage, a *accept) provider.OptionOutcome {
	var n float64
	if err := json.Unmarshal(value, &n); err != nil {
		panic(err) // these options are numbers
	}
	switch {
	case a.Min != nil && n < *a.Min:
		return c.adjust(name, *a.Min, cmp.Or(a.Why, fmt.Sprintf("%g is the least that is taken", *a.Min)))
	case a.Max != nil && n > *a.Max:
		return c.adjust(name, *a.Max, cmp.Or(a.Why, fmt.Sprintf("%g is the most that is taken", *a.Max)))
	}
	return c.send(name, value)
}

func (c *call) limit(value json.RawMessage, a *accept, tokens int) provider.OptionOutcome {
	switch most := c.model.MaxOutput; {
	case a.Min != nil && float64(tokens) < *a.Min:
		return c.adjust("max_output_tokens", int(*a.Min), a.Why)
	case most > 0 && tokens > most:
		return c.adjust("max_output_tokens", most, "the model writes at most this much")
	}
	return c.send("max_output_tokens", value)
}

func (c *call) stop(value json.RawMessage, a *accept, texts []string) provider.OptionOutcome {
	kept, why := slices.Clone(texts), ""
	if a.Visible {
		kept = slices.DeleteFunc(kept, func(s string) bool { return strings.TrimSpace(s) == "" })
		why = "texts of white space are not taken"
	}
	if a.Most > 0 && len(kept) > a.Most {
		kept, why = kept[:a.Most], fmt.Sprintf("%d are taken at most: the first ones", a.Most)
	}
	switch {
	case len(kept) == len(texts):
		return c.send("stop", value)
	case len(kept) == 0:
		return refused(why)
	}
	return c.adjust("stop", kept, why)
}
