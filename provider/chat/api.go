package chat

import (
	"cmp"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/thinktag"
)

// wireAPI is the name in [provider.Origin] and [provider.Error].
const wireAPI = "chat"

// Repairs of what a host refuses.
const (
	// PlaceholderReasoning puts an empty text where the host misses a turn's thinking.
	PlaceholderReasoning provider.Repair = "chat/placeholder_reasoning"
	// StripOpaque leaves opaque data of turns before the last message of the user out.
	StripOpaque provider.Repair = "chat/strip_opaque"
	// StripThinking is the beginning of a repair that leaves all earlier thinking out for a model whose host or template
	// does not take it; the model's id follows.
	StripThinking = "chat/strip_thinking@"
	// NoStreamOptions asks for no usage, and takes what comes.
	NoStreamOptions provider.Repair = "chat/no_stream_options"
	// OtherMaxTokens gives the limit on output its other name.
	OtherMaxTokens provider.Repair = "chat/other_max_tokens"
	// NotStreamed asks for the whole answer at once.
	NotStreamed provider.Repair = "chat/not_streamed"
)

// API is the Chat Completions API at one address with one key.
type API struct {
	dialect *Dialect
	caller  exchange.Caller

	openedMu sync.Mutex
	opened   map[string]bool // models whose prompt opens the thinking, as their answers showed
}

var (
	_ provider.Provider  = (*API)(nil)
	_ provider.Converter = (*API)(nil)
	_ provider.Returner  = (*API)(nil)
	_ provider.Lister    = (*API)(nil)
)

// New makes the adapter; it does not call. d is of [Named] or [ParseDialect], and takes the vendor's place in origins.
func New(cfg exchange.Config, d *Dialect) *API {
	cfg.Vendor = d.ID
	a := &API{dialect: d, caller: exchange.NewCaller(wireAPI, cfg), opened: map[string]bool{}}
	a.caller.Keyless = d.Auth == "none"
	return a
}

func stripThinking(model string) provider.Repair { return provider.Repair(StripThinking + model) }

// start is what the prompt's template has opened for a model, as far as that is known.
func (a *API) start(model string, usual thinktag.Start) thinktag.Start {
	a.openedMu.Lock()
	defer a.openedMu.Unlock()
	if a.opened[model] {
		return thinktag.Open
	}
	return cmp.Or(usual, thinktag.Closed)
}

// opensNot forgets that: an answer had no closing tag, so the one that it was learned from may have been about tags.
func (a *API) opensNot(model string) {
	a.openedMu.Lock()
	defer a.openedMu.Unlock()
	delete(a.opened, model)
}

// opens remembers, as long as this adapter lives, that the prompt opens a model's thinking.
func (a *API) opens(model string) {
	a.openedMu.Lock()
	defer a.openedMu.Unlock()
	const most = 1000 // an address with more models than that asks for it
	if len(a.opened) < most {
		a.opened[model] = true
	}
}
