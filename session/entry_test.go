package session_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
	"github.com/thinkd/thinkd/session/tool"
)

// samples has a full body of every kind.
func samples() map[string]session.Body {
	state := provider.State{
		Origin: provider.Origin{API: "messages", Vendor: "anthropic", Host: "h", Account: "a", Model: "m"},
		Data:   json.RawMessage(`{"signature":"EqQBCkYI…+/=","n":1.50}`),
	}
	level, policy, display, title, reasoning := provider.High, provider.Refuse, provider.Omitted, "a <b> & \u2028", 7
	usage := provider.Usage{Input: 1, Output: 2, Reasoning: &reasoning, Cached: 3, CacheWrite: 4, Estimated: true,
		Context: &provider.Context{Used: 5, Window: 6}}
	model := session.ModelRef{"anthropic", "claude"}
	return map[string]session.Body{
		"prompt": session.Prompt{Message: storetest.MsgA, Content: provider.Blocks{provider.Text{Text: "say\x00 \"é\""}, provider.Media{Type: "image/png", Data: []byte{0, 255}}},
			Override: session.Override{Model: &model, Level: provider.Max, Display: provider.Updates},
			Stamp:    &session.Stamp{"", []byte{0, 255}}, Queued: true, Steer: true},
		"turn_start": session.TurnStart{Model: model, Reasoning: provider.Decision{Source: provider.SourceTurn, Requested: provider.Max,
			Effective: provider.High, Fallback: provider.Downgrade, Reason: provider.LevelNotSupported,
			Supported: []provider.Level{provider.Low, provider.High}, KnownModel: true, Wire: json.RawMessage(`{"thinking":{}}`)}},
		"steered":    session.Steered{storetest.TurnB},
		"moved":      session.Moved{storetest.TurnB},
		"verdict":    session.Verdict{Confirm: "c", Tool: "t", Action: session.AllowOnce, By: "client", Grant: &tool.Grant{ID: "c", Text: "Commands that begin with `ls`", Scope: tool.PrefixScope, Tool: "t", Prefix: []string{"ls"}}},
		"tool_start": session.ToolStart{storetest.MsgA, 2},
		"tool_end": session.ToolEnd{Message: storetest.MsgB, Number: 1, Reply: storetest.MsgA, CallID: "call_1", Failed: true, DurationMS: 7,
			Content: provider.Blocks{provider.Text{Text: "no"}, provider.Media{Type: "image/png", Data: []byte{1}}}},
		"block": session.Sealed{storetest.MsgA, 3, provider.Thinking{Text: "hm", Kind: provider.ThinkingFull, Signed: true, Tokens: 9, Estimated: true,
			Duration: 412 * time.Millisecond, State: state}},
		"message_end": session.MessageEnd{Message: storetest.MsgA, StopReason: "end_turn", Raw: "stop", Model: "claude-1", RequestID: "req", Usage: usage,
			RawUsage: json.RawMessage(`{"a":1}`), State: state, Incomplete: session.CutOff},
		"retry": session.Retry{storetest.MsgA, []int{0, 2}, usage},
		"setting": session.Setting{Model: &model, Level: &level, Fallback: &policy, Display: &display, Title: &title,
			Metadata: map[string]json.RawMessage{"a": json.RawMessage("null"), "b": json.RawMessage(`{"c":[1]}`)},
			Pin:      []session.MessageID{storetest.MsgA}, Unpin: []session.MessageID{storetest.MsgB}},
		"repair":   session.Repair{"messages", provider.Repair("drop_block")},
		"left_out": session.LeftOut{Model: model, Messages: []session.MessageID{storetest.MsgA}, Emptied: []session.MessageID{storetest.MsgB}, Why: "400"},
		"compaction": session.Compaction{ID: "01K0000000000000000000000S", Upto: storetest.MsgA, Summary: "what was said", Model: model, Usage: usage, InTurn: true,
			Before: 9000, After: 400, Counted: true, Pinned: []session.Pinned{{Message: storetest.MsgA, Role: provider.Assistant,
				Content: provider.Blocks{provider.ToolCall{ID: "c", Name: "look", Input: json.RawMessage(`{}`)}}, Answer: storetest.MsgB,
				Results: provider.Blocks{provider.ToolResult{CallID: "c", Blocks: provider.Blocks{provider.Text{Text: "seen"}}}}}}},
		"uncompaction": session.Uncompaction{Summary: "01K0000000000000000000000S"},
		"turn_parked": session.TurnParked{Why: session.ParkedQuota, Since: 1, Until: 2, Resumes: session.ResumesAlone, RanMS: 3, Failures: 4, Restarted: true,
			Payer: &session.Payer{Account: "a"}, Error: &session.Failure{Kind: "rate_limit", Message: "429", Status: 429},
			Asked: []session.Asked{{Block: 2, Shown: json.RawMessage(`{"confirm":{"confirm_id":"c"}}`)}}},
		"fell_back": session.FellBack{TurnStart: session.TurnStart{Model: model, Key: "k", Payer: &session.Payer{Account: "a"},
			Instead: &session.Instead{Of: session.Link{Model: model, Level: provider.Low, Key: "l"}, Failures: 2, Until: 3}},
			Why: session.Failure{Kind: "overloaded", Message: "529", Status: 529}, Continues: true},
		"reserved": session.Reserved{Day: "2026-11-23", Model: model, Level: provider.High, Payer: &session.Payer{Account: "a"}, Purpose: session.ForTurn, Usage: usage,
			Budgets: &session.BudgetChange{Attended: true, Day: 1}},
		"settled":      session.Settled{Usage: usage},
		"turn_resumed": session.TurnResumed{By: session.ResumedByTime},
		"turn_end": session.TurnEnd{StopReason: "limit", Limit: "bytes", Usage: usage, DurationMS: 12,
			Error: &session.Failure{Kind: "auth", Message: "no key", Status: 401, RetryAfterMS: 5, RequestID: "r", Ref: "x"}},
	}
}

func TestEntryRoundTrip(t *testing.T) {
	all := samples()
	for _, kind := range session.Kinds() {
		body, ok := all[kind]
		if !ok {
			t.Errorf("kind %q has no sample here: add one", kind)
			continue
		}
		want := session.Entry{Seq: 1<<63 + 1, Time: -5, Turn: storetest.TurnA, Body: body}
		var b bytes.Buffer
		plain := json.NewEncoder(&b)
		plain.SetEscapeHTML(false)
		if err := plain.Encode(want); err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		data := bytes.TrimSpace(b.Bytes())
		kept, err := want.MarshalJSON()
		if err != nil || string(kept) != string(data) { // what encoding/json makes of it is valid and compact
			t.Errorf("%s is kept as %s (%v), want %s", kind, kept, err, data)
		}
		var got session.Entry
		if err := json.Unmarshal(data, &got); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	for kind, body := range all {
		if !slices.Contains(session.Kinds(), kind) || session.KindOf(body) != kind {
			t.Errorf("%T calls itself %q, and is kept as %q", body, session.KindOf(body), kind)
		}
	}
}

func TestEntryRefused(t *testing.T) {
	for _, data := range []string{
		``, `null`, `{}`, `[]`, `{"kind":"prompt"}`, `{"kind":"from the future","body":{}}`, `{"kind":"block","body":{}}`,
		`{"kind":"block","body":{"block":{"type":"hologram"}}}`, `{"kind":"turn_end","body":{"duration_ms":"long"}}`,
		`{"kind":"prompt","body":{"content":[{"type":"text"}]}}`, `{"seq":-1,"kind":"retry","body":{}}`,
	} {
		var e session.Entry
		if err := json.Unmarshal([]byte(data), &e); err == nil {
			t.Errorf("%s was taken as %v", data, e)
		}
	}
	if data, err := json.Marshal(session.Entry{}); err == nil {
		t.Errorf("an entry without a body was written as %s", data)
	}
}

// asJSON compares JSON by what it means.
func asJSON() cmp.Option {
	return cmp.Comparer(func(a, b json.RawMessage) bool {
		var x, y bytes.Buffer
		if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
			return bytes.Equal(a, b)
		}
		return bytes.Equal(x.Bytes(), y.Bytes())
	})
}

func FuzzEntry(f *testing.F) {
	for _, body := range samples() {
		data, err := json.Marshal(session.Entry{Seq: 1, Time: 2, Turn: storetest.TurnA, Body: body})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, second session.Entry
		refused := json.Unmarshal(data, &first) != nil
		var spaced bytes.Buffer
		if json.Indent(&spaced, data, "", " ") == nil { // then it is not read in parts
			if err := json.Unmarshal(spaced.Bytes(), &second); (err != nil) != refused {
				t.Fatalf("with spaces: %v", err)
			}
			if diff := cmp.Diff(first, second, asJSON()); diff != "" {
				t.Fatalf("with spaces it differs: %s", diff)
			}
		}
		if refused {
			return
		}
		once, err := json.Marshal(first)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if err := json.Unmarshal(once, &second); err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, once)
		}
		twice, err := json.Marshal(second)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("written twice, it differs: %v\n%s\n%s", err, once, twice)
		}
	})
}

// A log of an older build names the model at the end of a message, and has no payer.
func TestServedOfOlderLogs(t *testing.T) {
	for text, want := range map[string]*session.Served{
		`{"message_id":"m","stop_reason":"end_turn","usage":{}}`:                   nil,
		`{"message_id":"m","stop_reason":"end_turn","usage":{},"model":"small-0"}`: {Model: "small-0"},
		`{"message_id":"m","stop_reason":"end_turn","usage":{},"served":{"requested":{"provider":"a","id":"big-1"},"sent":"big-1","model":"small-0","host":"h","substituted":true}}`: {
			Requested: session.ModelRef{Provider: "a", ID: "big-1"}, Sent: "big-1", Model: "small-0", Host: "h", Other: true},
	} {
		var end session.MessageEnd
		if err := json.Unmarshal([]byte(text), &end); err != nil {
			t.Fatal(err)
		}
		if got := end.By(); (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
	var start session.TurnStart
	if err := json.Unmarshal([]byte(`{"model":{"provider":"a","id":"b"},"reasoning":{}}`), &start); err != nil || start.Payer != nil {
		t.Errorf("%+v, %v", start.Payer, err)
	}
}

// An entry is read in one pass where its members stand as they are written, and in any other layout too.
func TestEntryLayouts(t *testing.T) {
	const text = `,"body":{"block":,"block":}`
	block := session.Sealed{Message: storetest.MsgA, Number: 3, Block: provider.Text{Text: text}}
	want := session.Entry{Seq: 1, Time: 2, Turn: storetest.TurnA, Body: block}
	written, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	inner := `{"block":{"type":"text","text":` + string(shown) + `},"number":3,"message_id":"` + string(storetest.MsgA) + `"}`
	outer := `{"body":` + inner + `,"kind":"block","turn_id":"` + string(storetest.TurnA) + `","ts":2,"seq":1}`
	var indented bytes.Buffer
	if err := json.Indent(&indented, written, "", "  "); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"as written":          string(written),
		"indented":            indented.String(),
		"in another order":    outer,
		"body before the end": `{"seq":1,"ts":2,"turn_id":"` + string(storetest.TurnA) + `","body":` + inner + `,"kind":"block"}`,
	} {
		var got session.Entry
		if err := got.UnmarshalJSON([]byte(data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
	for cut := range written {
		if err := new(session.Entry).UnmarshalJSON(written[:cut]); err == nil {
			t.Errorf("it reads %q", written[:cut])
		}
	}
	for _, data := range []string{string(written) + "}", strings.Replace(string(written), `"block"`, `"unknown"`, 1), `{"ts":1,"kind":"block","body":}`} {
		if err := new(session.Entry).UnmarshalJSON([]byte(data)); err == nil {
			t.Errorf("it reads %q", data)
		}
	}
}

// Equal starts of turns are decoded once. Nothing else is shared, and an entry that cannot be read ends the list.
func TestDecodeEntries(t *testing.T) {
	all := samples()
	other := all["turn_start"].(session.TurnStart)
	other.Model.ID = "another"
	var want []session.Entry
	for _, body := range []session.Body{all["turn_start"], all["block"], all["turn_start"], other, all["turn_start"], all["fell_back"], all["turn_end"], all["turn_end"]} {
		want = append(want, session.Entry{Seq: uint64(len(want)), Time: 7, Turn: storetest.TurnA, Body: body})
	}
	values, err := session.EncodeEntries(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := session.DecodeEntries(values)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	values[3] = values[3][:len(values[3])-2]
	if got, err = session.DecodeEntries(values); err == nil || len(got) != 3 {
		t.Errorf("%d entries are read, %v", len(got), err)
	}
	if got, err = session.DecodeEntries(nil); err != nil || got != nil {
		t.Errorf("of nothing it reads %v, %v", got, err)
	}
}

// A store may use the memory of what it gave to DecodeEntries again.
func TestDecodedEntriesAreCopies(t *testing.T) {
	for kind, body := range samples() {
		written, err := session.EncodeEntries([]session.Entry{{Seq: 1, Time: 2, Turn: storetest.TurnA, Body: body}})
		if err != nil {
			t.Fatal(kind, err)
		}
		value := bytes.Clone(written[0])
		got, err := session.DecodeEntries([][]byte{value})
		if err != nil {
			t.Fatal(kind, err)
		}
		clear(value)
		again, err := session.EncodeEntries(got)
		if err != nil || !bytes.Equal(again[0], written[0]) {
			t.Errorf("%s: %v: decoded entries changed:\n%s\n%s", kind, err, again, written)
		}
	}
}

// Entries are read into memory that later ones use again, on several goroutines: those that were read before stay as they are.
func TestDecodedEntriesStay(outer *testing.T) {
	kinds := slices.Sorted(maps.Keys(samples()))
	testgo.Check(outer, func(t *rapid.T) {
		var pages [3][][]byte
		for i := range pages {
			var list []session.Entry
			for n, kind := range rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 30).Draw(t, "kinds") {
				list = append(list, session.Entry{Seq: uint64(n), Time: int64(i), Turn: "t", Body: samples()[kind]})
			}
			values, err := session.EncodeEntries(list)
			if err != nil {
				t.Fatal(err)
			}
			pages[i] = values
		}
		var read [len(pages)][]session.Entry
		var failed [len(pages)]error
		var readers sync.WaitGroup
		for i, values := range pages {
			readers.Go(testgo.Guard(outer, func() { read[i], failed[i] = session.DecodeEntries(values) }))
		}
		readers.Wait()
		for i, values := range pages {
			again, err := session.EncodeEntries(read[i])
			if err := errors.Join(err, failed[i]); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(values, again); diff != "" {
				t.Fatalf("page %d (-stored +read and stored again):\n%s", i, diff)
			}
		}
	})
}
