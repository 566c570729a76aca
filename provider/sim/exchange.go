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

// Exchange is one request and its answer. Faces use it within the call of [Face.Serve] only.
//
// A request for an answer takes the same way in every API. The face reads it with [Check], which answers with a refusal
// if a rule is broken, and hands the rest to [exchange.answer]:
//
//	Check: body, limit -> the face's checks -> refusal
//	answer: marker -> script -> fault that is no answer -> scripted refusal -> Reply -> stream or whole
type Exchange struct {
	Request *http.Request
	ID      string // what the answer's request-id says
	server  *Server
	w       *statusWriter
	face    Face
	entry   *Request
}

// Header is the answer's header. It may be changed until the answer begins.
func (ex *Exchange) Header() http.Header { return ex.w.Header() }

// Sealer signs and checks what clients have to send back.
func (ex *Exchange) Sealer() Sealer { return ex.server.sealer }

// Cache is the server's prompt cache.
func (ex *Exchange) Cache() *Cache { return &ex.server.cache }

// Now is the time by the server's clock.
func (ex *Exchange) Now() time.Time { return ex.server.config.Now() }

// WrongKey reports whether the server has a key and this is another one.
func (ex *Exchange) WrongKey(key string) bool {
	return ex.server.config.Key != "" && key != ex.server.config.Key
}

// Listed are the models that other faces add to a host's list.
func (ex *Exchange) Listed(host string) []map[string]any {
	list := []map[string]any{}
	for _, f := range faces() {
		if f.Listed != nil {
			list = append(list, f.Listed(host)...)
		}
	}
	return list
}

// Account names the owner of a key without the key.
func Account(key string) string {
	sum := sha256.Sum256([]byte("account of " + key))
	return hex.EncodeToString(sum[:8])
}

// Check reads the body of a request and checks it with read. If one of them fails, Check answers with the refusal and
// reports false.
func Check[C any](ex *Exchange, d *Dialect, read func(body []byte) (C, error)) (C, bool) {
	var none C
	body, err := ex.body(d)
	if err != nil {
		ex.Refuse(d, err)
		return none, false
	}
	call, err := read(body)
	if err != nil {
		ex.Refuse(d, err)
		return none, false
	}
	return call, true
}

// body reads the request's body; an error is a refusal.
func (ex *Exchange) body(d *Dialect) ([]byte, error) {
	large := d.TooLarge
	if large.Status == 0 {
		large = ex.face.Faults[FaultTooLarge]
	}
	if ex.Request.ContentLength > d.Limit {
		return nil, &large
	}
	b, err := io.ReadAll(http.MaxBytesReader(ex.w, ex.Request.Body, d.Limit))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, &large
	}
	if err != nil {
		return nil, &BodyError{err}
	}
	ex.server.journal.body(ex.entry, b)
	return b, nil
}

// Refuse answers with a refusal of the server's own, as opposed to a scripted one, and notes it in the journal.
func (ex *Exchange) Refuse(d *Dialect, err error) {
	e := d.error(err)
	status, word, body := d.Spell(e, "")
	ex.server.journal.refuse(Refusal{Path: ex.Request.URL.Path, Status: e.Status, Type: word, Message: e.Text})
	ex.server.config.Log.Info("refused", "status", e.Status, "type", word, "message", e.Text, "request", ex.ID)
	ex.SendJSON(status, body)
}

// SendJSON answers with a status and a value as JSON.
func (ex *Exchange) SendJSON(status int, v any) {
	ex.Header().Set("Content-Type", "application/json")
	ex.w.WriteHeader(status)
	ex.w.Write(JSON(v)) // a client that has gone needs no answer
}

// JSON is v as JSON. The simulator builds v from strings, numbers and checked JSON.
func JSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// Answer answers a request that has passed the checks.
func (ex *Exchange) Answer(d *Dialect, g Generation) {
	marked, prompt, err := marker(g.Ask.Prompt)
	if err == nil && g.Takes != nil {
		err = g.Takes(marked)
	}
	if err != nil {
		ex.Refuse(d, &MarkerError{err})
		return
	}
	a := ex.server.scripts.next(*ex.entry, marked, g.Account, g.Ask.Prompt)
	g.Ask.Prompt = prompt
	for name, values := range a.Head {
		ex.Header()[http.CanonicalHeaderKey(name)] = values
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
func (ex *Exchange) scripted(d *Dialect, a Answer, streams bool) bool {
	fault := a.Fault
	switch {
	case fault.Refuses() && (a.After == nil || !streams):
	case fault == FaultJSON:
		fault = FaultServer
	default:
		return false
	}
	if fault == FaultRateLimit && d.RetryAfter && ex.Header().Get("Retry-After") == "" {
		ex.Header().Set("Retry-After", "1")
	}
	e := ex.face.Faults[fault]
	status, _, body := d.Spell(&e, fault)
	if a.Fault == FaultJSON {
		status = http.StatusOK
	}
	ex.SendJSON(status, body)
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
