package daemon

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/session"
)

// Images and sources of answers are kept over each wire API that has them, and the vendor takes the history with them.
// Sources land on the text that they refer to: also those that come when it has ended, before another text.
func TestAnswerMedia(t *testing.T) {
	pages := []sim.Page{{URL: "https://example.com/a", Title: "A", End: 5}, {URL: "https://example.com/b", Title: "B", Start: 6, End: 8}}
	unplaced := []sim.Page{{URL: "https://example.com/a", Title: "A"}, {URL: "https://example.com/b", Title: "B"}}
	first, second := sim.Part{Text: "Paris is large."}, sim.Part{Text: "That is all."}
	image := sim.Part{Kind: sim.Image}
	sources := func(pages []sim.Page) sim.Part { return sim.Part{Kind: sim.Sources, Pages: pages} }
	const a, b = "https://example.com/a 0 5", "https://example.com/b 6 8"
	const openA, openB = "https://example.com/a 0 0", "https://example.com/b 0 0"
	for _, row := range []struct {
		name  string
		parts []sim.Part
		want  map[string][]string // by wire API; "": of all others
	}{
		{"with its text", []sim.Part{first, sources(pages)}, map[string][]string{
			"messages": {"text Paris is large.", "https://example.com/a 0 15", "https://example.com/b 0 15"}, // the whole block is the place
			"ollama":   {"text Paris is large."}, "converse": {"text Paris is large."},
			"": {"text Paris is large.", a, b}}},
		{"behind an image", []sim.Part{first, image, sources(pages)}, map[string][]string{
			"messages": {"text Paris is large.", "https://example.com/a 0 15", "https://example.com/b 0 15"},
			"ollama":   {"text Paris is large."}, "converse": {"text Paris is large."},
			"chat":   {"text Paris is large.", a, b, "image/png"},
			"gemini": {"text Paris is large.", a, b, "image/png"},
			"":       {"text Paris is large.", a, b}}},
		{"before another text", []sim.Part{first, image, sources(pages), second}, map[string][]string{
			"messages":  {"text Paris is large.", "https://example.com/a 0 15", "https://example.com/b 0 15", "text That is all."},
			"responses": {"text Paris is large.", a, b, "text That is all."}, "cohere": {"text Paris is large.", a, b, "text That is all."},
			"ollama": {"text Paris is large.That is all."}, "converse": {"text Paris is large.", "text That is all."},
			"": {"text Paris is large.", a, b, "image/png", "text That is all."}}},
		{"without places", []sim.Part{first, image, sources(unplaced)}, map[string][]string{
			"messages":  {"text Paris is large.", "https://example.com/a 0 15", "https://example.com/b 0 15"},
			"responses": {"text Paris is large.", openA, openB},
			"cohere":    {"text Paris is large.", "https://example.com/a 0 15", "https://example.com/b 0 15"}, // a citation has a place
			"ollama":    {"text Paris is large."}, "converse": {"text Paris is large."},
			"": {"text Paris is large.", openA, openB, "image/png"}}},
		{"an image alone", []sim.Part{image}, map[string][]string{"chat": {"image/png"}, "gemini": {"image/png"}}},
	} {
		for _, api := range vendors.APIs {
			want, own := row.want[api.Name]
			if !own {
				want = row.want[""]
			}
			if want == nil {
				continue // an answer with nothing that the API can say
			}
			t.Run(row.name+"/"+api.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					vendor := sim.New(sim.Config{})
					vendor.Script(sim.Answer{Parts: row.parts})
					through := lineTo(t, vendor)
					c := newClockwork(t, api, through, 0)
					defer c.group.Close()
					if how := howEnded(c.prompt("Where? [[sim: pace=0]]")); how != "end_turn" {
						t.Fatal("ended with ", how)
					}
					if diff := cmp.Diff(want, c.shown()); diff != "" {
						t.Errorf("kept (-want +got):\n%s", diff)
					}
					if how := howEnded(c.prompt("And now? [[sim: pace=0]]")); how != "end_turn" {
						t.Error("the next turn ended with ", how)
					}
					if refused := vendor.Refusals(); len(refused) > 0 {
						t.Errorf("refused: %+v", refused)
					}
				})
			})
		}
	}
}

// shown is the text, the sources and the media of the last answer.
func (c *clockwork) shown() (list []string) {
	c.t.Helper()
	err := c.group.For(session.Operator).Do(c.t.Context(), c.session, func(a *agent.Agent) error {
		page, _, err := a.History(c.t.Context(), agent.Page{Limit: 10})
		if err != nil {
			return err
		}
		for _, p := range page[len(page)-1].Parts {
			switch b := p.Block.(type) {
			case provider.Text:
				list = append(list, "text "+b.Text)
				for _, s := range b.Sources {
					list = append(list, fmt.Sprintf("%s %d %d", s.URL, s.Start, s.End))
				}
			case provider.Media:
				list = append(list, b.Type)
			}
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return list
}
