package sim

import (
	"maps"
	"net/http"
	"slices"
	"sync"
)

// The journal keeps the newest requests and refusals: at most journalRequests of each, and bodies of at most journalBytes in
// total.
const (
	journalRequests = 10_000
	journalBytes    = 64 << 20
)

// Request is a request as it was received.
type Request struct {
	Method string
	Path   string // includes the query
	Header http.Header
	Body   []byte // nil if it was too large
	Status int    // of the answer; 0: none yet
	Prompt int    // tokens of the prompt, as the prompt cache counts them; 0: it did not count this request
	Cached CacheCount
}

// Refusal is a request that broke a rule. Scripted faults are not recorded as refusals.
type Refusal struct {
	Path    string
	Status  int
	Type    string // the vendor's word
	Message string
}

type journal struct {
	off bool

	mu       sync.Mutex
	requests []*Request
	refusals []Refusal
	bytes    int
}

func (j *journal) add(r *http.Request) *Request {
	e := &Request{Method: r.Method, Path: r.URL.RequestURI(), Header: maps.Clone(r.Header)}
	if j.off {
		return e
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.requests = append(j.requests, e)
	j.trimLocked()
	return e
}

func (j *journal) body(e *Request, b []byte) {
	if j.off {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Body = b
	j.bytes += len(b)
	j.trimLocked()
}

func (j *journal) answered(e *Request, status int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Status = status
}

func (j *journal) counted(e *Request, prompt int, n CacheCount) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e.Prompt, e.Cached = prompt, n
}

func (j *journal) refuse(r Refusal) {
	if j.off {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.refusals) == journalRequests {
		j.refusals = slices.Delete(j.refusals, 0, journalRequests/10)
	}
	j.refusals = append(j.refusals, r)
}

// trimLocked drops the oldest requests, but never the newest one. A body that arrives after its request was dropped stays
// in j.bytes for the life of the server. So the limit still holds, and the journal keeps fewer requests.
func (j *journal) trimLocked() {
	n := 0
	for len(j.requests)-n > 1 && (len(j.requests)-n > journalRequests || j.bytes > journalBytes) {
		j.bytes -= len(j.requests[n].Body)
		n++
	}
	j.requests = slices.Delete(j.requests, 0, n)
}
