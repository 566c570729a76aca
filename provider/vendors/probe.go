package vendors

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/transport"
	"github.com/thinkd/thinkd/registry"
)

// A Finding is one step of a call: what it found, or why it failed.
type Finding struct {
	What string // "DNS", "connection", "TLS", "proxy", "credentials", "model", "region", "quota", "answer" or "request"
	Text string
	Took time.Duration // 0: it took no time of its own
	Err  error
}

// Probe calls a model with a short prompt, and returns the steps of the call in order. At most the last one failed. It stops reading
// when the answer begins, but the vendor charges for what the model has written by then. The key of the call is the provider's first.
func (p *Providers) Probe(ctx context.Context, m provider.Model) []Finding {
	adapter := p.Find(m.Provider)
	if adapter == nil {
		return []Finding{{What: "request", Err: fmt.Errorf("there is no provider %q", m.Provider)}}
	}
	decision, err := registry.Resolve(registry.Ask{}, m)
	if err != nil {
		return []Finding{{What: "request", Err: err}}
	}
	var trace transport.Trace
	begun := time.Now()
	err = firstWord(adapter.Stream(trace.Attach(ctx), &provider.Request{Model: m, Decision: decision,
		Messages: []provider.Message{{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "Reply with the word OK."}}}}}))
	var list []Finding
	for _, s := range trace.Steps() {
		if s.Step == transport.StepAnswer {
			continue // which is below
		}
		list = append(list, Finding{What: string(s.Step), Text: s.Text, Took: s.Took, Err: s.Err})
		if s.Err != nil {
			last := &list[len(list)-1]
			last.Err = err // with advice
			if failing(err) == "proxy" {
				last.What = "proxy"
			}
			return list
		}
	}
	if err != nil {
		return append(list, Finding{What: failing(err), Err: err})
	}
	return append(list, Finding{What: "answer", Text: m.Ref() + " answers", Took: time.Since(begun)})
}

// firstWord reads a stream up to the first block, and returns its error, if it ended with one.
func firstWord(stream func(func(provider.Event, error) bool)) (failed error) {
	for event, err := range stream {
		if err != nil {
			return err
		}
		switch event.(type) {
		case provider.Begin, provider.End, provider.Stop:
			return nil
		}
	}
	return errors.New("the answer ended without an end")
}

// regional finds a refusal because of the place of the caller. OpenAI: "Country, region, or territory not supported". Google: "User
// location is not supported for the API use". Amazon: "not allowed from unsupported countries, regions, or territories".
var regional = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(countr(y|ies)|regions?|territory|location)\b.*\b(not|un)[ -]?(supported|available|allowed)|\bunsupported (countries|regions)\b`)
})

// failing is the part of a call that an error is about, once the connection stands.
func failing(err error) string {
	e, ok := errors.AsType[*provider.Error](err)
	if !ok {
		return "request"
	}
	op, _ := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(err, transport.ErrProxyLogin), op != nil && op.Op == "proxyconnect", e.Status == http.StatusProxyAuthRequired:
		return "proxy"
	case e.API == "login": // of the issuer of a token, whatever failed there
		return "credentials"
	case e.Status >= 400 && e.Status < 500 && regional().MatchString(e.Code+" "+strings.ReplaceAll(e.Message, "\n", " ")):
		return "region"
	case e.Kind == provider.KindQuota, e.Kind == provider.KindRateLimit:
		return "quota"
	case e.Subject == provider.SubjectModel, e.Status == http.StatusForbidden && strings.Contains(e.Message, "access to the model"): // Amazon
		return "model"
	case e.Kind == provider.KindAuth, e.Subject == provider.SubjectAccount:
		return "credentials"
	case e.Status == http.StatusNotFound:
		return "model"
	case e.Status == 0 && e.Kind == provider.KindTransport:
		return "connection"
	}
	return "request"
}
