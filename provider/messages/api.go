package messages

import (
	"cmp"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// wireAPI is the name in [provider.Origin] and [provider.Error].
const wireAPI = "messages"

// Repairs of a history that the vendor refuses.
const (
	// DropBlock lets the server leave out thinking whose prefix is not as it was (docs: preserved-thinking).
	DropBlock provider.Repair = "messages/drop_block"
	// StripThinking leaves all earlier thinking out: dropping all of it is tolerated, editing is not.
	StripThinking provider.Repair = "messages/strip_thinking"
	// NoLongContext leaves out the beta of the long context, which some accounts do not have.
	NoLongContext provider.Repair = "messages/no_long_context"
	// PlainBlocks sends calls and text of the model's without members that only some hosts take.
	PlainBlocks provider.Repair = "messages/plain_blocks"
	// Adaptive is the beginning of a repair that lets a model choose how much it thinks, since it takes no budget; the
	// model's id follows.
	Adaptive = "messages/adaptive:"
)

// API is the Messages API at one address with one key.
type API struct {
	host   Host
	caller exchange.Caller
	betas  []string // of the configured headers
}

var (
	_ provider.Provider  = (*API)(nil)
	_ provider.Converter = (*API)(nil)
	_ provider.Returner  = (*API)(nil)
	_ provider.Lister    = (*API)(nil)
)

// New makes the adapter; it does not call.
func New(cfg exchange.Config, host Host) *API {
	headers := map[string]string{}
	var betas []string
	for name, value := range cfg.Headers {
		if strings.EqualFold(name, "anthropic-beta") { // one header holds them all
			betas = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
			continue
		}
		headers[name] = value
	}
	cfg.Headers, cfg.Vendor = headers, cmp.Or(host.Vendor, cfg.Vendor)
	return &API{host: host, caller: exchange.NewCaller(wireAPI, cfg), betas: betas}
}
