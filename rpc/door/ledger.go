package door

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/rpc/conn"
)

// ledger is what a door has to know of the messages that pass: which requests have no answer yet, what the client said of
// itself, and up to where it has followed which session, and whether it watches the list. It reads a client's message exactly as the daemon does
// (conn.Parse), so that both agree on what will be answered, and how.
type ledger struct {
	mu       sync.Mutex
	alone    map[string][]request // requests in flight by id, as sent; more than one where the client uses an id twice
	batches  [][]request          // in flight, in the order sent, which is the order of their answers
	dialect  *dialect
	hello    json.RawMessage     // params of the initialize that was answered
	followed map[string]*session // by id
	watches  bool                // the client is subscribed to the list of sessions
	none     chan struct{}       // closed when no request is in flight; nil: nobody waits
}

// idle returns what is closed when no request is in flight. One goroutine waits.
func (l *ledger) idle() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.none = make(chan struct{})
	none := l.none
	l.notice()
	return none
}

// notice is called with mu held when a request has its answer.
func (l *ledger) notice() {
	if l.none != nil && len(l.alone) == 0 && len(l.batches) == 0 {
		close(l.none)
		l.none = nil
	}
}

// session is what is known of a session that the client follows.
type session struct {
	seq uint64          // natively: the last that passed
	dir json.RawMessage // in ACP: where the session is
}

// request is a request as far as its answer matters.
type request struct {
	id      string // as sent; empty: it cannot be read, and is answered with null
	method  string
	params  json.RawMessage // of a method whose params matter
	session string          // that the params name
	refused *conn.Error     // the answer that any daemon gives
}

func newLedger(d *dialect) *ledger {
	return &ledger{dialect: d, alone: make(map[string][]request), followed: make(map[string]*session)}
}

// dialect is what a door has to understand of a protocol.
type dialect struct {
	protocol string                                     // its name in Params
	failure  func(*conn.Error) *conn.Error              // an error as the protocol has it
	counts   bool                                       // notifications have numbers, from which a client may go on
	sent     func(a *request, params json.RawMessage)   // keeps of a request what matters
	answered func(l *ledger, a request, r gjson.Result) // a request went well
	again    func(l *ledger) []repeated                 // what a new daemon gets besides initialize
	stale    func(l *ledger) [][]byte                   // what the client gets when there is a new daemon
}

type repeated struct {
	method string
	params any
}

var nativeDialect = &dialect{
	failure: func(e *conn.Error) *conn.Error { return e },
	counts:  true,
	sent: func(a *request, params json.RawMessage) {
		switch a.method {
		case "session/attach", "session/detach", "session/delete":
			a.session = gjson.GetBytes(params, "session_id").String()
		}
	},
	answered: func(l *ledger, a request, r gjson.Result) {
		switch a.method {
		case "session/new":
			if id := r.Get("session_id").String(); l.followed[id] == nil { // else it was sent again, and the client goes on
				l.followed[id] = &session{seq: r.Get("seq").Uint()}
			}
		case "session/attach":
			l.followed[a.session] = &session{seq: r.Get("seq").Uint()}
		case "session/detach", "session/delete":
			delete(l.followed, a.session)
		case "session/watch":
			l.watches = true
		case "session/unwatch":
			l.watches = false
		}
	},
	again: func(*ledger) []repeated { return nil },
	stale: func(l *ledger) [][]byte { return l.stale() },
}

// acpDialect resumes the sessions that a client had. It has no word for updates that were missed.
var acpDialect = &dialect{
	protocol: ProtocolACP,
	failure:  ACPError,
	sent: func(a *request, params json.RawMessage) {
		switch a.method {
		case "session/new", "session/load", "session/resume", "session/close", "session/delete":
			a.session = gjson.GetBytes(params, "sessionId").String()
			a.params = json.RawMessage(gjson.GetBytes(params, "cwd").Raw)
		}
	},
	answered: func(l *ledger, a request, r gjson.Result) {
		switch a.method {
		case "session/new":
			l.followed[r.Get("sessionId").String()] = &session{dir: a.params}
		case "session/load", "session/resume":
			l.followed[a.session] = &session{dir: a.params}
		case "session/close", "session/delete":
			delete(l.followed, a.session)
		}
	},
	again: func(l *ledger) []repeated {
		var list []repeated
		for _, id := range slices.Sorted(maps.Keys(l.followed)) {
			list = append(list, repeated{"session/resume", map[string]any{"sessionId": id, "cwd": l.followed[id].dir}})
		}
		return list
	},
	stale: func(*ledger) [][]byte { return nil },
}

// sent enters a message of the client.
func (l *ledger) sent(frame []byte) {
	messages, isBatch, refused := conn.Parse(frame)
	if refused != nil {
		return // its answer has no id, so no request waits for it
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []request
	for _, m := range messages {
		if a, ok := l.newRequest(m); ok {
			all = append(all, a)
		}
	}
	switch {
	case len(all) == 0:
	case isBatch:
		l.batches = append(l.batches, all)
	case all[0].id != "":
		l.alone[all[0].id] = append(l.alone[all[0].id], all[0])
	}
}

// newRequest is false for what gets no answer.
func (l *ledger) newRequest(m conn.Message) (request, bool) {
	a := request{id: m.ID, method: m.Method, refused: m.Refused}
	if m.Refused != nil {
		return a, true
	}
	if m.Method == "initialize" {
		if a.params = bytes.Clone(m.Params); a.params == nil {
			a.params = json.RawMessage("{}")
		}
	} else {
		l.dialect.sent(&a, m.Params)
	}
	return a, m.ID != ""
}

// notificationStart begins the notifications of this protocol (see rpc/wire). Each delta passes here, and is not
// worth more than a look.
var notificationStart = []byte(`{"jsonrpc":"2.0","method":"`)

// received enters a message of the daemon.
func (l *ledger) received(frame []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.notice()
	switch {
	case bytes.HasPrefix(frame, notificationStart):
		l.notified(frame)
	case frame[0] == '[':
		if len(l.batches) == 0 {
			return
		}
		all := l.batches[0]
		l.batches = l.batches[1:]
		answers := gjson.ParseBytes(frame).Array()
		for i := 0; i < len(all) && i < len(answers); i++ {
			l.answered(all[i], answers[i].Get("result"))
		}
	default:
		id := gjson.GetBytes(frame, "id").Raw
		list := l.alone[id]
		if len(list) == 0 {
			return
		}
		result := gjson.GetBytes(frame, "result")
		which := 0
		if !result.Exists() {
			which = len(list) - 1 // an id used twice is refused at once, before the first one's answer
		}
		a := list[which]
		if list = slices.Delete(list, which, which+1); len(list) > 0 {
			l.alone[id] = list
		} else {
			delete(l.alone, id)
		}
		l.answered(a, result)
	}
}

func (l *ledger) answered(a request, result gjson.Result) {
	if !result.Exists() {
		return
	}
	if a.method == "initialize" {
		l.hello = a.params
		return
	}
	l.dialect.answered(l, a, result)
}

// notified counts a notification. After stale the session stays: if the daemon goes before the client has attached
// again, it must get stale again. The members that are read stand before the text of a delta, which is not scanned.
func (l *ledger) notified(frame []byte) {
	if !l.dialect.counts {
		return
	}
	id := gjson.GetBytes(frame, "params.session_id").Str
	f, ok := l.followed[id]
	if !ok {
		return
	}
	if n := gjson.GetBytes(frame, "params.seq"); n.Exists() {
		f.seq = n.Uint()
	}
	if bytes.HasPrefix(frame[len(notificationStart):], []byte(`session_update"`)) && gjson.GetBytes(frame, "params.deleted").Bool() {
		delete(l.followed, id)
	}
}

// errUnanswered is the response to requests that a daemon did not answer before it ended, or that reached none.
var errUnanswered = &conn.Error{Code: conn.CodeClosing, Message: "the daemon has ended; whether it did this is not known", Unknown: true}

// settle is the answer to everything in flight, which is forgotten.
func (l *ledger) settle() ([][]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var messages [][]byte
	for _, id := range slices.Sorted(maps.Keys(l.alone)) {
		for _, a := range l.alone[id] {
			m, err := conn.EncodeFailure(id, l.dialect.failure(a.lost()))
			if err != nil {
				return nil, err
			}
			messages = append(messages, m)
		}
	}
	for _, all := range l.batches {
		array := []byte{'['}
		for i, a := range all {
			if i > 0 {
				array = append(array, ',')
			}
			m, err := conn.EncodeFailure(a.id, l.dialect.failure(a.lost()))
			if err != nil {
				return nil, err
			}
			array = append(array, m...)
		}
		messages = append(messages, append(array, ']'))
	}
	clear(l.alone)
	l.batches = nil
	return messages, nil
}

// lost is the answer to a request whose daemon went.
func (a request) lost() *conn.Error {
	if a.refused != nil {
		return a.refused
	}
	return errUnanswered
}

// introduction is what a new daemon gets, to know this client.
func (l *ledger) introduction() (list []repeated) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hello != nil {
		list = append(list, repeated{"initialize", l.hello})
	}
	return append(list, l.dialect.again(l)...)
}

// stale is a notification for each session that the client follows, and for the list.
func (l *ledger) stale() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	var messages [][]byte
	for _, id := range slices.Sorted(maps.Keys(l.followed)) {
		messages = append(messages, Stale(id, l.followed[id].seq))
	}
	if l.watches {
		messages = append(messages, ListStale())
	}
	return messages
}
