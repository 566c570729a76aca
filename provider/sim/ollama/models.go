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

// model has the differences between Ollama's models, as its server knows them. [source: server/routes.go,
// model/renderers; docs: capabilities/thinking]
type model struct {
	id       string
	note     string // for the simulator's own names: what is special about it
	family   string
	thinks   bool
	levels   bool // thinks by level and ignores bools, so thinking cannot be off
	forced   bool // its template always thinks: off puts the thinking into the text
	halfOpen bool // the template has opened the thinking: only the closing tag is in the text
	tools    bool
	vision   bool
	window   int // in tokens, as trained
}

// models is the table in the order of the list. It never changes.
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

// serveTags answers GET /api/tags, without capabilities, like older servers.
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

// usualWindow is the default window on a machine with little memory, in tokens. [docs: context-length]
const usualWindow = 4096
