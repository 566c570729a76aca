package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/provider/vendors"
)

var (
	ordersWanted = flag.Int("orders", 500, "how many streams TestStreamOrders makes, of all wire APIs together")
	ordersSeed   = flag.Uint64("orderseed", 0, "the seed of TestStreamOrders; 0: any")
)

// dealt is a recorded answer as its events.
type dealt struct {
	header http.Header
	events [][]byte
}

// lastWords is what the event that ends an answer has, by wire API; in any other order there is no end.
var lastWords = map[string][]string{
	"messages": {`"type":"message_stop"`, `"stop_reason":"`}, "responses": {`"type":"response.completed"`}, "chat": {"[DONE]", `"finish_reason":"`},
	"gemini": {`"finishReason"`}, "ollama": {`"done":true`}, "converse": {`"stopReason":"`}, "cohere": {`"finish_reason":"`},
}

// numbered says which APIs number the blocks of a reply, or the items: of these no event belongs to two.
var numbered = map[string]bool{"messages": true, "responses": true, "converse": true}

// deal records answers in which each word says what it is of: t of thinking, x of text, c of arguments, and of which one.
func deal(t *testing.T, api vendors.API) (list []dealt) {
	t.Helper()
	words := func(kind string) string { return strings.Repeat(kind+" ", 30) }
	call := func(n int) sim.Part {
		return sim.Part{Kind: sim.Call, Name: "read", ID: fmt.Sprintf("call%05d", n), Input: fmt.Appendf(nil, `{"path":"c%d"}`, n)}
	}
	for _, parts := range [][]sim.Part{
		{{Kind: sim.Thinking, Text: words("t1")}, {Kind: sim.Text, Text: words("x1")}},
		{{Kind: sim.Thinking, Text: words("t1")}, {Kind: sim.Text, Text: words("x1")}, call(1), call(2)},
		{{Kind: sim.Text, Text: words("x1")}, call(1)},
		{{Kind: sim.Thinking, Text: words("t1")}, {Kind: sim.Thinking, Text: words("t2")}, {Kind: sim.Text, Text: words("x1")}, {Kind: sim.Text, Text: words("x2")}},
	} {
		header, body, stops, err := played(t, api, sim.Answer{Parts: parts})
		if err != nil || stops != 1 {
			t.Fatalf("%s: %d stops, %v", api.Name, stops, err)
		}
		list = append(list, dealt{header, eventsOf(api.Name, body)})
	}
	return list
}

// shuffle makes some other stream of one: events are said twice, left out, moved, or come from another answer.
func shuffle(r *rand.Rand, events [][]byte, others []dealt) [][]byte {
	events = slices.Clone(events)
	for range 1 + r.IntN(6) {
		n := len(events)
		if n < 2 {
			break
		}
		i, j := r.IntN(n), r.IntN(n)
		switch r.IntN(8) {
		case 0: // twice, at once
			events = slices.Insert(events, i, events[i])
		case 1: // twice, some time
			events = slices.Insert(events, j, events[i])
		case 2:
			events = slices.Delete(events, i, i+1)
		case 3:
			k := min(i+1, n-1)
			events[i], events[k] = events[k], events[i]
		case 4: // moved
			event := events[i]
			events = slices.Delete(events, i, i+1)
			events = slices.Insert(events, min(j, len(events)), event)
		case 5:
			slices.Reverse(events[min(i, j) : max(i, j)+1])
		case 6:
			other := others[r.IntN(len(others))].events
			from := r.IntN(len(other))
			events = slices.Insert(events, i, other[from:from+r.IntN(len(other)-from)]...)
		case 7:
			if r.IntN(4) == 0 {
				r.Shuffle(n, func(a, b int) { events[a], events[b] = events[b], events[a] })
			}
		}
	}
	return events
}

func says(text []byte, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(text, []byte(w)) })
}

// mixed says which block has words of another, empty if none has.
func mixed(api string, blocks provider.Blocks) string {
	for i, b := range blocks {
		var text, kind string
		switch b := b.(type) {
		case provider.Thinking:
			text, kind = b.Text, "t"
		case provider.Text:
			text, kind = b.Text, "x"
		case provider.ToolCall:
			if b.Invalid == "" && !json.Valid(b.Input) {
				return fmt.Sprintf("call %d has the arguments %q", i, b.Input)
			}
			continue
		}
		first := ""
		for word := range strings.FieldsSeq(text) {
			if first == "" {
				first = word
			}
			if !strings.HasPrefix(word, kind) || numbered[api] && word != first && len(word) == len(first) {
				return fmt.Sprintf("block %d of %s has the words %q", i, provider.KindOf(b), text)
			}
		}
	}
	return ""
}

// Whatever the order of an answer's events, with some said twice and some left out or from elsewhere: no panic, each
// block ends once with all that it grew by and with no word of another, and no answer without its last event is whole.
func TestStreamOrders(t *testing.T) {
	seed := *ordersSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-orderseed %d", seed)
	for _, api := range vendors.APIs {
		t.Run(api.Name, func(t *testing.T) {
			t.Parallel()
			answers := deal(t, api)
			whole, failed := 0, 0
			for n := range *ordersWanted / len(vendors.APIs) {
				r := rand.New(rand.NewPCG(seed, uint64(n)))
				base := answers[r.IntN(len(answers))]
				events := shuffle(r, base.events, answers)
				if r.IntN(3) == 0 {
					events = slices.DeleteFunc(events, func(event []byte) bool { return says(event, lastWords[api.Name]) })
				}
				body := bytes.Join(events, nil)
				reply, err := follow(api, base.header, body)
				wrong := ""
				switch e, ok := errors.AsType[*provider.Error](reply.Err); {
				case err != nil:
					wrong = err.Error()
				case reply.Err != nil && !ok:
					wrong = fmt.Sprintf("an error of type %T", reply.Err)
				case reply.Err == nil && !says(body, lastWords[api.Name]):
					wrong = "a success without the last event"
				case ok && (e.Kind == provider.KindAuth || e.Kind == provider.KindQuota):
					wrong = fmt.Sprint("nobody said ", e.Kind)
				default:
					wrong = mixed(api.Name, reply.Blocks)
				}
				if wrong != "" {
					t.Fatalf("-orderseed %d, stream %d: %s\n%s\n%s", seed, n, wrong, testgo.Excerpt(body), testgo.Excerpt(providertest.Lines(reply)))
				}
				if whole++; reply.Err != nil {
					whole--
					failed++
				}
			}
			if whole == 0 || failed == 0 {
				t.Errorf("%d came to an end, %d failed", whole, failed)
			}
			t.Logf("ok   %-10s %d streams: %d came to an end, %d are errors", api.Name, whole+failed, whole, failed)
		})
	}
}

// follow is what an adapter makes of an answer, and how it broke its contract.
func follow(api vendors.API, header http.Header, body []byte) (reply providertest.Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	p, req, err := caller(api, answered(200, header, body, nil))
	if err != nil {
		return reply, err
	}
	return providertest.Collect(p.Stream(context.Background(), req))
}
