package messages

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
)

// model is a row of the table: the facts in which Anthropic's models differ. [docs: models overview, thinking, effort, whats-new pages,
// thinking-troubleshooting, preserved-thinking]
type model struct {
	id        string
	alias     string // an undated or dated second id
	imitates  string // for the simulator's own names, the id of the row that they stand for
	note      string // for those, a description
	name      string
	line      string
	lifecycle string // active, deprecated, retired; a retired model is listed but not served
	created   string // date; empty: not known

	window int // tokens
	output int

	types    []string // of the thinking parameter
	silent   bool     // does not think if the request has no `thinking`
	efforts  []string
	effort   string // the default; empty: takes no effort
	calmOff  bool   // with thinking off, takes no effort above high
	turnwise bool   // takes a new effort in mid-conversation

	modern    bool // takes no sampling parameters; the default of display is omitted
	single    bool // refuses temperature and top_p together
	noPrefill bool
	noForce   bool // refuses tool_choice any and tool
	narrates  bool // sends text between tool calls as thinking
	keepsAll  bool // thinking of earlier turns stays in context
	bound     bool // its thinking is bound to model and prefix
	personal  bool // and to the account and the end user
}

// off reports whether a type switches thinking off, at least before tools.
func (m *model) off(kind string) bool { return kind == "disabled" || kind == "between_tools" }

func (m *model) takes(kind string) bool { return slices.Contains(m.types, kind) }

// reads reports whether m can use thinking that w wrote. Anthropic's page names the readers of bound blocks. For readers that
// the page does not mention (Fable and Mythos 5.2, Haiku 5.5, and older models for the bound blocks of Opus and Haiku) the
// answer is no. [docs: preserved-thinking]
func (m *model) reads(w *model) bool {
	if m.id == w.id {
		return true
	}
	grand := w.line == "fable" || w.line == "mythos"
	switch m.id {
	case "claude-fable-5-2", "claude-mythos-5-2":
		return w.id == "claude-fable-5-2" || w.id == "claude-mythos-5-2"
	case "claude-fable-5-1", "claude-mythos-5-1":
		return !w.bound || w.id == "claude-fable-5-1" || w.id == "claude-mythos-5-1" || w.id == "claude-opus-5-5"
	case "claude-opus-5-5":
		return !w.bound && !grand || w.id == "claude-sonnet-5-5" || w.id == "claude-haiku-5-5"
	case "claude-sonnet-5-5":
		return !w.bound && !grand && w.id != "claude-opus-5" || w.id == "claude-haiku-5-5"
	case "claude-haiku-5-5":
		return !w.bound && !grand
	default:
		return !w.bound
	}
}

var (
	effortsAll   = []string{"low", "medium", "high", "xhigh", "max"}
	effortsNoX   = []string{"low", "medium", "high", "max"}
	effortsThree = []string{"low", "medium", "high"}

	adaptiveOnly  = []string{"adaptive"}
	adaptiveOff   = []string{"adaptive", "disabled"}
	adaptiveTools = []string{"adaptive", "between_tools"}
	manualOff     = []string{"enabled", "disabled"}
	anyControl    = []string{"adaptive", "enabled", "disabled"}
)

// models is the table in the order of /v1/models, newest first. Never written.
var models = []model{
	{id: "claude-fable-5-2", name: "Claude Fable 5.2", line: "fable", window: 1e6, output: 128_000, types: adaptiveOnly, efforts: effortsAll, effort: "high",
		turnwise: true, modern: true, noPrefill: true, noForce: true, keepsAll: true, bound: true},
	{id: "claude-mythos-5-2", name: "Claude Mythos 5.2", line: "mythos", window: 1e6, output: 128_000, types: adaptiveOnly, efforts: effortsAll, effort: "high",
		modern: true, noPrefill: true, noForce: true, keepsAll: true, bound: true},
	{id: "claude-fable-5-1", name: "Claude Fable 5.1", line: "fable", window: 1e6, output: 128_000, types: adaptiveOnly, efforts: effortsAll, effort: "high",
		turnwise: true, modern: true, noPrefill: true, noForce: true, narrates: true, keepsAll: true, bound: true},
	{id: "claude-mythos-5-1", name: "Claude Mythos 5.1", line: "mythos", window: 1e6, output: 128_000, types: adaptiveOnly, efforts: effortsAll, effort: "high",
		turnwise: true, modern: true, noPrefill: true, noForce: true, narrates: true, keepsAll: true, bound: true},
	{id: "claude-opus-5-5", name: "Claude Opus 5.5", line: "opus", window: 1e6, output: 128_000, types: adaptiveOnly, efforts: effortsAll, effort: "medium",
		turnwise: true, modern: true, noPrefill: true, noForce: true, narrates: true, keepsAll: true, bound: true},
	{id: "claude-sonnet-5-5", name: "Claude Sonnet 5.5", line: "sonnet", created: "2026-09-01", window: 1e6, output: 128_000, types: adaptiveTools, efforts: effortsAll, effort: "high",
		calmOff: true, turnwise: true, modern: true, noPrefill: true, noForce: true, narrates: true, keepsAll: true, bound: true, personal: true},
	{id: "claude-haiku-5-5", name: "Claude Haiku 5.5", line: "haiku", window: 1e6, output: 128_000, types: adaptiveOff, efforts: effortsAll, effort: "medium",
		calmOff: true, turnwise: true, modern: true, noPrefill: true, keepsAll: true, bound: true, personal: true},
	{id: "claude-fable-5", name: "Claude Fable 5", line: "fable", window: 1e6, output: 128_000, types: adaptiveOnly, efforts: effortsAll, effort: "high",
		modern: true, noPrefill: true, narrates: true, keepsAll: true},
	{id: "claude-mythos-5", name: "Claude Mythos 5", line: "mythos", window: 1e6, output: 128_000, types: adaptiveOnly, efforts: effortsAll, effort: "high",
		modern: true, noPrefill: true, keepsAll: true},
	{id: "claude-opus-5", name: "Claude Opus 5", line: "opus", window: 1e6, output: 128_000, types: adaptiveOff, efforts: effortsAll, effort: "high",
		calmOff: true, turnwise: true, modern: true, noPrefill: true, keepsAll: true},
	{id: "claude-sonnet-5", name: "Claude Sonnet 5", line: "sonnet", window: 1e6, output: 128_000, types: adaptiveOff, efforts: effortsAll, effort: "high",
		modern: true, noPrefill: true, keepsAll: true},
	{id: "claude-opus-4-8", name: "Claude Opus 4.8", line: "opus", window: 1e6, output: 128_000, types: adaptiveOff, silent: true, efforts: effortsAll, effort: "high",
		modern: true, noPrefill: true, keepsAll: true},
	{id: "claude-opus-4-7", name: "Claude Opus 4.7", line: "opus", window: 1e6, output: 128_000, types: adaptiveOff, silent: true, efforts: effortsAll, effort: "high",
		modern: true, noPrefill: true, keepsAll: true},
	{id: "claude-sonnet-4-6", name: "Claude Sonnet 4.6", line: "sonnet", window: 1e6, output: 128_000, types: anyControl, silent: true, efforts: effortsNoX, effort: "high",
		noPrefill: true, keepsAll: true, single: true},
	{id: "claude-opus-4-6", name: "Claude Opus 4.6", line: "opus", window: 1e6, output: 128_000, types: anyControl, silent: true, efforts: effortsNoX, effort: "high",
		noPrefill: true, keepsAll: true, single: true},
	{id: "claude-mythos-preview", name: "Claude Mythos Preview", line: "mythos", lifecycle: "retired", window: 1e6, output: 128_000, types: []string{"adaptive", "enabled"},
		efforts: effortsNoX, effort: "high", noPrefill: true, keepsAll: true},
	{id: "claude-opus-4-5-20251101", alias: "claude-opus-4-5", name: "Claude Opus 4.5", line: "opus", created: "2025-11-01", window: 200_000, output: 64_000, types: manualOff, silent: true,
		efforts: effortsThree, effort: "high", keepsAll: true, single: true},
	{id: "claude-haiku-4-5-20251001", alias: "claude-haiku-4-5", name: "Claude Haiku 4.5", line: "haiku", created: "2025-10-01", window: 200_000, output: 64_000, types: manualOff, silent: true, single: true},
	{id: "claude-sonnet-4-5-20250929", alias: "claude-sonnet-4-5", name: "Claude Sonnet 4.5", line: "sonnet", lifecycle: "deprecated", created: "2025-09-29", window: 200_000, output: 64_000, types: manualOff, silent: true, single: true},
	{id: "claude-opus-4-1-20250805", alias: "claude-opus-4-1", name: "Claude Opus 4.1", line: "opus", lifecycle: "retired", created: "2025-08-05", window: 200_000, output: 32_000, types: manualOff, silent: true, single: true},
	{id: "claude-opus-4-20250514", alias: "claude-opus-4-0", name: "Claude Opus 4", line: "opus", lifecycle: "retired", created: "2025-05-14", window: 200_000, output: 32_000, types: manualOff, silent: true},
	{id: "claude-sonnet-4-20250514", alias: "claude-sonnet-4-0", name: "Claude Sonnet 4", line: "sonnet", lifecycle: "retired", created: "2025-05-14", window: 200_000, output: 64_000, types: manualOff, silent: true},
	{id: "claude-3-7-sonnet-20250219", alias: "claude-3-7-sonnet-latest", name: "Claude Sonnet 3.7", line: "sonnet", lifecycle: "retired", created: "2025-02-19", window: 200_000, output: 64_000, types: manualOff, silent: true},

	// The simulator's own names.
	{id: "claude", name: "Simulated Claude", imitates: "claude-opus-5",
		note: "adaptive, off up to high effort"},
	{id: "claude-always", name: "Simulated Claude, always thinking", imitates: "claude-opus-5-5",
		note: "adaptive, never off, thinking bound to its position"},
	{id: "claude-budget", name: "Simulated Claude with a budget", imitates: "claude-sonnet-4-5-20250929",
		note: "thinks by a budget of tokens, off by default"},
	{id: "claude-between-tools", name: "Simulated Claude, quiet before tools", imitates: "claude-sonnet-5-5",
		note: "adaptive or between tools, thinking bound to position and account"},
}

// modelBy returns the row for an id, and the id that answers name. For one of the simulator's own names it returns the row of
// the imitated model, so that both read each other's thinking.
func modelBy(id string) (row *model, name string) {
	for i := range models {
		m := &models[i]
		if m.id != id && (m.alias == "" || m.alias != id) {
			continue
		}
		if m.imitates != "" {
			row, _ = modelBy(m.imitates)
			return row, m.id
		}
		return m, m.id
	}
	return nil, ""
}

// listing returns a model as an entry of /v1/models. [docs: models API]
func (m *model) listing() map[string]any {
	row, _ := modelBy(m.id)
	supported := func(b bool) map[string]any { return map[string]any{"supported": b} }
	types := map[string]any{}
	for _, t := range []string{"adaptive", "between_tools", "disabled", "enabled"} {
		types[t] = supported(row.takes(t))
	}
	efforts := supported(row.effort != "")
	for _, e := range effortsAll {
		efforts[e] = supported(slices.Contains(row.efforts, e))
	}
	lifecycle, line, created := "active", any(nil), "1970-01-01T00:00:00Z" // what the vendor sends for an unknown date
	if m.lifecycle != "" {
		lifecycle = m.lifecycle
	}
	if m.line != "" {
		line = m.line
	}
	if m.created != "" {
		created = m.created + "T00:00:00Z"
	}
	return map[string]any{
		"type": "model", "id": m.id, "display_name": m.name, "created_at": created, "line": line,
		"lifecycle": lifecycle, "deprecated_at": nil, "retires_at": nil,
		"max_input_tokens": row.window, "max_tokens": row.output,
		"capabilities": map[string]any{
			"thinking":           map[string]any{"supported": true, "types": types},
			"effort":             efforts,
			"image_input":        supported(true),
			"pdf_input":          supported(true),
			"structured_outputs": supported(false), // the simulator lacks it, like the next ones
			"context_management": map[string]any{"supported": true, "clear_thinking_20251015": supported(true),
				"clear_tool_uses_20250919": supported(false), "compact_20260112": supported(true)},
			"batch":          supported(false),
			"citations":      supported(false),
			"code_execution": supported(false),
		},
	}
}

// serveModel answers GET /v1/models/{id}.
func serveModel(ex *sim.Exchange, d *sim.Dialect, id string) {
	for i := range models {
		if m := &models[i]; m.id == id || m.alias != "" && m.alias == id {
			ex.SendJSON(http.StatusOK, m.listing())
			return
		}
	}
	ex.Refuse(d, &sim.Error{Status: http.StatusNotFound, Kind: "not_found_error", Text: "model: " + id})
}

// serveModels answers GET /v1/models, with pages by id and a filter by lifecycle.
func serveModels(ex *sim.Exchange, d *sim.Dialect, before string) {
	q := ex.Request.URL.Query()
	limit := 20
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 1000 {
			ex.Refuse(d, invalid("limit: Input should be a number from 1 to 1000"))
			return
		}
		limit = n
	}
	var all []*model
	for i := range models {
		m := &models[i]
		state := m.lifecycle
		if state == "" {
			state = "active"
		}
		if want := q["lifecycle[]"]; len(want) == 0 || slices.Contains(want, state) {
			all = append(all, m)
		}
	}
	byID := func(id string) int { return slices.IndexFunc(all, func(m *model) bool { return before+m.id == id }) }
	from, to := 0, len(all)
	for _, cursor := range []struct {
		name  string
		place func(i int)
	}{
		{"after_id", func(i int) { from = i + 1; to = min(from+limit, len(all)) }},
		{"before_id", func(i int) { to = i; from = max(0, to-limit) }},
	} {
		id := q.Get(cursor.name)
		if id == "" {
			continue
		}
		i := byID(id)
		if i < 0 {
			ex.Refuse(d, invalid("%s: no such model: %s", cursor.name, id))
			return
		}
		cursor.place(i)
	}
	more := to < len(all)
	if q.Get("before_id") != "" {
		more = from > 0
	}
	if to-from > limit {
		to, more = from+limit, true
	}
	page := map[string]any{"data": []any{}, "has_more": more, "first_id": nil, "last_id": nil}
	if from < to {
		data := []any{}
		for _, m := range all[from:to] {
			row := m.listing()
			row["id"] = before + m.id
			data = append(data, row)
		}
		page["data"], page["first_id"], page["last_id"] = data, before+all[from].id, before+all[to-1].id
	}
	ex.SendJSON(http.StatusOK, page)
}

// help lists the simulator's own names.
func help() string {
	var b strings.Builder
	b.WriteString("Models of Messages, besides the vendor's own ids:\n\n")
	for i := range models {
		if m := &models[i]; m.imitates != "" {
			fmt.Fprintf(&b, "  %-21s as %s: %s\n", m.id, m.imitates, m.note)
		}
	}
	return b.String()
}
