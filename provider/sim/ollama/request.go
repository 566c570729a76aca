package ollama

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/portable"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// call is a checked chat request. It has only what the answer needs. The real server decodes into a struct, so unknown members are
// ignored, and members of the wrong type are refused.
type call struct {
	model   *model
	stream  bool
	thinks  bool
	leaks   bool // thinking is off, and the model thinks
	level   string
	predict int // -1: no limit
	keep    keepAlive
	empty   bool // there are no messages: the model is only loaded or unloaded
	tools   map[string]map[string]any

	tokens  int
	context strict.Digest
	ask     sim.Ask
}

type request struct {
	Model    string          `json:"model"`
	Stream   *bool           `json:"stream"`
	Think    json.RawMessage `json:"think"`
	Truncate *bool           `json:"truncate"`
	Shift    *bool           `json:"shift"`
	Keep     keepAlive       `json:"keep_alive"`
	Options  struct {
		Window      int      `json:"num_ctx"`
		Predict     *int     `json:"num_predict"`
		Temperature *float64 `json:"temperature"`
		TopP        *float64 `json:"top_p"`
		TopK        *int     `json:"top_k"`
		Seed        *int     `json:"seed"`
		Stop        []string `json:"stop"`
	} `json:"options"`
	Format json.RawMessage `json:"format"`
	Tools  []struct {
		Type     string `json:"type"`
		Function struct {
			Name       string     `json:"name"`
			Parameters parameters `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Messages []message `json:"messages"`
}

// parameters is the schema of a tool, with its numbers as text.
type parameters map[string]any

func (p *parameters) UnmarshalJSON(b []byte) error {
	v, err := strict.Decode(b)
	if err != nil {
		return err
	}
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		return fmt.Errorf("json: cannot unmarshal %s into Go struct field .tools.function.parameters of type api.ToolFunctionParameters", b)
	}
	*p = m
	return nil
}

type message struct {
	Role     string   `json:"role"`
	Content  string   `json:"content"`
	Thinking string   `json:"thinking"`
	Images   [][]byte `json:"images"`
	Calls    []struct {
		ID       string `json:"id"`
		Function struct {
			Index     int            `json:"index"`
			Name      string         `json:"name"`
			Arguments map[string]any `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolName string `json:"tool_name"`
	CallID   string `json:"tool_call_id"`
}

func (c *call) read(body []byte) error {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return invalid("%s", err)
	}
	switch c.model = modelBy(r.Model); {
	case r.Model == "":
		return invalid("model is required")
	case c.model == nil:
		return &sim.Error{Status: 404, Text: fmt.Sprintf("model '%s' not found", r.Model)}
	case len(r.Tools) > 0 && !c.model.tools:
		return invalid("%s does not support tools", r.Model)
	}
	c.keep, c.empty = r.Keep, len(r.Messages) == 0
	c.stream = r.Stream == nil || *r.Stream
	if err := c.readThink(r.Think); err != nil {
		return err
	}
	c.predict = -1
	if r.Options.Predict != nil {
		c.predict = *r.Options.Predict
	}
	c.tools = map[string]map[string]any{}
	for _, t := range r.Tools {
		if t.Function.Name == "" {
			return invalid("tools: a function needs a name")
		}
		if properties, ok := t.Function.Parameters["properties"].([]any); ok {
			return invalid("json: cannot unmarshal array into Go struct field .tools.function.parameters.properties of type map[string]api.ToolProperty (%v)", properties)
		}
		c.tools[t.Function.Name] = t.Function.Parameters
	}
	switch text := strings.TrimSpace(string(r.Format)); {
	case text == "" || text == "null" || text == `""`:
	case text == `"json"`:
		c.ask.Output = map[string]any{"type": "object"}
	case text[0] != '{' || json.Unmarshal(r.Format, &c.ask.Output) != nil:
		return invalid("invalid format: %s; expected \"json\" or a valid JSON Schema object", text)
	}
	list, err := c.window(&r)
	if err != nil {
		return err
	}
	return c.readChat(list)
}

// readThink checks `think`, a bool or a level. Without it a model that can think does. [source: api/types.go]
func (c *call) readThink(raw json.RawMessage) error {
	c.thinks, c.level = c.model.thinks, "medium"
	text := strings.TrimSpace(string(raw))
	switch text {
	case "", "null":
		return nil
	case "false":
		c.thinks = c.model.levels || c.model.forced
		c.leaks = c.thinks && !c.model.levels
		return nil
	case "true":
	case `"low"`, `"medium"`, `"high"`, `"max"`:
		c.level = strings.Trim(text, `"`)
	default:
		return invalid("invalid think value: %s (must be \"high\", \"medium\", \"low\", \"max\", true, or false)", text)
	}
	if !c.model.thinks {
		return invalid("%q does not support thinking", c.model.id)
	}
	return nil
}

// window silently cuts the oldest messages until the conversation fits, unless the request forbids it. [source: server/prompt.go]
func (c *call) window(r *request) ([]message, error) {
	size := usualWindow
	if r.Options.Window > 0 {
		size = min(r.Options.Window, c.model.window)
	}
	if strings.HasSuffix(r.Model, "-cloud") {
		size = c.model.window
	}
	list := slices.Clone(r.Messages)
	for {
		c.tokens = 0
		for _, m := range list {
			c.tokens += m.tokens()
		}
		if c.tokens <= size {
			return list, nil
		}
		if r.Truncate != nil && !*r.Truncate {
			return nil, invalid("the input length exceeds the context length")
		}
		i := slices.IndexFunc(list, func(m message) bool { return m.Role != "system" })
		if i < 0 || i == len(list)-1 {
			return list, nil
		}
		list = slices.Delete(list, i, i+1)
	}
}

func (m *message) tokens() int {
	n := sim.Tokens(m.Content) + sim.Tokens(m.Thinking)
	for _, call := range m.Calls {
		n += sim.Tokens(call.Function.Name) + sim.Tokens(string(strict.AppendCanonical(nil, any(call.Function.Arguments))))
	}
	return n
}

// readChat decides what to answer. Earlier messages need no thinking.
func (c *call) readChat(list []message) error {
	for i, m := range list {
		switch m.Role {
		case "user", "assistant", "system", "tool":
		default:
			return invalid("invalid role: %s", m.Role)
		}
		for _, data := range m.Images {
			if kind := http.DetectContentType(data); kind == "image/gif" || kind == "image/bmp" || kind == "application/pdf" {
				return invalid("invalid image type: %s", kind)
			}
		}
		if len(m.Images) > 0 && !c.model.vision {
			return invalid("this model is missing data required for image input")
		}
		b, err := json.Marshal(m)
		if err != nil {
			return err
		}
		c.context = c.context.With(b)
		switch {
		case m.Role == "user":
			c.ask.Prompt, c.ask.Rounds, c.ask.Results = m.Content, 0, nil
		case m.Role == "tool":
			c.ask.Results = append(c.ask.Results, m.Content)
		case len(m.Calls) > 0:
			c.ask.Rounds++
			for _, call := range m.Calls {
				if name := call.Function.Name; !portable.ToolName().MatchString(name) { // a parser of the model's own form could not find where it ends
					return invalid("messages %d: a call of %q, which is no name of a tool", i, name)
				}
			}
		}
	}
	c.ask.Seed = c.context.With([]byte(c.model.id))
	c.ask.Tools = c.tools
	if !c.thinks {
		return nil
	}
	words := 100
	if c.model.levels {
		words = map[string]int{"low": 40, "medium": 120, "high": 300, "max": 300}[c.level]
	}
	if len(c.ask.Results) > 0 {
		words /= 3
	}
	c.ask.ThinkingWords, c.ask.ThinkingBlocks = words, 1
	return nil
}
