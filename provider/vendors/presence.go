package vendors

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
)

const (
	answersIn = 200 * time.Millisecond // a server on this machine answers in less
	listsIn   = 10 * time.Second       // and has described what it has
	newsFor   = 5 * time.Second        // how long an answer is good
)

// presence knows whether a server is there, and what models it has where it tells. It asks in the background, and again
// when its answer is old: a server on one's own machine comes and goes, and so do its models.
type presence struct {
	address string
	client  *http.Client
	lister  provider.Lister // nil: it does not tell
	strange bool            // nobody said that it is there: a server that answers has to prove by its list what it is
	log     *slog.Logger
	ctx     context.Context
	stop    context.CancelFunc
	asking  sync.WaitGroup
	began   time.Time
	first   chan struct{} // closed when all has been answered once

	mu     sync.Mutex // guards what follows
	busy   bool
	there  bool
	proven bool             // it has listed its models once
	models []provider.Model // never changed, only replaced
	asked  time.Time
}

// seek starts asking. Who calls it closes the presence.
func seek(address string, lister provider.Lister, strange bool, log *slog.Logger) *presence {
	p := &presence{address: address, lister: lister, strange: strange && lister != nil, log: log, began: time.Now(), first: make(chan struct{}),
		client: &http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // an answer is an answer
		}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.askLocked()
	return p
}

// askLocked asks in a goroutine that ends within answersIn and listsIn, or with close, which waits for it.
func (p *presence) askLocked() {
	p.busy = true
	p.asking.Go(func() {
		there := p.call()
		p.mu.Lock()
		p.there = there && (!p.strange || p.proven)
		p.mu.Unlock()
		models, listed := []provider.Model(nil), !there
		if there && p.lister != nil {
			models, listed = p.list()
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.busy = false; listed {
			p.models = models
		}
		if there && listed {
			p.there, p.proven = true, true
		}
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

// list reports whether the server has listed its models.
func (p *presence) list() ([]provider.Model, bool) {
	ctx, cancel := context.WithTimeout(p.ctx, listsIn)
	defer cancel()
	models, err := p.lister.Models(ctx)
	switch {
	case err != nil && p.strange && !p.proves():
		p.log.Debug("a server is of another kind than expected", "address", p.address, "err", err)
	case err != nil:
		p.log.Warn("a server does not list its models", "address", p.address, "err", err)
	}
	return models, err == nil
}

func (p *presence) proves() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.proven
}

// here reports whether the server is there, as far as is known.
func (p *presence) here() bool {
	p.know()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.there
}

// has is what models the server has, as far as is known; the list is shared and read-only.
func (p *presence) has() []provider.Model {
	p.know()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.models
}

// know waits, once and for answersIn at most since the start, and asks again if what is known is old.
func (p *presence) know() {
	if wait := answersIn - time.Since(p.began); wait > 0 {
		select {
		case <-p.first:
		case <-time.After(wait):
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.busy && time.Since(p.asked) > newsFor && p.ctx.Err() == nil {
		p.askLocked()
	}
}

func (p *presence) close() {
	p.mu.Lock()
	p.stop() // so that nobody asks any more
	p.mu.Unlock()
	p.asking.Wait()
}
