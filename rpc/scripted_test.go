package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/vendors"
)

// scripted is a model whose calls are written down, one paragraph each. A line of a paragraph is
//
//	think TEXT|TEXT     a block of thinking, one delta for each TEXT, sealed; "…" at the end leaves it open,
//	                    and \n is a new line
//	say TEXT|TEXT       the same for text
//	cite URL TEXT       a text that refers to a page
//	draw TEXT           an image of these bytes
//	sing TEXT           a sound of these bytes
//	call ID NAME INPUT  a call of a tool; INPUT that is no JSON object is what the model wrote
//	grow N TIMES        text: so many deltas of N bytes each, left open
//	wait 2s             silence
//	fail KIND TEXT      the call fails; the vendor asks for a second before the next
//	limit 1h TEXT       the vendor takes no more calls for so long
//	served MODEL HOST   the model that answers names itself
//	refuse TEXT, pause  how the reply ends; without such a line, at its end
//
// A millisecond lies before each event, so that what an event causes is over before the next one comes.
type scripted struct {
	adapters map[string]adapter // by API: real ones, which tell what a request would be

	mu    sync.Mutex
	calls []string
}

type adapter interface {
	provider.Provider
	provider.Converter
	provider.Returner
}

func newScripted(script string, adapters map[string]adapter) *scripted {
	s := &scripted{adapters: adapters}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(script), "\n\n") {
		s.calls = append(s.calls, paragraph)
	}
	return s
}

func (s *scripted) Wire(req *provider.Request) (json.RawMessage, error) {
	return s.of(req.Model).Wire(req)
}

func (s *scripted) OptionsWire(req *provider.Request) (json.RawMessage, error) {
	return provider.OptionsWireOf(s.of(req.Model), req)
}

func (s *scripted) Cache(before json.RawMessage, req *provider.Request) (provider.CacheState, string) {
	return provider.CacheOf(s.of(req.Model), before, req)
}

func (s *scripted) Convert(req *provider.Request) (provider.Conversion, error) {
	return s.of(req.Model).Convert(req)
}

func (s *scripted) Returns(req *provider.Request, b provider.Thinking, late provider.State, calls bool) bool {
	return s.of(req.Model).Returns(req, b, late, calls)
}

func (s *scripted) Outline(req *provider.Request) (provider.Outline, error) {
	return provider.OutlineOf(s.of(req.Model), req)
}

// of is the adapter of a model's row, where there is one. Those that the stage did not make are made of the row alone.
func (s *scripted) of(m provider.Model) adapter {
	name := cmp.Or(m.API, "messages")
	if made := s.adapters[name]; made != nil {
		return made
	}
	api, ok := vendors.APINamed(name)
	if !ok {
		panic("no API " + name) // a row of the catalog
	}
	made, err := api.New(exchange.Config{Provider: m.Provider, Vendor: m.Provider, BaseURL: "https://keyless.invalid"}, m.Dialect, nil)
	if err != nil {
		panic(err)
	}
	return made.(adapter)
}

func (s *scripted) Stream(ctx context.Context, req *provider.Request) iter.Seq2[provider.Event, error] {
	s.mu.Lock()
	var call string
	if len(s.calls) > 0 {
		call, s.calls = s.calls[0], s.calls[1:]
	}
	s.mu.Unlock()
	return func(yield func(provider.Event, error) bool) {
		stop := provider.Stop{Reason: provider.StopEndTurn, Raw: "end_turn",
			Usage: provider.Usage{Input: 900, Output: 300, Cached: 600}}
		if strings.Contains("\n"+call, "\nthink ") {
			stop.Usage.Reasoning = new(210)
		}
		give := func(e provider.Event) bool {
			if err := pause(ctx, time.Millisecond); err != nil {
				yield(nil, err)
				return false
			}
			return yield(e, nil)
		}
		converted, err := s.Convert(req)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, n := range converted.Notices() {
			if !give(n) {
				return
			}
		}
		for index, line := range strings.Split(call, "\n") {
			word, rest, _ := strings.Cut(strings.ReplaceAll(line, `\n`, "\n"), " ")
			switch word {
			case "think":
				open := provider.Thinking{Kind: provider.ThinkingSummary}
				if !write(give, index, open, rest, func(text string) provider.Block {
					return provider.Thinking{Text: text, Kind: provider.ThinkingSummary, Signed: true,
						State: provider.State{Origin: provider.Origin{API: "messages", Vendor: "anthropic"}, Data: json.RawMessage(`{"type":"thinking","signature":"S"}`)}}
				}) {
					return
				}
			case "say":
				if !write(give, index, provider.Text{}, rest, func(text string) provider.Block { return provider.Text{Text: text} }) {
					return
				}
			case "cite":
				url, text, _ := strings.Cut(rest, " ")
				cited := func(text string) provider.Block {
					return provider.Text{Text: text, Sources: []provider.Citation{{URL: url, Title: "Page", End: len(text)}}}
				}
				if !write(give, index, provider.Text{}, text, cited) {
					return
				}
			case "served":
				model, host, _ := strings.Cut(rest, " ")
				if !give(provider.Served{Model: model, Host: host}) {
					return
				}
			case "draw", "sing":
				kind := map[string]string{"draw": "image/png", "sing": "audio/wav"}[word]
				if !give(provider.Begin{Index: index, Block: provider.Media{Type: kind}}) ||
					!give(provider.End{Index: index, Block: provider.Media{Type: kind, Data: []byte(rest)}}) {
					return
				}
			case "call":
				id, rest, _ := strings.Cut(rest, " ")
				name, input, _ := strings.Cut(rest, " ")
				call := provider.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
				if !strings.HasPrefix(input, "{") || !json.Valid(call.Input) {
					call.Input, call.Invalid = nil, input
				}
				stop.Reason, stop.Raw = provider.StopToolUse, "tool_use"
				if !give(provider.Begin{Index: index, Block: provider.ToolCall{ID: id, Name: name}}) ||
					!give(provider.End{Index: index, Block: call}) {
					return
				}
			case "grow":
				size, times, _ := strings.Cut(rest, " ")
				n, _ := strconv.Atoi(size)
				count, _ := strconv.Atoi(times)
				if !give(provider.Begin{Index: index, Block: provider.Text{}}) {
					return
				}
				for range count {
					if !give(provider.Delta{Index: index, Text: strings.Repeat("x", n)}) {
						return
					}
				}
			case "wait":
				d, _ := time.ParseDuration(rest)
				if err := pause(ctx, d); err != nil {
					yield(nil, err)
					return
				}
			case "fail":
				kind, text, _ := strings.Cut(rest, " ")
				yield(nil, &provider.Error{Provider: "anthropic", Kind: provider.Kind(kind), Message: text, RetryAfter: time.Second})
				return
			case "limit":
				after, text, _ := strings.Cut(rest, " ")
				d, err := time.ParseDuration(after)
				if err != nil {
					panic(err)
				}
				yield(nil, &provider.Error{Provider: "anthropic", Kind: provider.KindRateLimit, Status: 429, Message: text, RetryAfter: d})
				return
			case "refuse":
				stop.Reason, stop.Raw, stop.Detail = provider.StopRefusal, "refusal", rest
			case "pause":
				stop.Reason, stop.Raw = provider.StopPause, "pause_turn"
			default:
				panic(fmt.Sprintf("the script has no line for this call: %q", line))
			}
		}
		if o, err := s.Outline(req); err == nil && req.Sent != nil {
			req.Sent(o)
		}
		if give(stop) {
			return
		}
	}
}

// write yields a block. Text that ends in … is left open.
func write(give func(provider.Event) bool, index int, open provider.Block, text string, sealed func(string) provider.Block) bool {
	text, unfinished := strings.CutSuffix(text, "…")
	if !give(provider.Begin{Index: index, Block: open}) {
		return false
	}
	for piece := range strings.SplitSeq(text, "|") {
		if !give(provider.Delta{Index: index, Text: piece}) {
			return false
		}
	}
	return unfinished || give(provider.End{Index: index, Block: sealed(strings.ReplaceAll(text, "|", ""))})
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
