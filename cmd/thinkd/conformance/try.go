package conformance

import (
	"context"
	"crypto/rand"

	"github.com/tidwall/gjson"
)

// A Check is one rule of the protocol.
type Check struct {
	Name string
	Part string // of protocol.md
	Rule string // as a sentence without a period
	run  func(*try)
}

// params are those of a request.
type params map[string]any

// A try is one run of a check.
type try struct {
	ctx   context.Context
	dial  Dial
	model string
	peers []*peer
}

// open opens a connection that ends with the try.
func (t *try) open() *peer {
	conn, err := t.dial(t.ctx)
	if err != nil {
		failf("cannot connect: %v", err)
	}
	p := newPeer(t.ctx, conn)
	t.peers = append(t.peers, p)
	return p
}

// session opens a connection with a new session. more are further params of session/new.
func (t *try) session(more params) (p *peer, id string) {
	p = t.open()
	p.call("initialize", params{"protocol_version": 1, "client": params{"name": "conformance"}, "capabilities": params{"tools": true, "confirm": true}})
	return p, t.create(p, more).Get("session_id").String()
}

func (t *try) create(p *peer, more params) gjson.Result {
	full := params{"model_id": t.model}
	for k, v := range more {
		full[k] = v
	}
	return p.call("session/new", full)
}

// prompt sends a prompt, and returns the id of its turn.
func prompt(p *peer, id, text string) string {
	return p.call("session/prompt", params{"session_id": id, "text": text}).Get("turn_id").String()
}

// end reads notifications up to the end of a turn.
func end(p *peer, turn string) gjson.Result {
	for {
		if e := p.note("turn_end"); e.Get("turn_id").String() == turn {
			return e
		}
	}
}

// What checks say to the simulator.
const (
	quick = "Which date is later? [[sim: thinking=20 text=10 pace=0]]"
	slow  = "Take your time. [[sim: thinking=3000 pace=20]]"
	call  = `Look it up. [[sim: tool=lookup args={"word":"date"} thinking=5 text=5 pace=0]]`
)

// equal fails unless two values are the same.
func equal[T comparable](what string, got, want T) {
	if got != want {
		failf("%s is %v, want %v", what, got, want)
	}
}

// must fails unless something holds.
func must(holds bool, format string, args ...any) {
	if !holds {
		failf(format, args...)
	}
}

// unique is a text that no other run has used.
func (t *try) unique() string { return rand.Text() }
