package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of trying again.
const (
	maxTries  = 5
	firstWait = time.Second // doubled with each try
	maxWait   = 30 * time.Second
	maxAnswer = 64 << 10 // bytes of an answer that are read
)

func newClient(rt http.RoundTripper) *http.Client {
	if rt == nil {
		rt = &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    5 * time.Second,
			ForceAttemptHTTP2:      true,
			DisableCompression:     true, // so that no small answer becomes a large one
			MaxIdleConns:           2,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: maxAnswer,
		}
	}
	return &http.Client{Transport: rt, // a redirect would take the headers elsewhere
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// line is the way of one signal to its collector. It belongs to one goroutine.
type line struct {
	*Exporter
	signal string
	to     Endpoint
	down   bool // the log has it that nothing arrives
}

// failure is why a request came to nothing. It has no word of the collector's, and nothing of the request.
type failure struct {
	status int           // HTTP; 0: there was no answer
	after  time.Duration // as the collector asks; 0: it does not
	err    error
}

func (f *failure) Error() string {
	if f.status > 0 {
		return fmt.Sprintf("it answers %d", f.status)
	}
	return f.err.Error()
}

// again reports whether the same request may be taken later (OTLP Specification, "Retryable Response Codes").
func (f *failure) again() bool {
	return f.status == 0 || slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout}, f.status)
}

// deliver sends a request of so many items, some times if need be, and counts what became of them.
func (l *line) deliver(body []byte, items int) {
	var fail *failure
	wait := firstWait
	for try := 1; ; try++ {
		var rejected int
		if rejected, fail = l.post(body); fail == nil {
			l.count(l.signal, Rejected, min(rejected, items))
			l.count(l.signal, Sent, items-min(rejected, items))
			l.up()
			return
		}
		if !fail.again() || try == maxTries || !l.pause(max(fail.after, wait)) {
			break
		}
		wait *= 2
	}
	outcome := Refused
	if fail.again() {
		outcome = Unreachable
	}
	l.count(l.signal, outcome, items)
	if !l.down {
		l.down = true
		l.cfg.Log.Warn("the collector of telemetry takes nothing", "signal", l.signal, "err", fail)
	}
}

func (l *line) up() {
	if l.down {
		l.down = false
		l.cfg.Log.Info("the collector of telemetry is back", "signal", l.signal)
	}
}

// pause waits, and reports whether there is another try: at the end of the exporter there is none.
func (l *line) pause(d time.Duration) bool {
	select {
	case <-time.After(min(d, maxWait)):
		return true
	case <-l.closing:
		return false
	}
}

// post sends a request. It tells how many of its items the collector rejected while it took the others.
func (l *line) post(body []byte) (rejected int, fail *failure) {
	timeout := l.to.Timeout
	if timeout <= 0 {
		timeout = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(l.ctx, timeout)
	defer cancel()
	req, err := l.request(ctx, body)
	if err != nil {
		return 0, &failure{err: bare(err)}
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return 0, &failure{err: bare(err)}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode/100 != 2 {
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // a date says nothing here
		return 0, &failure{status: resp.StatusCode, after: time.Duration(min(max(seconds, 0), 3600)) * time.Second}
	}
	if err != nil {
		return 0, nil // it was taken, whatever else it has to say
	}
	return l.partly(answer), nil
}

func (l *line) request(ctx context.Context, body []byte) (*http.Request, error) {
	if l.to.Gzip {
		var small bytes.Buffer
		w := gzip.NewWriter(&small)
		w.Write(body) // a buffer takes all
		w.Close()
		body = small.Bytes()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.to.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range l.to.Headers {
		req.Header.Set(name, value.Reveal())
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "OTel-OTLP-Exporter-thinkd/"+l.cfg.Scope.Version)
	if l.to.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	return req, nil
}

// partly reads which of the items were rejected (OTLP Specification, "Partial Success"). An answer without items and with
// words is a warning.
func (l *line) partly(answer []byte) int {
	var a struct {
		Partial struct {
			Spans  json.Number `json:"rejectedSpans"`
			Points json.Number `json:"rejectedDataPoints"`
			Words  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &a) != nil {
		return 0 // some collectors answer with nothing, or in another form
	}
	n, _ := strconv.Atoi(string(a.Partial.Spans) + string(a.Partial.Points)) // there is one of them
	if n > 0 || a.Partial.Words != "" {
		l.cfg.Log.Warn("the collector of telemetry does not take all", "signal", l.signal, "rejected", n, "because", l.clean(a.Partial.Words))
	}
	return max(n, 0)
}

// clean is a collector's word for the log: short, and without what it was sent to let us in.
func (l *line) clean(words string) string {
	for _, secret := range l.to.Headers {
		words = secret.Scrub(words)
	}
	return clip(words, 200)
}

// clip is the beginning of a text, in so many bytes at most.
func clip(text string, most int) string {
	if len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// bare is an error without the address, in which there may be a key.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
