package ollama

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// model is what models of Ollama differ in, as far as its server knows. [source: server/routes.go,
// model/renderers; docs: capabilities/thinking]
type model struct {
	id       string
	note     string // the simulator's own names: what it is like
	family   string
	thinks   bool
	levels   bool // thinks by level, and bools do nothing: it cannot be off
	forced   bool // its template cannot do without thinking: off leaks it into the text
	halfOpen bool // and has opened it already: only the closing tag leaks
	tools    bool
	vision   bool
	window   int // that it was trained for
}

// models is the table, as the list gives it. Never written.
var models = []model{
	{id: "qwen3.5:9b", family: "qwen35", thinks: true, tools: true, vision: true, window: 262_144},
	{id: "qwen3.8:14b", family: "qwen38", thinks: true, tools: true, window: 262_144},
	{id: "gpt-oss:20b", family: "gptoss", thinks: true, levels: true, tools: true, window: 131_072},
	{id: "gpt-oss:120b-cloud", family: "gptoss", thinks: true, levels: true, tools: true, window: 131_072},
	{id: "deepseek-r1:8b", family: "qwen3", thinks: true, forced: true, halfOpen: true, window: 131_072},
	{id: "llama3.2:3b", family: "llama", tools: true, window: 131_072},

	{id: "ollama", note: "on or off, as requested", family: "qwen35", thinks: true, tools: true, vision: true, window: 262_144},
	{id: "ollama-levels", note: "always thinks, by level", family: "gptoss", thinks: true, levels: true, tools: true, window: 131_072},
	{id: "ollama-leaking", note: "with off, its thinking is in the text, between tags", family: "qwen3", thinks: true, forced: true, tools: true, window: 131_072},
	{id: "ollama-plain", note: "does not think", family: "llama", tools: true, window: 131_072},
}

func modelBy(id string) *model {
	id = strings.TrimSuffix(id, ":latest") // the tag of a name without one
	i := slices.IndexFunc(models, func(m model) bool { return m.id == id })
	if i < 0 {
		return nil
	}
	return &models[i]
}

func (m *model) capabilities() []string {
	can := []string{"completion"}
	if m.tools {
		can = append(can, "tools")
	}
	if m.thinks {
		can = append(can, "thinking")
	}
	if m.vision {
		can = append(can, "vision")
	}
	return can
}

// serveTags answers GET /api/tags. As older servers do, it tells no capabilities.
func serveTags(ex *sim.Exchange) {
	list := []any{}
	for i := range models {
		m := &models[i]
		list = append(list, map[string]any{
			"name": m.id, "model": m.id, "modified_at": "2026-11-20T10:00:00Z", "size": 1, "digest": strict.DigestOf(m.id),
			"details": map[string]any{"format": "gguf", "family": m.family, "families": []string{m.family}},
		})
	}
	ex.SendJSON(http.StatusOK, map[string]any{"models": list})
}

// serveShow answers POST /api/show.
func serveShow(ex *sim.Exchange, d *sim.Dialect) {
	m, ok := sim.Check(ex, d, func(body []byte) (*model, error) {
		var ask struct{ Model, Name string }
		if err := json.Unmarshal(body, &ask); err != nil {
			return nil, invalid("%s", err)
		}
		id := cmp.Or(ask.Model, ask.Name)
		m := modelBy(id)
		if m == nil {
			return nil, &sim.Error{Status: http.StatusNotFound, Text: "model '" + id + "' not found"}
		}
		return m, nil
	})
	if !ok {
		return
	}
	ex.SendJSON(http.StatusOK, map[string]any{
		"capabilities": m.capabilities(), "details": map[string]any{"family": m.family, "format": "gguf"},
		"model_info": map[string]any{"general.architecture": m.family, m.family + ".context_length": m.window},
	})
}

// help has the simulator's own names.
func help() string {
	var b strings.Builder
	b.WriteString("Models of Ollama's own API, besides the vendor's own ids:\n\n")
	for i := range models {
		if m := &models[i]; m.note != "" {
			fmt.Fprintf(&b, "  %-21s %s\n", m.id, m.note)
		}
	}
	return b.String()
}

// usualWindow is what a model gets where nobody asks for more, on a machine with little memory. [docs: context-length]
const usualWindow = 4096
