package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
)

// recordedStream is what a recording says about its answer.
type recordedStream struct {
	ID       string `json:"id"`
	Response struct {
		Status int `json:"status"`
	} `json:"response"`
	Expected struct {
		Thinking  string `json:"thinking_text"`
		Text      string `json:"text"`
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"tool_calls"`
		Blocks []struct {
			Type   string `json:"type"`
			Length int    `json:"length"`
		} `json:"blocks"`
		Complete *bool `json:"complete"`
	} `json:"expected"`
}

// recordedWords bounds each text of a recording: a turn has an event for each few words.
const recordedWords = 12

// words are the first words of a text. Each gets the number of its block, so that it can be told from the words of all others.
func (r recordedStream) words(text string, block int) string {
	var list []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(list) == recordedWords {
			break
		}
		runes := []rune(word)
		list = append(list, fmt.Sprintf("%s%dx%d", string(runes[:min(len(runes), 12)]), block, len(list)))
	}
	return strings.Join(list, " ")
}

var recordedName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// shape is the recorded answer as a turn: its blocks in their order, and another answer if it calls tools. Nil: it has no blocks.
func (r recordedStream) shape() [][]sim.Part {
	x := r.Expected
	thinking, said, calls := []rune(x.Thinking), []rune(x.Text), x.ToolCalls
	take := func(from *[]rune, n int) string {
		n = min(n, len(*from))
		text := string((*from)[:n])
		*from = (*from)[n:]
		return text
	}
	var parts []sim.Part
	called, spoke := false, false
	for i, b := range x.Blocks {
		switch b.Type {
		case "thinking":
			if words := r.words(take(&thinking, b.Length), i); words != "" {
				parts = append(parts, sim.Part{Kind: sim.Thinking, Text: words})
			}
		case "redacted_thinking":
			parts = append(parts, sim.Part{Kind: sim.Redacted, Text: "withheld"})
		case "text":
			if words := r.words(take(&said, b.Length), i); words != "" {
				parts, spoke = append(parts, sim.Part{Kind: sim.Text, Text: words}), true
			}
		case "tool_call":
			if len(calls) == 0 {
				continue
			}
			name, input := "look", map[string]any{}
			if recordedName.MatchString(calls[0].Name) {
				name = calls[0].Name
			}
			if len(calls[0].Arguments) > 2000 || json.Unmarshal(calls[0].Arguments, &input) != nil || input == nil {
				input = map[string]any{}
			}
			input["at"] = fmt.Sprint("place ", i)
			data, err := json.Marshal(input)
			if err != nil {
				continue
			}
			parts, calls, called = append(parts, sim.Part{Kind: sim.Call, Name: name, Input: data}), calls[1:], true
		}
	}
	if len(parts) > 0 && !called && !spoke {
		parts = append(parts, sim.Part{Kind: sim.Text, Text: "November oscar."}) // an answer that says nothing is asked for again
	}
	switch {
	case len(parts) == 0:
		return nil
	case called:
		return [][]sim.Part{parts, {{Kind: sim.Text, Text: "Hotel india juliett."}}}
	}
	return [][]sim.Part{parts}
}

// TestContinueRecordedStreams does the same with answers that vendors gave. The simulators give them again, because only they can judge
// what comes back: a recorded signature is one of a vendor's. Texts are shortened.
func TestContinueRecordedStreams(t *testing.T) {
	dir := os.Getenv("THINKD_RECORDINGS")
	if dir == "" {
		t.Skip("needs: recordings, in the folder that THINKD_RECORDINGS names")
	}
	catalog := registry.Default()
	of := map[string]string{"messages": "anthropic-messages", "responses": "openai-responses", "chat": "openai-chat", "gemini": "gemini", "ollama": "ollama", "converse": "bedrock-converse", "cohere": "cohere-chat"}
	places, files := map[string][]placed{}, map[string][]string{}
	for api, name := range of {
		for _, s := range append([]seat{{model: "claude-budget", level: provider.Off}}, seats...) {
			if p := s.place(t, catalog); p.row.API == api && p.row.Tools {
				places[api] = append(places[api], p)
			}
		}
		var err error
		if files[api], err = filepath.Glob(filepath.Join(dir, "cases", name, "*.json")); err != nil || len(files[api]) == 0 {
			t.Fatalf("no recordings of %s: %v", name, err)
		}
	}
	figures := cutFigures{actions: make(map[provider.ContinueAction]int), apis: make(map[string]int)}
	for left := true; left && figures.streams < *cutStreams; {
		left = false
		for _, api := range []string{"messages", "responses", "chat", "gemini", "ollama", "converse", "cohere"} {
			if len(files[api]) == 0 || figures.streams == *cutStreams {
				continue
			}
			left = true
			data, err := os.ReadFile(files[api][0])
			if err != nil {
				t.Fatal(err)
			}
			files[api] = files[api][1:]
			var r recordedStream
			if err := json.Unmarshal(data, &r); err != nil {
				t.Fatal(err)
			}
			if shape := r.shape(); r.Response.Status == 200 && (r.Expected.Complete == nil || *r.Expected.Complete) && shape != nil {
				figures.each(t, places[api][figures.apis[api]%len(places[api])], r.ID, shape)
			}
		}
	}
	figures.log(t, "recorded streams")
}
