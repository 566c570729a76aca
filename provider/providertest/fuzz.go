package providertest

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/thinkd/thinkd/provider"
)

// Fuzz reads any bytes as an answer to the requests of a suite's fixtures: the contract is kept, and what came can be
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
		ask := func() Reply {
			return Check(t, s.New(&wire{contentType: kind, answer: bytes.NewReader(answer)}).Stream(t.Context(), &req))
		}
		reply := ask()
		if reply.Stop == nil {
			return
		}
		req.Messages = append(slices.Clone(req.Messages), logged(t, reply),
			provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "And?"}}})
		if again := ask(); again.Err != nil {
			t.Errorf("what came cannot be sent back: %v", again.Err)
		}
	})
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
