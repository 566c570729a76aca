//go:build long && unix

package cluster

import (
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// history is what clients did in a session, and what they heard. Prompts and the title are checked each on its own: a history that is one of two
// independent things is one of both.
type history struct {
	session string

	mu      sync.Mutex
	prompts []porcupine.Operation
	titles  []porcupine.Operation
}

// did is a request, and got is the answer.
type did struct{ kind, text string }

type got struct{ outcome, text string }

// begin takes note of the time of a request. What it returns takes note of the answer.
func (h *history) begin(text string, epoch time.Time) func(client int, kind, outcome, heard string) {
	call := time.Since(epoch).Nanoseconds()
	return func(client int, kind, outcome, heard string) {
		if outcome == "unknown" && (kind == "state" || kind == "history") {
			return
		}
		o := porcupine.Operation{ClientId: client, Input: did{kind, text}, Output: got{outcome, heard}, Call: call, Return: time.Since(epoch).Nanoseconds()}
		if outcome == "unknown" { // it may come about at any time, or never
			o.Return = math.MaxInt64
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if kind != "title" && kind != "state" {
			h.prompts = append(h.prompts, o)
		}
		if kind != "prompt" && kind != "history" {
			h.titles = append(h.titles, o)
		}
	}
}

const firstTitle = "new"

// record is a session: one value, until it is deleted.
type record struct {
	value   string
	deleted bool
}

// step is the whole model of a session.
func (r record) step(in did, out got) (after []any) {
	with := r
	switch in.kind {
	case "prompt":
		with.value = strings.TrimSpace(r.value + " " + in.text)
	case "title":
		with.value = in.text
	case "delete":
		with = record{deleted: true}
	case "state", "history":
		if out.outcome == "ok" && !r.deleted && r.value == out.text || out.outcome == "gone" && r.deleted {
			return []any{r}
		}
		return nil
	}
	switch {
	case out.outcome == "gone" && !r.deleted, out.outcome == "ok" && r.deleted && in.kind != "delete":
		return nil
	case out.outcome == "gone", r.deleted:
		return []any{r}
	case out.outcome == "unknown":
		return []any{r, with}
	}
	return []any{with}
}

// check fails the test if no order of the requests explains the answers. It returns how many were checked.
func (h *history) check(t *testing.T) (checked int) {
	t.Helper()
	for name, ops := range map[string][]porcupine.Operation{"prompts": h.prompts, "titles": h.titles} {
		first := record{}
		if name == "titles" {
			first.value = firstTitle
		}
		model := &porcupine.NondeterministicModel{
			Init: func() []any { return []any{first} },
			Step: func(state, in, out any) []any { return state.(record).step(in.(did), out.(got)) },
		}
		unknown := 0
		for i := range ops {
			if ops[i].ClientId += i * 10000; ops[i].Return == math.MaxInt64 {
				unknown++
			}
		}
		result := porcupine.CheckOperationsTimeout(model.ToModel(), ops, time.Minute)
		switch result {
		case porcupine.Illegal:
			t.Errorf("session %s: no history explains its %s", h.session, name)
			for _, o := range ops {
				t.Logf("%v to %v: %+v %+v", time.Duration(o.Call), time.Duration(o.Return), o.Input, o.Output)
			}
		case porcupine.Unknown:
			t.Logf("session %s: its %s, %d requests of which %d had no result, were not checked within a minute", h.session, name, len(ops), unknown)
		default:
			checked += len(ops)
		}
	}
	return checked
}
