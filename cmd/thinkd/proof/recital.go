package proof

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
)

// Tally counts where the kills fell: a test whose kills all fall between turns shows nothing.
type Tally struct {
	kills, starting, thinking, text, judged, slow atomic.Int64
}

func (s *Tally) Report(t *testing.T) {
	t.Logf("%d kills: %d while starting; blocks open: %d of thinking, %d of text; %d of them older than a second; %d not judged, since commits took too long",
		s.kills.Load(), s.starting.Load(), s.thinking.Load(), s.text.Load(), s.judged.Load(), s.slow.Load())
	if t.Failed() || s.kills.Load() < 100 {
		return
	}
	for what, n := range map[string]int64{"starting": s.starting.Load(), "in thinking": s.thinking.Load(), "in text": s.text.Load(), "in old blocks": s.judged.Load() + s.slow.Load()} {
		if n == 0 {
			t.Errorf("no kill fell %s", what)
		}
	}
}

// Recital is the order in a prompt: an answer of which each word is known beforehand, so that a text that is cut,
// doubled or out of order shows.
type Recital struct {
	Tag                     string
	Thinking, Blocks, Words int
	Pace                    float64
}

func (r Recital) Prompt() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(b)
}

// Block is the text of a block of the answer.
func (r Recital) Block(n int) string {
	words := r.Thinking
	if n == r.Blocks {
		words = r.Words
	}
	start := fmt.Sprintf("%s.%d.", r.Tag, n)
	var b []byte
	for i := range words {
		b = append(strconv.AppendInt(append(b, start...), int64(i), 10), ' ')
	}
	return string(b)
}

// Recite answers with the recital that the last prompt asks for. It is the simulator's ScriptFunc.
func Recite(req sim.Request) *sim.Answer {
	var body struct {
		Messages []struct {
			Content []struct{ Text string }
		}
	}
	if json.Unmarshal(req.Body, &body) != nil || len(body.Messages) == 0 {
		return nil
	}
	r, ok := readRecital(body.Messages[len(body.Messages)-1].Content[0].Text)
	if !ok {
		return nil
	}
	a := &sim.Answer{Pace: r.Pace}
	for n := range r.Blocks {
		a.Parts = append(a.Parts, sim.Part{Kind: sim.Thinking, Text: r.Block(n)})
	}
	a.Parts = append(a.Parts, sim.Part{Kind: sim.Text, Text: r.Block(r.Blocks)})
	return a
}

func readRecital(prompt string) (r Recital, ok bool) {
	return r, json.Unmarshal([]byte(prompt), &r) == nil && r.Tag != ""
}
