package responses

import "slices"

// model has the differences between the models of the Responses API. [docs: reasoning, latest-model, model pages;
// xAI docs: reasoning]
type model struct {
	id       string
	alias    string
	imitates string // for the simulator's own names: the imitated model
	note     string

	window int // tokens
	output int

	efforts []string // nil: the parameter is refused
	effort  string   // the default
	thinks  bool     // it thinks without an effort
	sampled bool     // it accepts temperature and top_p with effort none; models that do not think always accept them

	open    bool // its weights are open: the thinking itself is shown, and nothing is encrypted
	phases  bool // messages state whether they are commentary
	recalls bool // it gets its reasoning of all turns by default, and refuses a request without it
	concise bool // it has the summary concise
	adapts  bool // it accepts a change of effort inside the conversation
}

var (
	effortsThree = []string{"low", "medium", "high"} // of Codex and the open models
	effortsGPT6  = []string{"low", "medium", "high", "xhigh", "max"}
	effortsGPT56 = []string{"none", "low", "medium", "high", "xhigh", "max"}
	effortsGPT55 = []string{"none", "low", "medium", "high", "xhigh"}
	effortsCodex = []string{"low", "medium", "high", "xhigh"}
	effortsPro   = []string{"medium", "high", "xhigh"}
	effortsGPT51 = []string{"none", "low", "medium", "high"}
	effortsGPT5  = []string{"minimal", "low", "medium", "high"}
)

// models is the table, the newest first. It never changes.
var models = []model{
	{id: "gpt-6.1-sol", window: 1_050_000, output: 128_000, efforts: effortsGPT6, effort: "medium", phases: true, recalls: true, concise: true, adapts: true},
	{id: "gpt-6.1-terra", window: 1_050_000, output: 128_000, efforts: effortsGPT56, effort: "medium", sampled: true, phases: true, recalls: true, concise: true, adapts: true},
	{id: "gpt-6-astra", window: 1_050_000, output: 128_000, efforts: effortsGPT6, effort: "medium", phases: true, recalls: true, concise: true, adapts: true},
	{id: "gpt-6-sol", window: 1_050_000, output: 128_000, efforts: effortsGPT56, effort: "medium", sampled: true, phases: true, recalls: true, concise: true, adapts: true},
	{id: "gpt-6-luna", window: 1_050_000, output: 128_000, efforts: effortsGPT56, effort: "medium", sampled: true, phases: true, recalls: true, concise: true, adapts: true},
	{id: "gpt-5.6-sol", alias: "gpt-5.6", window: 1_050_000, output: 128_000, efforts: effortsGPT56, effort: "medium", sampled: true, phases: true, recalls: true, concise: true},
	{id: "gpt-5.6-terra", window: 1_050_000, output: 128_000, efforts: effortsGPT56, effort: "medium", sampled: true, phases: true, recalls: true, concise: true},
	{id: "gpt-5.6-luna", window: 1_050_000, output: 128_000, efforts: effortsGPT56, effort: "medium", sampled: true, phases: true, recalls: true, concise: true},
	{id: "gpt-5.6-cyber", window: 400_000, output: 128_000, efforts: effortsGPT6, effort: "medium", phases: true, recalls: true, concise: true},
	{id: "gpt-daybreak-blue-latest", window: 1_050_000, output: 128_000, efforts: effortsGPT56, effort: "medium", sampled: true, phases: true, recalls: true, concise: true},
	{id: "gpt-daybreak-red-latest", window: 400_000, output: 128_000, efforts: effortsGPT56, effort: "medium", sampled: true, phases: true, recalls: true, concise: true},
	{id: "gpt-5.5", window: 1_050_000, output: 128_000, efforts: effortsGPT55, effort: "medium", sampled: true, phases: true, concise: true},
	{id: "gpt-5.5-pro", window: 1_050_000, output: 128_000, efforts: effortsCodex, effort: "medium", phases: true, concise: true},
	{id: "gpt-5.4", window: 1_050_000, output: 128_000, efforts: effortsGPT55, effort: "none", sampled: true, phases: true, concise: true},
	{id: "gpt-5.4-mini", window: 400_000, output: 128_000, efforts: effortsGPT55, effort: "none", sampled: true, phases: true, concise: true},
	{id: "gpt-5.4-nano", window: 400_000, output: 128_000, efforts: effortsGPT55, effort: "none", sampled: true, phases: true, concise: true},
	{id: "gpt-5.4-pro", window: 1_050_000, output: 128_000, efforts: effortsPro, effort: "medium", phases: true, concise: true},
	{id: "gpt-5.3-codex-spark", window: 128_000, output: 32_000, efforts: effortsCodex, effort: "medium", phases: true, concise: true},
	{id: "gpt-5.3-codex", window: 400_000, output: 128_000, efforts: effortsCodex, effort: "medium", phases: true, concise: true},
	{id: "gpt-5.2", window: 400_000, output: 128_000, efforts: effortsGPT55, effort: "none", sampled: true, concise: true},
	{id: "gpt-5.2-pro", window: 400_000, output: 128_000, efforts: effortsPro, effort: "medium", concise: true},
	{id: "gpt-5.1-codex-max", window: 400_000, output: 128_000, efforts: effortsCodex, effort: "medium", concise: true},
	{id: "gpt-5.1", window: 400_000, output: 128_000, efforts: effortsGPT51, effort: "none", sampled: true, concise: true},
	{id: "gpt-5.1-codex", window: 400_000, output: 128_000, efforts: effortsThree, effort: "medium", concise: true},
	{id: "gpt-5.1-codex-mini", window: 400_000, output: 128_000, efforts: effortsThree, effort: "medium", concise: true},
	{id: "gpt-5-codex", window: 400_000, output: 128_000, efforts: effortsThree, effort: "medium"},
	{id: "gpt-5", window: 400_000, output: 128_000, efforts: effortsGPT5, effort: "medium"},
	{id: "gpt-5-mini", window: 400_000, output: 128_000, efforts: effortsGPT5, effort: "medium"},
	{id: "gpt-5-nano", window: 400_000, output: 128_000, efforts: effortsGPT5, effort: "medium"},
	{id: "gpt-5-pro", window: 400_000, output: 272_000, efforts: []string{"high"}, effort: "high"},
	{id: "o3-pro", window: 200_000, output: 100_000, efforts: effortsThree, effort: "medium"},
	{id: "o3", window: 200_000, output: 100_000, efforts: effortsThree, effort: "medium"},
	{id: "o4-mini", window: 200_000, output: 100_000, efforts: effortsThree, effort: "medium"},
	{id: "o3-mini", window: 200_000, output: 100_000, efforts: effortsThree, effort: "medium"},
	{id: "o1", window: 200_000, output: 100_000, efforts: effortsThree, effort: "medium"},
	{id: "gpt-4.1", window: 1_047_576, output: 32_768},
	{id: "gpt-4.1-mini", window: 1_047_576, output: 32_768},
	{id: "gpt-5-chat-latest", window: 128_000, output: 16_384},
	{id: "gpt-4o-mini", window: 128_000, output: 16_384},
	{id: "gpt-4o", window: 128_000, output: 16_384},
	{id: "gpt-oss-120b", window: 131_072, output: 131_072, efforts: effortsThree, effort: "medium", sampled: true, open: true},
	{id: "gpt-oss-20b", window: 131_072, output: 131_072, efforts: effortsThree, effort: "medium", sampled: true, open: true},

	{id: "mai-code-1.1-flash", window: 256_000, output: 128_000, efforts: effortsThree, effort: "medium"},
	{id: "grok-4.7", window: 500_000, output: 500_000, efforts: effortsCodex, effort: "high", sampled: true, concise: true},
	{id: "grok-4.6", window: 256_000, output: 500_000, efforts: effortsCodex, effort: "high", sampled: true, concise: true},
	{id: "grok-4.5", window: 256_000, output: 500_000, efforts: effortsThree, effort: "high", sampled: true, concise: true},
	{id: "grok-4.3", window: 256_000, output: 500_000, efforts: effortsGPT51, effort: "low", sampled: true, concise: true},
	{id: "grok-4.20-0309-reasoning", alias: "grok-4.20-reasoning", window: 256_000, output: 256_000, thinks: true, sampled: true, concise: true},
	{id: "grok-4.20-0309-non-reasoning", alias: "grok-4.20-non-reasoning", window: 256_000, output: 256_000},
	{id: "grok-build-0.1", window: 256_000, output: 256_000, thinks: true, sampled: true, concise: true},

	// The simulator's own names.
	{id: "gpt", imitates: "gpt-5.6-sol", note: "effort from none to max, encrypted reasoning"},
	{id: "gpt-always", imitates: "gpt-6.1-sol", note: "effort from low to max, never off"},
	{id: "gpt-silent", imitates: "gpt-4.1", note: "does not think"},
	{id: "gpt-open", imitates: "gpt-oss-120b", note: "shows the thinking itself"},
	{id: "grok", imitates: "grok-4.3", note: "effort from none to high"},
}

// modelBy returns the row for an id at a door, and the id that answers name.
func modelBy(id string, face door) (row *model, name string) {
	for i := range models {
		m := &models[i]
		switch {
		case m.id != id && (m.alias == "" || m.alias != id):
		case m.imitates != "":
			row, _ = modelBy(m.imitates, face)
			return row, m.id
		case face.copilot && m.id == "gpt-5-mini": // its efforts differ from host to host
			own := *m
			own.efforts = effortsThree
			return &own, m.id
		default:
			return m, m.id
		}
	}
	return nil, ""
}

func (m *model) reasons() bool { return m.thinks || len(m.efforts) > 0 }

func (m *model) takes(effort string) bool { return slices.Contains(m.efforts, effort) }
