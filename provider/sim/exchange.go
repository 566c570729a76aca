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

// Exchange is one request and its answer. A face may use it only until [Face.Serve] returns, and only in the goroutine
// that called Serve.
//
// A request for an answer takes the same steps in every API. The face calls [Check], which answers with a refusal if the
// request breaks a rule. It passes the result to [Exchange.Answer]:
//
//	Check:  body, limit -> the face's checks -> refusal
//	Answer: marker -> script -> fault without an answer -> scripted refusal -> Reply -> stream or whole
type Exchange struct {
	Request *http.Request
	ID      string // the request id that the answer's header gives
	server  *Server
	w       *statusWriter
	faults  map[Fault]Error // of the face
	entry   *Request
}

// Header returns the answer's header. Changes have an effect until the answer begins.
func (ex *Exchange) Header() http.Header { return ex.w.Header() }

// Sealer returns the signer of the data that clients have to send back.
func (ex *Exchange) Sealer() Sealer { return ex.server.sealer }

// CountMarked counts the request in the server's prompt cache by Anthropic's rules: see [Cache.CountMarked]. The journal
// keeps the result.
func (ex *Exchange) CountMarked(p Prefixes, least int) CacheCount {
	return ex.counted(p, ex.server.cache.CountMarked(p, least))
}

// CountAtMarks counts the request in the server's prompt cache by Amazon's rules for Nova: see [Cache.CountAtMarks]. The journal
// keeps the result.
func (ex *Exchange) CountAtMarks(p Prefixes, least int) CacheCount {
	return ex.counted(p, ex.server.cache.CountAtMarks(p, least))
}

// CountAutomatic counts the request in the server's prompt cache by the rules of hosts without marks: see
// [Cache.CountAutomatic]. The journal keeps the result.
func (ex *Exchange) CountAutomatic(p Prefixes, least int) CacheCount {
	return ex.counted(p, ex.server.cache.CountAutomatic(p, least))
}

func (ex *Exchange) counted(p Prefixes, n CacheCount) CacheCount {
	ex.server.journal.counted(ex.entry, p.end().tokens, n)
	return n
}

// State returns what a face keeps of earlier requests to this server. The first call for a name sets it to fresh.
func (ex *Exchange) State(name string, fresh any) any {
	state, _ := ex.server.states.LoadOrStore(name, fresh)
	return state
}

// Now returns the time of the server's clock.
func (ex *Exchange) Now() time.Time { return ex.server.config.Now() }

// WrongKey reports whether the server accepts only one key and key is another one.
func (ex *Exchange) WrongKey(key string) bool {
	return ex.server.config.Key != "" && key != ex.server.config.Key
}

// Account returns an id for the owner of a key. It does not contain the key.
func Account(key string) string {
	sum := sha256.Sum256([]byte("account of " + key))
	return hex.EncodeToString(sum[:8])
}

// Check reads the body of a request and checks it with read. If one of them fails, Check answers with the refusal and
// returns false.
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

// body reads the request's body. Its error is the refusal to send.
func (ex *Exchange) body(d *Dialect) ([]byte, error) {
	large := d.TooLarge
	if large.Status == 0 {
		large = ex.faults[FaultTooLarge]
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

// Refuse answers with a refusal because the request broke a rule, and records it in the journal. Scripted refusals are
// sent by Answer and are not recorded.
func (ex *Exchange) Refuse(d *Dialect, err error) {
	e := d.error(err)
	status, word, body := d.Spell(e, "")
	ex.server.journal.refuse(Refusal{Path: ex.Request.URL.Path, Status: e.Status, Type: word, Message: e.Text})
	ex.server.config.Log.Info("refused", "status", e.Status, "type", word, "message", e.Text, "request", ex.ID)
	ex.SendJSON(status, body)
}

// SendJSON answers with a status and the JSON of v.
func (ex *Exchange) SendJSON(status int, v any) {
	ex.Header().Set("Content-Type", "application/json")
	ex.w.WriteHeader(status)
	ex.w.Write(JSON(v)) // an error means that the client has disconnected
}

// JSON returns v as JSON. It panics if v has none: the simulator builds v from strings, numbers and checked JSON.
func JSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// AppendEvent appends a server-sent event to b.
func AppendEvent(b []byte, name string, v any) []byte {
	b = append(b, "event: "...)
	b = append(b, name...)
	b = append(b, "\ndata: "...)
	b = append(b, JSON(v)...)
	return append(b, "\n\n"...)
}

// statusWriter keeps the status for the journal.
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
