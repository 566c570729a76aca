package gemini

import (
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// isServed reports whether a part is of a tool that the vendor runs.
func isServed(p gjson.Result) bool {
	for _, member := range []string{"executableCode", "codeExecutionResult", "toolCall", "toolResponse"} {
		if p.Get(member).IsObject() {
			return true
		}
	}
	return false
}

// servedPart takes in such a part. It goes back as it came, with its signature (docs: code-execution, thought-signatures).
func (r *reply) servedPart(p gjson.Result) error {
	if err := r.hops.only("a part beside text"); err != nil {
		return err
	}
	r.hops.fixed()
	if err := r.seal(); err != nil {
		return err
	}
	b := r.served.piece(p, r.servedID)
	var err error
	if b.State, err = r.state([]json.RawMessage{json.RawMessage(p.Raw)}); err != nil {
		return err
	}
	return r.block(provider.ServerTool{}, b, "")
}

// servedID makes an id for what has none.
func (r *reply) servedID() string {
	r.served.parts++
	return r.mint("served", r.served.parts)
}

// unseen tells what the vendor ran without a part for it. Nothing of it goes back: the vendor has no form for that.
func (r *reply) unseen() error {
	s := &r.served
	state, err := r.state([]json.RawMessage{})
	if err != nil {
		return err
	}
	var list []provider.ServerTool
	if len(s.queries) > 0 && !s.shown["web_search"] {
		list = append(list, provider.ServerTool{Name: "web_search", Input: arguments(map[string]any{"queries": s.queries}), Text: exchange.Pages(len(s.found)), Sources: s.found})
	}
	if len(s.read) > 0 && !s.shown["web_fetch"] {
		b := provider.ServerTool{Name: "web_fetch", Text: exchange.Pages(len(s.read)), Sources: s.read, Failed: s.failed >= len(s.read)}
		if s.failed > 0 {
			b.Text += fmt.Sprintf(", %d of them could not be read", s.failed)
		}
		list = append(list, b)
	}
	for _, b := range list {
		b.ID, b.Done, b.State = r.servedID(), true, state
		if err := r.block(provider.ServerTool{}, b, ""); err != nil {
			return err
		}
	}
	return nil
}
