package cohere

import "slices"

// model has the differences between models. [docs: models, reasoning; the features are those of the vendor's list]
type model struct {
	id     string
	thinks bool // takes `thinking`, and no tool plan
	tools  bool
	choice bool // takes tool_choice
	vision bool
	old    bool // is deprecated
	window int  // in tokens
	output int
}

var usual = []string{"json_mode", "json_schema", "safety_modes"}

// models is the table in the order of the list. Never written.
var models = []model{
	{id: "command-a-plus-05-2026", thinks: true, tools: true, vision: true, window: 128_000, output: 64_000},
	{id: "command-a-reasoning-08-2025", thinks: true, tools: true, window: 256_000, output: 32_000},
	{id: "north-mini-code-1-0", thinks: true, tools: true, window: 256_000, output: 64_000},
	{id: "command-a-03-2025", tools: true, choice: true, window: 256_000, output: 8_000},
	{id: "command-a-vision-07-2025", vision: true, window: 128_000, output: 8_000},
	{id: "command-r7b-12-2024", tools: true, choice: true, window: 128_000, output: 4_000},
	{id: "command-r-plus-08-2024", tools: true, choice: true, window: 128_000, output: 4_000},
	{id: "command-r-08-2024", tools: true, choice: true, window: 128_000, output: 4_000},
	{id: "cohere", thinks: true, tools: true, vision: true, window: 256_000, output: 32_000},
	{id: "cohere-plans", tools: true, choice: true, window: 256_000, output: 8_000},
	{id: "command-r-03-2024", tools: true, old: true, window: 128_000, output: 4_000},
}

func modelBy(id string) *model {
	i := slices.IndexFunc(models, func(m model) bool { return m.id == id })
	if i < 0 {
		return nil
	}
	return &models[i]
}

// can lists the features of a model in the vendor's words.
func (m *model) can() []string {
	list := slices.Clone(usual)
	for _, f := range []struct {
		name string
		has  bool
	}{{"tools", m.tools}, {"strict_tools", m.tools}, {"citations", m.tools}, {"tool_choice", m.choice}, {"vision", m.vision}, {"reasoning", m.thinks}} {
		if f.has {
			list = append(list, f.name)
		}
	}
	return list
}

func help() string {
	return "Models of Cohere's Chat, besides the vendor's own ids:\n\n  cohere                thinks, by a budget\n  cohere-plans          does not think, and writes a plan before it calls tools\n"
}
