package providertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
)

// Fuzz reads any bytes as an answer to the requests of a suite's fixtures, in frames where the suite has some: the contract is kept, and what came can be
// sent back. The seeds are the fixtures' own answers, and those in more.
func Fuzz(f *testing.F, s Suite, more ...string) {
	var requests []*provider.Request
	for i, path := range s.paths(f) {
		fixture := load(f, path)
		requests = append(requests, fixture.request)
		f.Add(slices.Concat(fixture.section("stream"), fixture.section("answer")), fixture.whole, uint8(i))
	}
	for _, answer := range more {
		f.Add([]byte(answer), false, uint8(0))
	}
	f.Fuzz(func(t *testing.T, answer []byte, whole bool, which uint8) {
		kind := s.Type
		if whole {
			kind = "application/json"
		}
		req := *requests[int(which)%len(requests)]
		ask := func(answer []byte) Reply {
			if !whole {
				answer = s.wire(answer)
			}
			return Check(t, s.New(&wire{contentType: kind, answer: bytes.NewReader(answer)}).Stream(t.Context(), &req))
		}
		reply := ask(answer)
		DecodedAlike(t, reply, ask(Unlike(answer)))
		if reply.Stop == nil {
			return
		}
		req.Messages = append(slices.Clone(req.Messages), logged(t, reply),
			provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "And?"}}})
		if again := ask(answer); again.Err != nil {
			t.Errorf("what came cannot be sent back: %v", again.Err)
		}
	})
}

// DecodedAlike compares a reply with the reply to the same answer after [Unlike], in which every event is decoded in full.
func DecodedAlike(t testing.TB, reply, full Reply) {
	t.Helper()
	if diff := cmp.Diff(timeless(full), timeless(reply)); diff != "" {
		t.Errorf("events that are like the one before are read otherwise (-decoded in full +as they came):\n%s", diff)
	}
}

// minted is an id that an adapter made up, of crypto/rand's text.
var minted = regexp.MustCompile(`call_[A-Z2-7]{26}`)

// timeless is a reply in lines, without what depends on the clock or on chance, and without the words of an error, which
// may quote what came.
func timeless(r Reply) string {
	for i, ev := range r.Events {
		if end, ok := ev.(provider.End); ok {
			if b, ok := end.Block.(provider.Thinking); ok {
				b.Duration = 0
				r.Events[i] = provider.End{Index: end.Index, Block: b}
			}
		}
	}
	lines := minted.ReplaceAllString(Lines(r), "call_minted")
	if e, ok := errors.AsType[*provider.Error](r.Err); ok {
		lines, _, _ = strings.Cut(lines, "error kind=")
		lines += string(e.Kind)
	}
	return lines
}

// logged is a reply's message as it comes back from the log.
func logged(t *testing.T, reply Reply) provider.Message {
	data, err := json.Marshal(provider.Message{Role: provider.Assistant, Blocks: reply.Blocks, State: reply.Stop.State})
	if err != nil {
		t.Fatal(err)
	}
	var m provider.Message
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}
