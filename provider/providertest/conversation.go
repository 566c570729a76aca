package providertest

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
)

// Simulated serves a simulator in memory until the end of the test. The client reaches it under every address.
func Simulated(t testing.TB, s *sim.Server) *http.Client {
	t.Helper()
	listener := s.Listen()
	t.Cleanup(func() {
		if err := listener.Close(); err != nil {
			t.Error(err)
		}
	})
	return &http.Client{Transport: listener.Transport()}
}

// User is a prompt of one text.
func User(text string) provider.Message {
	return provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: text}}}
}

// ReadTool is the tool that the simulator calls for the marker tool=read.
var ReadTool = []provider.Tool{{Name: "read", Description: "read a file"}}

// Turn adds a prompt to the messages of req, and calls the model until it calls no tool any more. Each tool call gets the same
// result. Turn returns the messages with all that was added. More than six calls, or one that fails, end the test.
func Turn(t testing.TB, p provider.Provider, req provider.Request, prompt string) []provider.Message {
	t.Helper()
	req.Messages = append(req.Messages, User(prompt))
	for range 6 {
		reply := Check(t, p.Stream(t.Context(), &req))
		if reply.Err != nil {
			t.Fatalf("%q, after %d messages: %v", prompt, len(req.Messages), reply.Err)
		}
		req.Messages = append(req.Messages, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks})
		if reply.Stop.Reason != provider.StopToolUse {
			return req.Messages
		}
		req.Messages = append(req.Messages, Results(reply.Blocks, "package a"))
	}
	t.Fatalf("%q: the model calls tools without end", prompt)
	return nil
}

// Signed counts the blocks of thinking that a vendor has signed.
func Signed(messages []provider.Message) (n int) {
	for _, m := range messages {
		for _, b := range m.Blocks {
			if thought, ok := b.(provider.Thinking); ok && thought.Signed {
				n++
			}
		}
	}
	return n
}

// Faults makes req with a fault of the simulator in its prompt, for each of them, and checks the kind of the error. Only a fault
// with after=N has events before the error. The keys are markers without the brackets.
func Faults(t testing.TB, p provider.Provider, req provider.Request, kinds map[string]provider.Kind) {
	t.Helper()
	for marker, kind := range kinds {
		reply := marked(t, p, req, marker)
		e, ok := errors.AsType[*provider.Error](reply.Err)
		if !ok || e.Kind != kind {
			t.Errorf("%s: error %v, want one of kind %s", marker, reply.Err, kind)
		}
		if later := strings.Contains(marker, "after"); later != (len(reply.Events) > 0) {
			t.Errorf("%s: %d events before the error", marker, len(reply.Events))
		}
	}
}

// Stops makes req with a marker of the simulator in its prompt, for each of them, and checks how the answer stops. The keys are
// those of [Faults].
func Stops(t testing.TB, p provider.Provider, req provider.Request, reasons map[string]provider.StopReason) {
	t.Helper()
	for marker, want := range reasons {
		if reply := marked(t, p, req, marker); reply.Err != nil || reply.Stop.Reason != want {
			t.Errorf("%s: stop %+v, error %v, want %s", marker, reply.Stop, reply.Err, want)
		}
	}
}

func marked(t testing.TB, p provider.Provider, req provider.Request, marker string) Reply {
	t.Helper()
	req.Messages = []provider.Message{User("Hi [[sim: " + marker + "]]")}
	return Check(t, p.Stream(t.Context(), &req))
}
