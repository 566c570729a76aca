package ownjson_test

import (
	"encoding/json"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/ownjson"
	"github.com/thinkd/thinkd/session"
)

// What a log has most of is read in one walk. A new member of another kind shows here, since encoding/json would read the whole.
func TestFitsLogs(t *testing.T) {
	tokens := 7
	state := provider.State{Origin: provider.Origin{API: "messages", Vendor: "anthropic"}, Data: json.RawMessage(`{"signature":"Eq/+=="}`)}
	usage := provider.Usage{Input: 3, Output: 4, Reasoning: &tokens, Cost: &provider.Cost{Amount: 12_345, Currency: provider.USD}, Premium: 1_500_000_000, Context: &provider.Context{Used: 7}}
	fitsLog(t, session.Prompt{Message: "M", Content: provider.Blocks{provider.Text{Text: "<a>\nä"}}, Stamp: &session.Stamp{ID: "s"}, Queued: true, Chosen: &session.Chosen{Level: provider.High}})
	fitsLog(t, session.TurnStart{Model: session.ModelRef{Provider: "p", ID: "m"}, Payer: &session.Payer{Account: "a"}})
	fitsLog(t, session.MessageEnd{Message: "M", StopReason: session.StopEndTurn, Served: &session.Served{Sent: "m"}, Usage: usage, RawUsage: json.RawMessage(`{"input_tokens":3}`), State: state,
		WarmUntil: 1_795_000_000_000, Prompt: &provider.Fingerprint{Tools: 1<<64 - 1, Chain: 1 << 63, Messages: 9}})
	fitsLog(t, session.TurnEnd{StopReason: session.StopEndTurn, Usage: usage, DurationMS: 5, Cache: &session.CacheUse{Expected: 5, Misses: []session.CacheMiss{{Why: "w"}}}})
	fitsLog(t, session.ToolEnd{Message: "M", Reply: "R", CallID: "c", Content: provider.Blocks{provider.Text{Text: "out"}}})
	fitsLog(t, session.Reserved{Day: "2026-11-28", Purpose: session.ForTurn, Usage: usage, Payer: &session.Payer{Account: "a"}})
	fitsLog(t, session.FellBack{TurnStart: session.TurnStart{Key: "k"}, Continues: true})
}

func fitsLog[B any](t *testing.T, body B) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil || !ownjson.Fits[B](data) {
		t.Errorf("%T: %s: %v", body, data, err)
	}
}
