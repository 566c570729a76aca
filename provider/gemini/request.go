package gemini

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/replay"
	"github.com/thinkd/thinkd/provider/schema"
)

// Limits on output in tokens, where the request names none. The limit counts thoughts and answer together.
const answerRoom = 8_192 // beside a budget, where the row has no limit

// dynamic is the budget by which a model chooses for itself (docs: thinking).
const dynamic = -1

// call is a request in the vendor's words.
type call struct {
	model   string
	header  http.Header
	body    body
	notices []provider.Notice
}

type body struct {
	Contents     []content   `json:"contents"`
	System       *content    `json:"systemInstruction,omitempty"`
	Tools        []tools     `json:"tools,omitempty"`
	Generation   *generation `json:"generationConfig,omitempty"`
	Continuation string      `json:"continuationToken,omitempty"`
}

type generation struct {
	MaxOutputTokens int       `json:"maxOutputTokens,omitempty"`
	Temperature     *float64  `json:"temperature,omitempty"`
	TopP            *float64  `json:"topP,omitempty"`
	TopK            *int      `json:"topK,omitempty"`
	Thinking        *thinking `json:"thinkingConfig,omitempty"`
}

// thinking has a level or a budget: both in one request are refused (docs: thinking).
type thinking struct {
	Level   string `json:"thinkingLevel,omitempty"`
	Budget  *int   `json:"thinkingBudget,omitempty"`
	Include bool   `json:"includeThoughts,omitempty"`
}

type tools struct {
	Functions []function `json:"functionDeclarations"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

var numbered = regexp.MustCompile(`gemini-(\d+)`)

// generationOf is a model's generation by its name; 0: the name does not say.
func generationOf(model string) int {
	if m := numbered.FindStringSubmatch(model); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return n
		}
	}
	return 0
}

// generationFor is the generation of the model that is asked. A name without a number, as the aliases of the newest model
// have it, is judged by its row: up to the second models think by budget, since the third by level (docs: thinking).
func generationFor(row provider.Model) int {
	switch n := generationOf(row.Rules()); {
	case n > 0:
		return n
	case row.Thinking.Control == provider.ControlBudget:
		return 2
	case row.Thinking.Control == provider.ControlEffort, !row.Known && strings.Contains(row.ID, "gemini"):
		return 3
	}
	return 0
}

// leveled reports whether a model belongs to the generations that think by level and insist on their signatures.
func leveled(row provider.Model) bool { return generationFor(row) >= 3 }

// control turns the decision into the form that the model takes. clamped is a level that the vendor has no word for.
func control(req *provider.Request) (t *thinking, clamped provider.Level, err error) {
	want := req.Decision.Control
	if exchange.Withholds(req, wireAPI, "thinkingConfig") {
		return nil, "", nil
	}
	on := &thinking{Include: want.Display != provider.Omitted}
	switch want.Mode {
	case provider.ModeOmit, "":
		return nil, "", nil
	case provider.ModeOff:
		if req.Model.Thinking.Control == provider.ControlNone {
			return nil, "", nil
		}
		return &thinking{Budget: new(int)}, "", nil
	case provider.ModeOn:
		if !leveled(req.Model) && req.Model.Thinking.Control != provider.ControlAlways {
			budget := dynamic // without it the smallest model of the generation does not think
			on.Budget = &budget
		} else if !on.Include {
			return nil, "", nil
		}
		return on, "", nil
	case provider.ModeEffort:
		switch want.Effort {
		case provider.Minimal, provider.Low, provider.Medium, provider.High:
			on.Level = strings.ToUpper(string(want.Effort))
			return on, "", nil
		case provider.XHigh, provider.Max:
			on.Level = "HIGH"
			return on, want.Effort, nil
		}
		return nil, "", fmt.Errorf("decision on thinking: no word for the effort %q", want.Effort)
	case provider.ModeBudget:
		on.Budget = &want.Budget
		return on, "", nil
	}
	return nil, "", fmt.Errorf("decision on thinking: unknown mode %q", want.Mode)
}

// thinks reports whether a request says anything about thinking.
func thinks(req *provider.Request) bool {
	t, _, err := control(req)
	return err == nil && t != nil
}

func (a *API) build(req *provider.Request) (*call, error) {
	t, clamped, err := control(req)
	if err != nil {
		return nil, err
	}
	h := newHistory(req)
	contents, err := h.contents(req.Messages)
	if err != nil {
		return nil, err
	}
	out := &call{model: req.Model.ID, header: a.header()}
	g := &generation{MaxOutputTokens: a.caller.Fit(req, maxTokens(req)), Temperature: req.Temperature, TopP: req.TopP, TopK: req.TopK, Thinking: t}
	if left := stripSampling(req, g); len(left) > 0 {
		out.override(fmt.Sprintf("%s left out: %s does not take it", strings.Join(left, ", "), req.Model.ID))
	}
	if clamped != "" {
		out.override(fmt.Sprintf("thinking level %s sent as HIGH, the vendor's highest", clamped))
	}
	out.notices = append(out.notices, replay.OmittedMedia(req.Model, h.unseen)...)
	out.converted(h)
	out.body = body{Contents: contents}
	if *g != (generation{}) {
		out.body.Generation = g
	}
	if !replay.Blank(req.System) {
		out.body.System = &content{Parts: []any{part{Text: &req.System}}}
	}
	if len(req.Tools) > 0 {
		var list []function
		offered, reduced := schema.Tools(req.Tools, schema.Gemini(), req.Model.ID)
		out.notices = append(out.notices, reduced...)
		for _, t := range offered {
			list = append(list, function{t.Name, t.Description, t.Schema})
		}
		out.body.Tools = []tools{{list}}
	}
	return out, nil
}

// limit is the limit on output that is sent; 0: none.
func (c *call) limit() int {
	if c.body.Generation == nil {
		return 0
	}
	return c.body.Generation.MaxOutputTokens
}

func (c *call) override(text string) {
	c.notices = append(c.notices, provider.Notice{Kind: provider.NoticeOverride, Text: text})
}

// converted tells what became of earlier thinking.
func (c *call) converted(h *history) {
	if h.bypass && h.bypassed > 0 {
		c.notices = append(c.notices, provider.Notice{Kind: provider.NoticeRepaired,
			Text: "earlier tool calls are sent without their thought signatures, which the provider did not take"})
	}
	c.notices = append(c.notices, h.count.Notices()...)
}

// maxTokens bounds thoughts and answer together; 0 leaves it to the vendor.
func maxTokens(req *provider.Request) int {
	row, want := req.Model.MaxOutput, req.Decision.Control
	switch {
	case req.MaxTokens > 0:
		return req.MaxTokens
	case want.Mode == provider.ModeBudget && row > want.Budget:
		return min(want.Budget+exchange.OutputLimit, row)
	case want.Mode == provider.ModeBudget:
		return want.Budget + answerRoom
	}
	return min(row, exchange.OutputLimit)
}

// stripSampling takes out what the row says is not taken, and names it. A model of the newer generations without a row
// gets none: there it is ignored, may become an error, and a low temperature can make the model loop (docs:
// whats-new-gemini-3.6).
func stripSampling(req *provider.Request, g *generation) []string {
	want := req.Decision.Control
	on := want.Thinking() || want.Mode == provider.ModeOmit && req.Model.Thinking.OnByDefault()
	switch {
	case req.Model.Sampling == provider.SamplingNever:
	case req.Model.Sampling == provider.SamplingNotInThinking && on:
	case !req.Model.Known && leveled(req.Model):
	default:
		return nil
	}
	var left []string
	if g.Temperature != nil {
		g.Temperature, left = nil, append(left, "temperature")
	}
	if g.TopP != nil {
		g.TopP, left = nil, append(left, "top_p")
	}
	if g.TopK != nil {
		g.TopK, left = nil, append(left, "top_k")
	}
	return left
}

func (a *API) header() http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "text/event-stream")
	h.Set("User-Agent", "thinkd")
	switch key := a.caller.Key; { // never in the address, which is logged
	case key.IsZero():
	case a.cloud:
		h.Set("Authorization", "Bearer "+key.Reveal())
	default:
		h.Set("x-goog-api-key", key.Reveal())
	}
	return h
}
