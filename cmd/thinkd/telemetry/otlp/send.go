package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of retries.
const (
	maxTries  = 5
	firstWait = time.Second      // doubled with each try
	maxWait   = 20 * time.Second // below the SDK's 30 s for an export, so that a late answer gets another try
	maxAnswer = 64 << 10         // bytes of an answer that are read
	maxWords  = 200              // bytes of an answer that are logged
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

// sender sends the requests of one signal, one after the other. It belongs to the goroutine that exports, except for End.
type sender struct {
	cfg    Config
	client *http.Client
	down   bool // the log says that nothing arrives

	ending  chan struct{} // closed: nothing is retried
	end     sync.Once
	ctx     context.Context // of all requests
	stop    context.CancelFunc
	release func() bool // of the wait for the end of End's context
}

func newSender(c Config) *sender {
	s := &sender{cfg: c, client: newClient(c.RoundTripper), ending: make(chan struct{})}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// End makes the exporter try each further request once, and give up all requests when ctx is done. It returns at once. Call it
// before the SDK's provider is shut down, which sends what is queued.
func (s *sender) End(ctx context.Context) {
	s.end.Do(func() {
		close(s.ending)
		s.release = context.AfterFunc(ctx, s.stop)
	})
}

// Shutdown gives up all requests and closes the connections. The SDK calls it when its queue is empty.
func (s *sender) Shutdown(context.Context) error {
	s.end.Do(func() { close(s.ending) })
	if s.release != nil {
		s.release()
	}
	s.stop()
	s.client.CloseIdleConnections()
	return nil
}

// failure is why a request failed. It quotes neither the collector nor the request.
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

// again reports whether a retry may help (OTLP Specification, "Retryable Response Codes").
func (f *failure) again() bool {
	return f.status == 0 || slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout}, f.status)
}

// deliver sends a request with so many items, retries it while ctx allows, and counts what became of the items.
func (s *sender) deliver(ctx context.Context, m message, items int) {
	body := m.encodeProto()
	if s.cfg.JSON {
		body = m.appendJSON(nil)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	var fail *failure
	wait := firstWait
	for try := 1; ; try++ {
		var rejected int
		if rejected, fail = s.post(ctx, body); fail == nil {
			rejected = min(rejected, items)
			s.count(Rejected, rejected)
			s.count(Sent, items-rejected)
			s.up()
			return
		}
		if !fail.again() || try == maxTries || !s.pause(ctx, max(fail.after, wait)) {
			break
		}
		wait *= 2
	}
	outcome := Refused
	if fail.again() {
		outcome = Unreachable
	}
	s.count(outcome, items)
	if !s.down {
		s.down = true
		s.cfg.Log.Warn("the telemetry collector accepts nothing", "signal", s.cfg.Signal, "err", fail)
	}
}

func (s *sender) count(outcome string, items int) {
	if items > 0 {
		s.cfg.Count(outcome, items)
	}
}

func (s *sender) up() {
	if s.down {
		s.down = false
		s.cfg.Log.Info("the telemetry collector accepts data again", "signal", s.cfg.Signal)
	}
}

// pause waits for the next try. It reports false if there is none.
func (s *sender) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(min(d, maxWait)):
		return true
	case <-ctx.Done():
		return false
	case <-s.ending:
		return false
	}
}

// post sends a request. It returns how many of its items the collector rejected while it accepted the others.
func (s *sender) post(ctx context.Context, body []byte) (rejected int, fail *failure) {
	timeout := s.cfg.Timeout
	if timeout <= 0 {
		timeout = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := s.request(ctx, body)
	if err != nil {
		return 0, &failure{err: bare(err)}
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, &failure{err: bare(err)}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode/100 != 2 {
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // a date is ignored
		return 0, &failure{status: resp.StatusCode, after: time.Duration(min(max(seconds, 0), 3600)) * time.Second}
	}
	if err != nil {
		return 0, nil // the status says that all was accepted
	}
	return s.partly(answer), nil
}

func (s *sender) request(ctx context.Context, body []byte) (*http.Request, error) {
	if s.cfg.Gzip {
		var small bytes.Buffer
		w := gzip.NewWriter(&small)
		w.Write(body) // a buffer has no error
		w.Close()
		body = small.Bytes()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range s.cfg.Headers {
		req.Header.Set(name, value.Reveal())
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	if s.cfg.JSON {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "OTel-OTLP-Exporter-thinkd/"+s.cfg.Version)
	if s.cfg.Gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	return req, nil
}

// partly is how many items an answer rejects. A collector answers in the form of the request.
func (s *sender) partly(answer []byte) int {
	parse := parseProto
	if s.cfg.JSON {
		parse = parseJSON
	}
	p := parse(answer)
	if p.rejected > 0 || p.words != "" {
		s.cfg.Log.Warn("the telemetry collector rejected some data", "signal", s.cfg.Signal, "rejected", p.rejected, "because", s.clean(p.words))
	}
	return p.rejected
}

// clean is a collector's message for the log: short, and without the keys that were sent to it.
func (s *sender) clean(words string) string {
	for _, secret := range s.cfg.Headers {
		words = secret.Scrub(words)
	}
	if len(words) > maxWords {
		words = words[:maxWords] + "…"
	}
	return strings.ToValidUTF8(words, "\uFFFD")
}

// bare is an error without the address, in which there may be a key.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
