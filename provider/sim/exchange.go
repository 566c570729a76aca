package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
)

// exchange is one request and its answer. Faces use it within the call of [Face.Serve] only.
//
// A request for an answer takes the same way in every API. The face reads it with [Check], which answers with a refusal
// if a rule is broken, and hands the rest to [exchange.answer]:
//
//	Check: body, limit -> the face's checks -> refusal
//	answer: marker -> script -> fault that is no answer -> scripted refusal -> Reply -> stream or whole
type exchange struct {
	r      *http.Request
	id     string // what the answer's request-id says
	server *Server
	w      *statusWriter
	face   Face
	entry  *Request
}

// header is the answer's header. It may be changed until the answer begins.
func (ex *exchange) header() http.Header { return ex.w.Header() }

// sealer signs and checks what clients have to send back.
func (ex *exchange) sealer() sealer { return ex.server.sealer }

// cache is the server's prompt cache.
func (ex *exchange) cache() *promptCache { return &ex.server.cache }

// now is the time by the server's clock.
func (ex *exchange) now() time.Time { return ex.server.config.Now() }

// wrongKey reports whether the server has a key and this is another one.
func (ex *exchange) wrongKey(key string) bool {
	return ex.server.config.Key != "" && key != ex.server.config.Key
}

// listed are the models that other faces add to a host's list.
func (ex *exchange) listed(host string) []map[string]any {
	list := []map[string]any{}
	for _, f := range faces() {
		if f.Listed != nil {
			list = append(list, f.Listed(host)...)
		}
	}
	return list
}

// account names the owner of a key without the key.
func account(key string) string {
	sum := sha256.Sum256([]byte("account of " + key))
	return hex.EncodeToString(sum[:8])
}

// Check reads the body of a request and checks it with read. If one of them fails, Check answers with the refusal and
// reports false.
func Check[C any](ex *exchange, d *Dialect, read func(body []byte) (C, error)) (C, bool) {
	var none C
	body, err := ex.body(d)
	if err != nil {
		ex.refuse(d, err)
		return none, false
	}
	call, err := read(body)
	if err != nil {
		ex.refuse(d, err)
		return none, false
	}
	return call, true
}

// body reads the request's body; an error is a refusal.
func (ex *exchange) body(d *Dialect) ([]byte, error) {
	large := d.TooLarge
	if large.Status == 0 {
		large = ex.face.Faults[FaultTooLarge]
	}
	if ex.r.ContentLength > d.Limit {
		return nil, &large
	}
	b, err := io.ReadAll(http.MaxBytesReader(ex.w, ex.r.Body, d.Limit))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, &large
	}
	if err != nil {
		return nil, &BodyError{err}
	}
	ex.server.journal.body(ex.entry, b)
	return b, nil
}

// refuse answers with a refusal of the server's own, as opposed to a scripted one, and notes it in the journal.
func (ex *exchange) refuse(d *Dialect, err error) {
	e := d.error(err)
	status, word, body := d.Spell(e, "")
	ex.server.journal.refuse(Refusal{Path: ex.r.URL.Path, Status: e.Status, Type: word, Message: e.Text})
	ex.server.config.Log.Info("refused", "status", e.Status, "type", word, "message", e.Text, "request", ex.id)
	ex.sendJSON(status, body)
}

// sendJSON answers with a status and a value as JSON.
func (ex *exchange) sendJSON(status int, v any) {
	ex.header().Set("Content-Type", "application/json")
	ex.w.WriteHeader(status)
	ex.w.Write(mustJSON(v)) // a client that has gone needs no answer
}

// mustJSON is v as JSON. The simulator builds v from strings, numbers and checked JSON.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// answer answers a request that has passed the checks.
func (ex *exchange) answer(d *Dialect, g Generation) {
	marked, prompt, err := marker(g.Ask.prompt)
	if err == nil && g.Takes != nil {
		err = g.Takes(marked)
	}
	if err != nil {
		ex.refuse(d, &MarkerError{err})
		return
	}
	a := ex.server.scripts.next(*ex.entry, marked, g.Account, g.Ask.prompt)
	g.Ask.prompt = prompt
	for name, values := range a.Head {
		ex.header()[http.CanonicalHeaderKey(name)] = values
	}
	p := ex.player(a)
	if ex.noAnswer(a, p) || ex.scripted(d, a, g.Stream) {
		return
	}
	if a.Fault == FaultGzip {
		defer ex.zipped(p)()
	}
	reply := g.Reply(a)
	if g.Stream && a.Fault != FaultWhole {
		ex.stream(d, p, reply.Stream(p))
	} else {
		ex.whole(d, p, reply)
	}
}

// scripted answers with a scripted error where that takes the place of the whole answer, and reports whether it did.
func (ex *exchange) scripted(d *Dialect, a Answer, streams bool) bool {
	fault := a.Fault
	switch {
	case fault.refuses() && (a.After == nil || !streams):
	case fault == FaultJSON:
		fault = FaultServer
	default:
		return false
	}
	if fault == FaultRateLimit && d.RetryAfter && ex.header().Get("Retry-After") == "" {
		ex.header().Set("Retry-After", "1")
	}
	e := ex.face.Faults[fault]
	status, _, body := d.Spell(&e, fault)
	if a.Fault == FaultJSON {
		status = http.StatusOK
	}
	ex.sendJSON(status, body)
	return true
}

// statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController flush.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
