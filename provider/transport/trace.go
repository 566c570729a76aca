package transport

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"
)

// Step is a part of making a connection, in order.
type Step string

const (
	StepDNS     Step = "DNS"
	StepConnect Step = "connection"
	StepTLS     Step = "TLS"
	StepAnswer  Step = "answer" // the request was sent, and the head of the answer came
)

// A Passed step went well, or failed with Err.
type Passed struct {
	Step Step
	Text string // what it found, for people: addresses, the version of TLS, the protocol
	Took time.Duration
	Err  error
}

// A Trace notes how far an exchange came. It is safe for concurrent use; its zero value is ready.
type Trace struct {
	mu    sync.Mutex
	steps []Passed
	begun map[Step]time.Time
}

// Attach returns a context whose exchanges are noted.
func (t *Trace) Attach(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { t.begin(StepDNS) },
		DNSDone: func(d httptrace.DNSDoneInfo) {
			var all []string
			for _, a := range d.Addrs {
				all = append(all, a.String())
			}
			t.end(StepDNS, strings.Join(all, ", "), d.Err)
		},
		ConnectStart:      func(string, string) { t.begin(StepConnect) },
		ConnectDone:       func(_, addr string, err error) { t.end(StepConnect, addr, err) },
		TLSHandshakeStart: func() { t.begin(StepTLS) },
		TLSHandshakeDone: func(s tls.ConnectionState, err error) {
			text := tls.VersionName(s.Version)
			if s.NegotiatedProtocol != "" {
				text += ", " + s.NegotiatedProtocol
			}
			if len(s.PeerCertificates) > 0 {
				text += ", certificate by " + s.PeerCertificates[0].Issuer.String()
			}
			t.end(StepTLS, text, err)
		},
		WroteRequest:         func(httptrace.WroteRequestInfo) { t.begin(StepAnswer) },
		GotFirstResponseByte: func() { t.end(StepAnswer, "first byte", nil) },
	})
}

func (t *Trace) begin(s Step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.begun == nil {
		t.begun = make(map[Step]time.Time)
	}
	t.begun[s] = time.Now()
}

// end notes a step once: a later try, or the other address family, replaces a failure.
func (t *Trace) end(s Step, text string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := Passed{Step: s, Text: text, Took: time.Since(t.begun[s]), Err: err}
	for i, before := range t.steps {
		if before.Step == s {
			if before.Err != nil {
				t.steps[i] = p
			}
			return
		}
	}
	t.steps = append(t.steps, p)
}

// Steps are those that ended so far, in order. A connection to a proxy by HTTPS has the proxy's TLS as StepTLS.
func (t *Trace) Steps() []Passed {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]Passed(nil), t.steps...)
}
