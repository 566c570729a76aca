package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// ollamaCall is a chat request: read, checked, and reduced to what the answer needs. The server decodes into a struct:
// members that it does not know are dropped without a word, those of the wrong type are refused.
type ollamaCall struct {
	model   *ollamaModel
	stream  bool
	thinks  bool
	leaks   bool // it was told not to think, and does
	level   string
	predict int // -1: no limit
	tools   map[string]map[string]any

	tokens  int
	context digest
	ask     ask
}

type ollamaRequest struct {
	Model    string          `json:"model"`
	Stream   *bool           `json:"stream"`
	Think    json.RawMessage `json:"think"`
	Truncate *bool           `json:"truncate"`
	Shift    *bool           `json:"shift"`
	Options  struct {
		Window      int      `json:"num_ctx"`
		Predict     *int     `json:"num_predict"`
		Temperature *float64 `json:"temperature"`
	} `json:"options"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name       string         `json:"name"`
			Parameters map[string]any `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Messages []ollamaMessage `json:"messages"`
}

type ollamaMessage struct {
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

func (c *ollamaCall) read(body []byte) error {
	var r ollamaRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return ollamaInvalid("%s", err)
	}
	switch c.model = ollamaModelBy(r.Model); {
	case r.Model == "":
		return ollamaInvalid("model is required")
	case c.model == nil:
		return &Error{Status: 404, Text: fmt.Sprintf("model '%s' not found", r.Model)}
	case len(r.Tools) > 0 && !c.model.tools:
		return ollamaInvalid("%s does not support tools", r.Model)
	}
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
			return ollamaInvalid("tools: a function needs a name")
		}
		if properties, ok := t.Function.Parameters["properties"].([]any); ok {
			return ollamaInvalid("json: cannot unmarshal array into Go struct field .tools.function.parameters.properties of type map[string]api.ToolProperty (%v)", properties)
		}
		c.tools[t.Function.Name] = t.Function.Parameters
	}
	list, err := c.window(&r)
	if err != nil {
		return err
	}
	return c.readChat(list)
}

// readThink checks `think`: a bool or a level; left out it is on where the model can. [source: api/types.go]
func (c *ollamaCall) readThink(raw json.RawMessage) error {
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
		return ollamaInvalid("invalid think value: %s (must be \"high\", \"medium\", \"low\", \"max\", true, or false)", text)
	}
	if !c.model.thinks {
		return ollamaInvalid("%q does not support thinking", c.model.id)
	}
	return nil
}

// window cuts the conversation to what fits, oldest first and without a word, unless it was told not to.
// [source: server/prompt.go]
func (c *ollamaCall) window(r *ollamaRequest) ([]ollamaMessage, error) {
	size := ollamaWindow
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
			return nil, ollamaInvalid("the input length exceeds the context length")
		}
		i := slices.IndexFunc(list, func(m ollamaMessage) bool { return m.Role != "system" })
		if i < 0 || i == len(list)-1 {
			return list, nil
		}
		list = slices.Delete(list, i, i+1)
	}
}

func (m *ollamaMessage) tokens() int {
	n := tokens(m.Content) + tokens(m.Thinking)
	for _, call := range m.Calls {
		n += tokens(call.Function.Name) + tokens(string(canonical(nil, any(call.Function.Arguments))))
	}
	return n
}

// readChat draws what there is to answer. Thinking of earlier messages is never asked for.
func (c *ollamaCall) readChat(list []ollamaMessage) error {
	for i, m := range list {
		switch m.Role {
		case "user", "assistant", "system", "tool":
		default:
			return ollamaInvalid("invalid role: %s", m.Role)
		}
		if len(m.Images) > 0 && !c.model.vision {
			return ollamaInvalid("this model is missing data required for image input")
		}
		b, err := json.Marshal(m)
		if err != nil {
			return err
		}
		c.context = c.context.with(b)
		switch {
		case m.Role == "user":
			c.ask.prompt, c.ask.rounds, c.ask.results = m.Content, 0, nil
		case m.Role == "tool":
			c.ask.results = append(c.ask.results, m.Content)
		case len(m.Calls) > 0:
			c.ask.rounds++
			for _, call := range m.Calls {
				if name := call.Function.Name; !toolName().MatchString(name) { // a parser of the model's own form could not tell it from the rest
					return ollamaInvalid("messages %d: a call of %q, which is no name of a tool", i, name)
				}
			}
		}
	}
	c.ask.seed = c.context.with([]byte(c.model.id))
	if !c.thinks {
		return nil
	}
	words := 100
	if c.model.levels {
		words = map[string]int{"low": 40, "medium": 120, "high": 300, "max": 300}[c.level]
	}
	if len(c.ask.results) > 0 {
		words /= 3
	}
	c.ask.words, c.ask.blocks = words, 1
	return nil
}
