package converse

import (
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// fields are members of the makers' own APIs that the decision on thinking and the options put into a request. Converse hands them on as they
// are.
type fields struct {
	Thinking  *thinking  `json:"thinking,omitempty"`         // Claude
	Output    *effort    `json:"output_config,omitempty"`    // Claude
	Nova      *novaThink `json:"reasoningConfig,omitempty"`  // Amazon Nova
	Reasoning *effort    `json:"reasoning,omitempty"`        // OpenAI
	Effort    string     `json:"reasoning_effort,omitempty"` // gpt-oss, Kimi, DeepSeek
	TopK      *int       `json:"top_k,omitempty"`            // Claude
	Inference *novaTopK  `json:"inferenceConfig,omitempty"`  // Amazon Nova
	Betas     []string   `json:"anthropic_beta,omitempty"`   // Claude
}

func (f fields) isZero() bool {
	return f.Thinking == nil && f.Output == nil && f.Nova == nil && f.Reasoning == nil && f.Effort == "" && f.TopK == nil && f.Inference == nil && f.Betas == nil
}

type thinking struct {
	Type    string           `json:"type"`
	Budget  int              `json:"budget_tokens,omitempty"`
	Display provider.Display `json:"display,omitempty"`
}

type effort struct {
	Effort string `json:"effort"`
}

type novaThink struct {
	Type   string `json:"type"`
	Effort string `json:"maxReasoningEffort,omitempty"`
}

type novaTopK struct {
	TopK int `json:"topK"`
}

const betaInterleaved = "interleaved-thinking-2025-05-14"

// control turns the decision into the form that the model's maker has for it (docs: inference-reasoning; nova: extended-thinking). clamped says
// what the maker has no word for. To an unknown maker, nothing is sent: it would refuse a member that it does not know.
func control(req *provider.Request) (f fields, clamped string, err error) {
	want := req.Decision.Control
	if want.Mode == provider.ModeOmit || want.Mode == "" || exchange.Withholds(req, wireAPI, "thinking") {
		return fields{}, "", nil
	}
	known := []provider.Mode{provider.ModeOff, provider.ModeOn, provider.ModeEffort, provider.ModeBudget}
	if !slices.Contains(known, want.Mode) {
		return fields{}, "", fmt.Errorf("decision on thinking: unknown mode %q", want.Mode)
	}
	if req.Model.Thinking.Control == provider.ControlNone && want.Mode == provider.ModeOff {
		return fields{}, "", nil
	}
	switch by := familyOf(req.Model.Rules()); by {
	case claude:
		return claudeThinks(req, want), "", nil
	case nova:
		f, clamped = novaThinks(want)
		return f, clamped, nil
	case openAI, gptOSS, kimi, deepseek:
		word := word(want)
		if by == openAI && word != "" {
			f.Reasoning = &effort{word}
		} else {
			f.Effort = word
		}
		if want.Mode == provider.ModeBudget {
			clamped = fmt.Sprintf("a budget of %d tokens sent as on, since there are none here", want.Budget)
		}
		return f, clamped, nil
	}
	if want.Mode == provider.ModeOn {
		return fields{}, "", nil
	}
	return fields{}, "thinking left out: " + req.Model.ID + " is not known to take it here", nil
}

func claudeThinks(req *provider.Request, want provider.Control) (f fields) {
	display := want.Display
	if display == "" && (!req.Model.Known || len(req.Model.Thinking.Display) > 0) {
		display = provider.Summarized
	}
	adaptive := slices.Contains(req.Repairs, provider.Repair(Adaptive+req.Model.ID))
	switch {
	case want.Mode == provider.ModeOff && req.Model.Thinking.Off == provider.OffUpFront:
		f.Thinking = &thinking{Type: "between_tools"}
	case want.Mode == provider.ModeOff:
		f.Thinking = &thinking{Type: "disabled"}
	case want.Mode == provider.ModeBudget && !adaptive:
		f.Thinking = &thinking{Type: "enabled", Budget: want.Budget, Display: display}
		if len(req.Tools) > 0 {
			f.Betas = []string{betaInterleaved}
		}
	default:
		f.Thinking = &thinking{Type: "adaptive", Display: display}
	}
	if want.Effort != "" && want.Mode != provider.ModeOff {
		f.Output = &effort{string(want.Effort)}
	}
	return f
}

func novaThinks(want provider.Control) (f fields, clamped string) {
	switch want.Mode {
	case provider.ModeOff:
		return fields{Nova: &novaThink{Type: "disabled"}}, ""
	case provider.ModeBudget:
		return fields{Nova: &novaThink{"enabled", "medium"}}, fmt.Sprintf("a budget of %d tokens sent as medium, since there are none here", want.Budget)
	case provider.ModeOn:
		return fields{Nova: &novaThink{"enabled", "medium"}}, ""
	}
	word := string(want.Effort)
	if nova.takes(word) {
		return fields{Nova: &novaThink{"enabled", word}}, ""
	}
	near := "high"
	if want.Effort.Rank() < provider.Low.Rank() {
		near = "low"
	}
	return fields{Nova: &novaThink{"enabled", near}}, fmt.Sprintf("thinking level %s sent as %s, the vendor's nearest", word, near)
}

// word is the effort of a decision; empty: the model's own.
func word(want provider.Control) string {
	switch want.Mode {
	case provider.ModeOff:
		return "none"
	case provider.ModeEffort:
		return string(want.Effort)
	}
	return ""
}

// budgeted reports whether thinking has a budget, and how large it is.
func (f fields) budgeted() int {
	if f.Thinking == nil {
		return 0
	}
	return f.Thinking.Budget
}

// leastBudget is the smallest one of Claude's, in tokens (docs: extended-thinking).
const leastBudget = 1_024

// shrink keeps a budget for thinking below the limit on output, unless it is interleaved. The text says what changed.
func (f *fields) shrink(limit int) (changed string) {
	budget := f.budgeted()
	switch {
	case budget == 0 || limit == 0 || budget < limit || f.Betas != nil:
		return ""
	case limit <= leastBudget:
		f.Thinking, f.Output = &thinking{Type: "disabled"}, nil
		return fmt.Sprintf("thinking is off for this call: its limit on output of %d tokens leaves no budget", limit)
	}
	smaller := *f.Thinking
	smaller.Budget = max(leastBudget, limit/2)
	f.Thinking = &smaller
	return fmt.Sprintf("the budget for thinking was lowered from %d to %d tokens: the limit on output is %d", budget, smaller.Budget, limit)
}
