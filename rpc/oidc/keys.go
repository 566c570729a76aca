package oidc

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	fetchPause = 5 * time.Second  // between two requests to the issuer
	fetchTime  = 10 * time.Second // for one
	maxAnswer  = 1 << 20          // bytes
)

// errFetchedLately says that the issuer is not asked again yet.
var errFetchedLately = errors.New("the issuer was asked a moment ago")

// sparing bounds how often the issuer is asked: a token with an unknown key costs its sender nothing. Each address counts alone, so that the
// first request for keys follows the one for the issuer's description at once.
type sparing struct {
	next http.RoundTripper
	now  func() time.Time

	mu   sync.Mutex
	last map[string]time.Time // by address; there are two
}

func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	now := s.now()
	if last, asked := s.last[r.URL.String()]; asked && now.Sub(last).Abs() < fetchPause {
		s.mu.Unlock()
		return nil, errFetchedLately
	}
	s.last[r.URL.String()] = now
	s.mu.Unlock()
	return s.next.RoundTrip(r)
}

// bounded bounds answers.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil && answer.ContentLength > maxAnswer {
		err = errors.Join(fmt.Errorf("the answer has %d bytes", answer.ContentLength), answer.Body.Close())
	}
	if err != nil {
		return nil, err
	}
	answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	return answer, nil
}

// newClient returns a client for the issuer. It follows no redirect: the config names the issuer.
func newClient(next http.RoundTripper) *http.Client {
	return &http.Client{Timeout: fetchTime, Transport: bounded{next},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the issuer redirects, which is not followed")
		}}
}
