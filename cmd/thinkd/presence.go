package main

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
)

const (
	answersIn = 200 * time.Millisecond // a host on this machine answers in less
	newsFor   = 5 * time.Second        // how long an answer is good
)

// presence knows whether a host answers. It asks in the background, and again when its answer is old: a server on one's
// own machine comes and goes.
type presence struct {
	address string
	client  *http.Client
	ctx     context.Context
	stop    context.CancelFunc
	asking  sync.WaitGroup
	first   chan struct{} // closed with the first answer

	mu     sync.Mutex // guards what follows
	busy   bool
	answer bool
	asked  time.Time
}

// ask starts asking. Who calls it closes the presence.
func ask(address string) *presence {
	p := &presence{address: address, client: provider.NewClient(&http.Transport{DisableKeepAlives: true}), first: make(chan struct{})}
	p.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // an answer is an answer
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.askLocked()
	return p
}

// askLocked asks in a goroutine that ends within answersIn, or with close, which waits for it.
func (p *presence) askLocked() {
	p.busy = true
	p.asking.Go(func() {
		answer := p.call()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.busy, p.answer = false, answer
		if p.asked.IsZero() {
			close(p.first)
		}
		p.asked = time.Now()
	})
}

// call reports whether anything that speaks HTTP is there.
func (p *presence) call() bool {
	ctx, cancel := context.WithTimeout(p.ctx, answersIn)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.address, nil)
	if err != nil {
		return false
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close() // nothing of it is wanted
	return true
}

// answers is the last answer. It waits for the first one, which comes within answersIn.
func (p *presence) answers() bool {
	<-p.first
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.busy && time.Since(p.asked) > newsFor && p.ctx.Err() == nil {
		p.askLocked()
	}
	return p.answer
}

func (p *presence) close() {
	p.mu.Lock()
	p.stop() // so that nobody asks any more
	p.mu.Unlock()
	p.asking.Wait()
}

// local reports whether the provider is a server that runs where one likes, and so may not run at all: one that needs
// no key, on this machine or known for that.
func (c providerConfig) local() bool {
	if c.KeyEnv != "" || c.BaseURL == "" {
		return false
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return c.Vendor == "ollama" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
