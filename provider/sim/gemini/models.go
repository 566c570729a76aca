package gemini

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/thinkd/thinkd/provider/sim"
)

// model has the differences between Google's models. [docs: thinking, whats-new pages, model guides]
type model struct {
	id       string
	imitates string // for the simulator's own names: the imitated model, whose name answers give
	note     string // what is special about it
	name     string

	levels []string // of thinkingLevel; nil: it accepts a budget
	level  string   // the default

	least, most int  // of a budget, except 0 and -1
	off         bool // a budget of 0 is accepted
	calm        bool // does not think by default

	signs     bool // from the third generation on: it requires its signatures, and gives calls an id
	noBudget  bool // accepts only levels, and no budget
	noPrefill bool // the last content must be of the user
	continues bool // an answer may take several requests

	ends, then string // the day from which the model then answers under this id, by its own rules [docs: deprecations]
}

var (
	levels  = []string{"MINIMAL", "LOW", "MEDIUM", "HIGH"}
	three   = []string{"LOW", "MEDIUM", "HIGH"}
	extreme = []string{"LOW", "HIGH"}
)

// The window and the longest answer of every model, in tokens.
const (
	inputLimit  = 1_048_576
	outputLimit = 65_536
)

// models is the table in the order of the list, the newest first. It never changes.
var models = []model{
	{id: "gemini-4-argon", name: "Gemini 4 Argon", levels: three, level: "MEDIUM", signs: true, noBudget: true, noPrefill: true, continues: true},
	{id: "gemini-3.8-flash", name: "Gemini 3.8 Flash", levels: three, level: "MEDIUM", signs: true, noBudget: true, noPrefill: true},
	{id: "gemini-3.7-flash", name: "Gemini 3.7 Flash", levels: three, level: "MEDIUM", signs: true, noBudget: true, noPrefill: true},
	{id: "gemini-3.6-flash", name: "Gemini 3.6 Flash", levels: levels, level: "MEDIUM", signs: true, noBudget: true, noPrefill: true},
	{id: "gemini-3.5-flash", name: "Gemini 3.5 Flash", imitates: "gemini-3.6-flash", levels: levels, level: "MEDIUM", signs: true, noBudget: true, noPrefill: true},
	{id: "gemini-3.5-flash-lite", name: "Gemini 3.5 Flash-Lite", levels: levels, level: "MINIMAL", signs: true},
	{id: "gemini-3.1-pro-preview", name: "Gemini 3.1 Pro Preview", levels: three, level: "HIGH", signs: true},
	{id: "gemini-3.1-pro-preview-customtools", name: "Gemini 3.1 Pro Preview, custom tools", levels: three, level: "HIGH", signs: true},
	{id: "gemini-3.1-flash-lite", name: "Gemini 3.1 Flash-Lite", levels: levels, level: "MINIMAL", signs: true},
	{id: "gemini-3-pro-preview", name: "Gemini 3 Pro Preview", levels: extreme, level: "HIGH", signs: true},
	{id: "gemini-3-flash-preview", name: "Gemini 3 Flash Preview", levels: levels, level: "HIGH", signs: true},
	{id: "gemini-pro-latest", name: "Gemini Pro Latest", imitates: "gemini-4-argon", levels: three, level: "MEDIUM", signs: true, noBudget: true, noPrefill: true},
	{id: "gemini-flash-lite-latest", name: "Gemini Flash-Lite Latest", imitates: "gemini-3.5-flash-lite", levels: levels, level: "MINIMAL", signs: true},
	{id: "gemini-flash-latest", name: "Gemini Flash Latest", imitates: "gemini-3.8-flash", levels: three, level: "MEDIUM", signs: true, noBudget: true, noPrefill: true},
	{id: "gemini-2.5-pro", name: "Gemini 2.5 Pro", ends: "2026-12-01", then: "gemini-3.8-flash", least: 128, most: 32_768},
	{id: "gemini-2.5-flash", name: "Gemini 2.5 Flash", ends: "2026-12-01", then: "gemini-3.5-flash-lite", most: 24_576, off: true},
	{id: "gemini-2.5-flash-lite", name: "Gemini 2.5 Flash-Lite", least: 512, most: 24_576, off: true, calm: true},

	{id: "gemini", name: "Simulated Gemini", imitates: "gemini-3.8-flash", note: "always thinks, by level; signs its calls",
		levels: three, level: "MEDIUM", signs: true, noBudget: true, noPrefill: true},
	{id: "gemini-budget", name: "Simulated Gemini with a budget", imitates: "gemini-2.5-flash", note: "thinks by a budget, can be off",
		most: 24_576, off: true},
	{id: "gemini-continued", name: "Simulated Gemini of long answers", imitates: "gemini-4-argon", note: "continues over several requests (stop=pause_turn)",
		levels: three, level: "MEDIUM", signs: true, noBudget: true, noPrefill: true, continues: true},
}

func modelBy(id string) *model {
	i := slices.IndexFunc(models, func(m model) bool { return m.id == id })
	if i < 0 {
		return nil
	}
	return &models[i]
}

// modelAt returns the model that answers under an id on a day.
func modelAt(id string, now time.Time) *model {
	m := modelBy(id)
	if m != nil && m.ends != "" && now.UTC().Format(time.DateOnly) >= m.ends {
		return modelBy(m.then)
	}
	return m
}

// version returns the name that answers give. For an alias it is that of the model behind it.
func (m *model) version() string {
	if m.imitates != "" {
		return m.imitates
	}
	return m.id
}

// reads reports whether m accepts a signature of w. The vendor promises nothing between the generations, so the simulator refuses
// it. [docs: thought-signatures]
func (m *model) reads(w *model) bool { return m.signs == w.signs }

func (m *model) listing() map[string]any {
	return map[string]any{
		"name": "models/" + m.id, "version": "001", "displayName": m.name,
		"inputTokenLimit": inputLimit, "outputTokenLimit": outputLimit,
		"supportedGenerationMethods": []string{"generateContent", "countTokens"},
		"temperature":                1, "topP": 0.95, "topK": 64, "maxTemperature": 2, "thinking": true,
	}
}

// serveModels answers GET /v1beta/models, with pages by an opaque token. The list has no levels. [docs: models.list]
func serveModels(ex *sim.Exchange, d *sim.Dialect) {
	q := ex.Request.URL.Query()
	size, from := 50, 0
	for name, n := range map[string]*int{"pageSize": &size, "pageToken": &from} {
		if text := q.Get(name); text != "" {
			v, err := strconv.Atoi(text)
			if err != nil || v < 0 || name == "pageSize" && v == 0 {
				ex.Refuse(d, invalid("%s: not valid", name))
				return
			}
			*n = v
		}
	}
	page := map[string]any{}
	list := []any{}
	for i := from; i < min(from+size, len(models)); i++ {
		list = append(list, models[i].listing())
	}
	page["models"] = list
	if from+size < len(models) {
		page["nextPageToken"] = strconv.Itoa(from + size)
	}
	ex.SendJSON(http.StatusOK, page)
}

// serveModel answers GET /v1beta/models/ID.
func serveModel(ex *sim.Exchange, d *sim.Dialect, id string) {
	if m := modelBy(strings.TrimPrefix(id, "models/")); m != nil {
		ex.SendJSON(http.StatusOK, m.listing())
		return
	}
	ex.Refuse(d, &sim.Error{Status: http.StatusNotFound, Kind: "NOT_FOUND", Text: "models/" + id + " is not found for API version v1beta."})
}

// help has the simulator's own names.
func help() string {
	var b strings.Builder
	b.WriteString("Models of generateContent, besides the vendor's own ids:\n\n")
	for i := range models {
		if m := &models[i]; m.note != "" {
			fmt.Fprintf(&b, "  %-21s as %s: %s\n", m.id, m.imitates, m.note)
		}
	}
	return b.String()
}
