// Package providertest checks that an adapter keeps the contract of package provider.
//
// [Collect] reads a reply and returns it, or how it broke the contract. [Check] does so in a test. [Run] plays fixtures: files with a
// request, the vendor's answer, and the expected result. Each fixture is played whole, one byte at once, cut after every event, with
// unknown events added, and with duplicate and reordered events.
//
// [Turn], [Faults] and [Stops] let an adapter talk to the simulator. A [Host] answers with fixed bytes.
//
// Inside the package, files depend in one direction: check, conversation, host and lines, fixture, bench and fuzz.
package providertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
)

// Reply is what a sequence of events amounts to.
type Reply struct {
	Events  []provider.Event // all but Alive
	Blocks  provider.Blocks  // those that ended, in the order of their ends
	Notices []provider.Notice
	Stop    *provider.Stop // nil: it ended in Err
	Err     error
	Alives  int
}

// Check is Collect for tests.
func Check(t testing.TB, seq iter.Seq2[provider.Event, error]) Reply {
	t.Helper()
	reply, err := Collect(seq)
	if err != nil {
		t.Fatalf("contract: %v", err)
	}
	return reply
}

// Collect reads seq to its end. The error says how seq broke the contract.
func Collect(seq iter.Seq2[provider.Event, error]) (Reply, error) {
	c := collector{open: map[int]*openBlock{}, used: map[int]bool{}}
	for ev, err := range seq {
		if broken := c.take(ev, err); broken != nil {
			return c.reply, fmt.Errorf("event %d: %w", len(c.reply.Events), broken)
		}
	}
	if c.reply.Stop == nil && c.reply.Err == nil {
		return c.reply, errors.New("the sequence ends without Stop or error")
	}
	if c.reply.Stop != nil && len(c.open) > 0 {
		return c.reply, fmt.Errorf("%d blocks are open at the Stop", len(c.open))
	}
	return c.reply, nil
}

type openBlock struct {
	begin provider.Block
	text  strings.Builder
}

type collector struct {
	reply Reply
	open  map[int]*openBlock
	used  map[int]bool
	alive time.Time

	told   bool // a Served came, and the latest is:
	served provider.Served
}

func (c *collector) take(ev provider.Event, err error) error {
	switch {
	case c.reply.Stop != nil || c.reply.Err != nil:
		return fmt.Errorf("%T and error %v after the end", ev, err)
	case err != nil && ev != nil:
		return fmt.Errorf("%T with an error", ev)
	case err != nil:
		c.reply.Err = err
		return nil
	}
	if _, ok := ev.(provider.Alive); !ok {
		c.reply.Events = append(c.reply.Events, ev)
	}
	switch ev := ev.(type) {
	case provider.Served:
		if ev == c.served || !utf8.ValidString(ev.Model+ev.Host) {
			return fmt.Errorf("served %+v after %+v", ev, c.served)
		}
		c.served, c.told = ev, true
	case provider.Begin:
		if !c.told {
			return errors.New("a block before Served")
		}
		return c.begin(ev)
	case provider.Delta:
		return c.delta(ev)
	case provider.End:
		return c.end(ev)
	case provider.Notice:
		c.reply.Notices = append(c.reply.Notices, ev)
		if ev.Kind == "" || ev.Data != nil && !json.Valid(ev.Data) {
			return fmt.Errorf("notice %q with data %s", ev.Kind, ev.Data)
		}
	case provider.Alive:
		c.reply.Alives++
		if now := time.Now(); now.Sub(c.alive) < time.Second && !c.alive.IsZero() {
			return errors.New("two Alive within a second")
		} else {
			c.alive = now
		}
	case provider.Stop:
		c.reply.Stop = &ev
		switch {
		case ev.Reason == "":
			return errors.New("Stop without a reason")
		case !c.told:
			return errors.New("a Stop before Served")
		}
		return checkState(ev.State)
	default:
		return fmt.Errorf("event of type %T", ev)
	}
	return nil
}

func (c *collector) begin(ev provider.Begin) error {
	if ev.Index < 0 || c.used[ev.Index] {
		return fmt.Errorf("Begin of block %d, which is negative or was used", ev.Index)
	}
	if ev.Block == nil {
		return fmt.Errorf("Begin of block %d without a block", ev.Index)
	}
	if text, ok := shown(ev.Block); ok && text != "" {
		return fmt.Errorf("Begin of block %d with text %q", ev.Index, text)
	}
	c.used[ev.Index], c.open[ev.Index] = true, &openBlock{begin: ev.Block}
	return nil
}

func (c *collector) delta(ev provider.Delta) error {
	b := c.open[ev.Index]
	switch {
	case b == nil:
		return fmt.Errorf("Delta for block %d, which is not open", ev.Index)
	case ev.Text == "" || !utf8.ValidString(ev.Text):
		return fmt.Errorf("Delta %q is empty or not whole UTF-8", ev.Text)
	}
	b.text.WriteString(ev.Text)
	return nil
}

func (c *collector) end(ev provider.End) error {
	b := c.open[ev.Index]
	if b == nil {
		return fmt.Errorf("End of block %d, which is not open", ev.Index)
	}
	delete(c.open, ev.Index)
	if ev.Block == nil || provider.KindOf(ev.Block) != provider.KindOf(b.begin) {
		return fmt.Errorf("block %d ends as %T and began as %T", ev.Index, ev.Block, b.begin)
	}
	c.reply.Blocks = append(c.reply.Blocks, ev.Block)
	if err := checkBlock(b, ev.Block); err != nil {
		return fmt.Errorf("block %d: %w", ev.Index, err)
	}
	return nil
}

// shown is the text that deltas show, for kinds that have some from the start.
func shown(b provider.Block) (string, bool) {
	switch b := b.(type) {
	case provider.Text:
		return b.Text, true
	case provider.Thinking:
		return b.Text, true
	}
	return "", false
}

func checkBlock(open *openBlock, end provider.Block) error {
	if err := checkState(provider.StateOf(end)); err != nil {
		return err
	}
	grown := open.text.String()
	if text, ok := shown(end); ok && text != grown {
		return fmt.Errorf("deltas add up to %q, the end says %q", grown, text)
	}
	switch b := end.(type) {
	case provider.Thinking:
		switch {
		case b.Kind == "":
			return errors.New("thinking without a kind")
		case b.Signed && b.State.IsZero():
			return errors.New("signed thinking without state")
		case b.Text == "" && b.State.IsZero():
			return errors.New("thinking with neither text nor state was announced")
		}
	case provider.ToolCall:
		if begun := open.begin.(provider.ToolCall); begun.ID != b.ID || begun.Name != b.Name {
			return fmt.Errorf("call %s %q began as %s %q", b.ID, b.Name, begun.ID, begun.Name)
		}
		return checkArguments(grown, b)
	case provider.ServerTool:
		if b.Done && b.State.IsZero() {
			return errors.New("the result of a server tool without state")
		}
	case provider.Opaque:
		if b.State.IsZero() {
			return errors.New("opaque block without state")
		}
	}
	return nil
}

func checkArguments(grown string, b provider.ToolCall) error {
	switch {
	case b.Invalid != "" && len(b.Input) > 0:
		return errors.New("call with both input and invalid text")
	case b.Invalid != "":
		if grown != b.Invalid {
			return fmt.Errorf("deltas add up to %q, the end says %q", grown, b.Invalid)
		}
		return nil
	case !json.Valid(b.Input) || !bytes.HasPrefix(bytes.TrimSpace(b.Input), []byte("{")):
		return fmt.Errorf("input %q is not a JSON object", b.Input)
	case strings.TrimSpace(grown) == "" && string(b.Input) == "{}":
		return nil
	}
	var deltas, end any
	if err := json.Unmarshal([]byte(grown), &deltas); err != nil {
		return fmt.Errorf("deltas add up to %q: %w", grown, err)
	}
	if err := json.Unmarshal(b.Input, &end); err != nil {
		return err
	}
	if diff := cmp.Diff(end, deltas); diff != "" {
		return fmt.Errorf("deltas do not add up to the input (-end +deltas):\n%s", diff)
	}
	return nil
}

func checkState(s provider.State) error {
	if s.IsZero() {
		return nil
	}
	if !json.Valid(s.Data) {
		return fmt.Errorf("state %q is not JSON", s.Data)
	}
	if s.Origin.API == "" || s.Origin.Vendor == "" {
		return fmt.Errorf("state without an origin: %+v", s.Origin)
	}
	return nil
}

// Results is the message that answers each tool call of a reply with the same text.
func Results(reply provider.Blocks, text string) provider.Message {
	results := provider.Message{Role: provider.User}
	for _, b := range reply {
		if call, ok := b.(provider.ToolCall); ok {
			results.Blocks = append(results.Blocks, provider.ToolResult{CallID: call.ID, Blocks: provider.Blocks{provider.Text{Text: text}}})
		}
	}
	return results
}
