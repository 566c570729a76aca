package daemon

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/vendors"
)

// A complete answer in an unusual shape is the same answer: without its last event, labelled as JSON behind blank lines,
// or with a tool call whose id changes from piece to piece.
func TestUnusualAnswers(t *testing.T) {
	for _, api := range vendors.APIs {
		t.Run(api.Name, func(t *testing.T) {
			want := unusualAnswer(t, api, "")
			if len(want) != 4 {
				t.Fatalf("%d blocks in the usual answer, want thinking, text and two calls: %v", len(want), want)
			}
			for _, shape := range []sim.Fault{sim.FaultNoLastEvent, sim.FaultMislabelled, sim.FaultCallIDs} {
				if diff := cmp.Diff(want, unusualAnswer(t, api, shape)); diff != "" {
					t.Errorf("%s (-usual +unusual):\n%s", shape, diff)
				}
			}
		})
	}
}

// The word null in the place of a call's arguments means none.
func TestNullArguments(t *testing.T) {
	for _, api := range vendors.APIs {
		t.Run(api.Name, func(t *testing.T) {
			s := sim.New(sim.Config{})
			s.Script(sim.Answer{Parts: []sim.Part{{Kind: sim.Call, Name: "list", Input: []byte("null")}}})
			l := s.Listen()
			defer l.Close()
			p, req, err := caller(api, l.Transport())
			if err != nil {
				t.Fatal(err)
			}
			reply := providertest.Check(t, p.Stream(t.Context(), req))
			if len(reply.Blocks) == 0 {
				t.Fatalf("no call: %v", reply.Err)
			}
			call, ok := reply.Blocks[len(reply.Blocks)-1].(provider.ToolCall)
			if !ok || string(call.Input) != "{}" || call.Invalid != "" {
				t.Errorf("got %+v, want a call with the input {}", reply.Blocks)
			}
		})
	}
}

// unusualAnswer is what an adapter reads of one answer in a shape, in blocks that can be compared.
func unusualAnswer(t *testing.T, api vendors.API, shape sim.Fault) []string {
	t.Helper()
	s := sim.New(sim.Config{})
	s.Script(sim.Answer{Fault: shape, Parts: []sim.Part{
		{Kind: sim.Thinking, Text: "Which of the two files is meant?"},
		{Kind: sim.Text, Text: "I look at both files."},
		{Kind: sim.Call, Name: "read", Input: []byte(`{"path":"first.txt","lines":[1,2,3,4,5,6,7,8,9,10]}`)},
		{Kind: sim.Call, Name: "read", Input: []byte(`{"path":"second.txt","lines":[1,2,3,4,5,6,7,8,9,10]}`)},
	}})
	l := s.Listen()
	defer l.Close()
	p, req, err := caller(api, l.Transport())
	if err != nil {
		t.Fatal(err)
	}
	reply := providertest.Check(t, p.Stream(t.Context(), req))
	if reply.Err != nil || reply.Stop.Reason != provider.StopToolUse {
		t.Errorf("%s: ends in %+v, %v; want tool_use", shape, reply.Stop, reply.Err)
	}
	var blocks []string
	for _, b := range reply.Blocks {
		switch b := b.(type) {
		case provider.Text:
			blocks = append(blocks, "text "+b.Text)
		case provider.Thinking:
			blocks = append(blocks, "thinking "+b.Text)
		case provider.ToolCall:
			blocks = append(blocks, "call "+b.Name+" "+string(b.Input)+b.Invalid)
		}
	}
	return blocks
}
