package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// awkward has what encoders get wrong: quotes, control characters, JavaScript's line ends, what HTML reads, characters
// outside the first plane, a byte that is no character, and half a character at the end.
const awkward = "a\"b\\c\n\r\t\b\f\x00\x1f\x7f</script>&\u2028\u2029é€𝄞\xff\xed\xa0\x80z\xe2\x82"

// fill gives every member of a value something that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" { // no client gets it, and a Usage has more of its kind in one
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		switch v.Type() {
		case reflect.TypeFor[json.RawMessage]():
			v.SetBytes([]byte(`{"x":["\u2028",1e3]}`))
		case reflect.TypeFor[provider.Blocks]():
			v.Set(reflect.ValueOf(provider.Blocks{provider.Text{Text: awkward}, provider.Media{Type: "image/png", Data: []byte(awkward)}}))
		default:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0))
			fill(v.Index(1))
		}
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(awkward), value)
	case reflect.String:
		v.SetString(awkward)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1<<40 + 7)
	case reflect.Uint64:
		v.SetUint(1<<40 + 7)
	}
}

// filled is each event once with all its members and once with none.
func filled() (events []feed.Event) {
	for _, zero := range feed.Events() {
		v := reflect.New(reflect.TypeOf(zero)).Elem()
		fill(v)
		if m := v.FieldByName("Message"); m.IsValid() && m.Type() == reflect.TypeFor[session.MessageID]() {
			m.SetString(string(session.NewMessageID()))
		}
		events = append(events, zero, v.Interface().(feed.Event))
	}
	return events
}

// plainUpdate is what encoding/json makes of an update.
func plainUpdate(u *feed.Update) ([]byte, error) {
	params := map[string]any{"session_id": u.Session, "seq": u.Seq, "ts": u.Time}
	if u.FirstSeq != 0 {
		params["first_seq"] = u.FirstSeq
	}
	if u.Turn != "" {
		params["turn_id"] = u.Turn
	}
	shown, err := Event(u.Event, 1<<20)
	if err != nil {
		return nil, err
	}
	members, err := json.Marshal(shown)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(members, &params); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"jsonrpc": "2.0", "method": u.Event.Method(), "params": params})
}

func TestUpdatesAreJSON(t *testing.T) {
	s := Encoder{Limit: 8 << 20}
	for _, e := range filled() {
		for _, u := range []*feed.Update{
			{Session: session.NewID(), Seq: 1<<63 + 1, Time: 1795219260000, Turn: session.NewTurnID(), Event: e},
			{Session: session.NewID(), FirstSeq: 1 << 24, Seq: 1<<24 + 5, Time: 1, Event: e},
		} {
			got := s.Update(u)
			if !json.Valid(got) || !utf8.Valid(got) || bytes.ContainsAny(got, "\n\r\u2028\u2029") {
				t.Errorf("%s: no line of JSON: %q", e.Method(), got)
				continue
			}
			plain, err := plainUpdate(u)
			if err != nil {
				t.Fatal(err)
			}
			var gotValue, want any
			if json.Unmarshal(got, &gotValue) != nil || json.Unmarshal(plain, &want) != nil {
				t.Fatalf("%s and %s", got, plain)
			}
			if diff := cmp.Diff(want, gotValue); diff != "" {
				t.Errorf("%s (-encoding/json +ours)\n%s", e.Method(), diff)
			}
		}
	}
}

// A vendor's state is nobody's but the vendor's.
func TestUpdatesShowNoState(t *testing.T) {
	state := provider.State{Origin: provider.Origin{API: "canary"}, Data: json.RawMessage(`"canary"`)}
	u := &feed.Update{Event: feed.PromptStored{Content: provider.Blocks{provider.Text{Text: "x", State: state}}}}
	if got := (Encoder{Limit: 8 << 20}).Update(u); bytes.Contains(got, []byte("canary")) {
		t.Errorf("%s", got)
	}
}

// Whatever it tells, an update fits into a message, and a text that is cut is a beginning and says so.
func TestUpdatesFit(t *testing.T) {
	const limit = 10_000
	s := Encoder{Limit: limit}
	queue := make([]feed.Queued, 1000)
	for i := range queue {
		queue[i] = feed.Queued{Turn: session.NewTurnID(), Text: strings.Repeat("q", 1000)}
	}
	for _, piece := range []string{"x", "é", "\x00", "<", "\u2028", "𝄞", "\xff", "\""} {
		text := strings.Repeat(piece, limit)
		for _, tc := range []struct {
			event feed.Event
			at    string
		}{
			{feed.ThinkingEnd{Text: text}, "params"},
			{feed.TextEnd{Text: text}, "params"},
			{feed.PromptStored{Content: provider.Blocks{provider.Text{Text: text}, provider.Text{Text: "more"}}}, "params.content.0"},
		} {
			got := s.Update(&feed.Update{Session: session.NewID(), Turn: session.NewTurnID(), Event: tc.event})
			shown := gjson.GetBytes(got, tc.at)
			begins := shown.Get("text").String()
			if len(got) > limit || !shown.Get("truncated").Bool() || len(begins) < limit/12 || !json.Valid(got) ||
				!strings.HasPrefix(strings.ToValidUTF8(text, "\uFFFD"), strings.TrimRight(begins, "\uFFFD")) {
				t.Errorf("%s of %q: %d bytes, truncated %v, %d bytes of text", tc.event.Method(), piece, len(got), shown.Get("truncated"), len(begins))
			}
		}
	}
	media := feed.PromptStored{Content: provider.Blocks{provider.Media{Type: "image/png", Data: make([]byte, limit)}}}
	got := s.Update(&feed.Update{Event: media})
	if len(got) > limit || gjson.GetBytes(got, "params.content.0").Raw != `{"block":0,"truncated":true,"type":"media","mime_type":"image/png"}` {
		t.Errorf("%.300s", got)
	}
	got = (Encoder{Limit: 8 << 20}).Update(&feed.Update{Event: feed.QueueUpdate{Queue: queue}})
	if n := gjson.GetBytes(got, "params.queue.#").Int(); n != maxQueued || !gjson.GetBytes(got, "params.more_queued").Bool() {
		t.Errorf("%d of %d are listed", n, len(queue))
	}
	if text := gjson.GetBytes(got, "params.queue.0.text").String(); len(text) != maxQueuedText {
		t.Errorf("%d characters are listed", len(text))
	}
}

func TestHead(t *testing.T) {
	for _, tc := range []struct {
		text  string
		limit int
		want  string
	}{
		{"abc", 0, ""}, {"abc", 2, "ab"}, {"abc", 3, "abc"}, {"", 0, ""},
		{"é€", 1, ""}, {"é€", 2, "é"}, {"é€", 4, "é"}, {"é€", 5, "é€"},
		{"a\"b", 2, "a"}, {"a\"b", 3, "a\""}, {"a\x00b", 6, "a"}, {"a\x00b", 7, "a\x00"},
		{"a\xffb", 7, "a\xff"}, {"a<b", 5, "a"}, {"a\u2028b", 7, "a\u2028"},
	} {
		got, whole := head(tc.text, tc.limit)
		if got != tc.want || whole != (got == tc.text) {
			t.Errorf("head(%q, %d) is %q, %v", tc.text, tc.limit, got, whole)
		}
	}
}

func FuzzHead(f *testing.F) {
	f.Add(awkward, 20)
	f.Add("é\xff", 3)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 0 {
			return
		}
		got, whole := head(text, limit)
		encoded, err := json.Marshal(got)
		if err != nil || !strings.HasPrefix(text, got) || whole != (got == text) || len(encoded)-len(`""`) > limit {
			t.Errorf("head(%q, %d) is %q, %v: %d bytes", text, limit, got, whole, len(encoded))
		}
	})
}

// BenchmarkEncodeUpdate is a delta of the usual size, beside what encoding/json takes for the same and beside the copy
// of the finished bytes, below which nothing can be.
func BenchmarkEncodeUpdate(b *testing.B) {
	s := Encoder{Limit: 8 << 20}
	u := &feed.Update{Session: session.NewID(), Seq: 1 << 24, Time: 1795219260000, Turn: session.NewTurnID(),
		Event: feed.ThinkingDelta{Message: session.NewMessageID(), Block: 3, Delta: " the second date is later, since\n"}}
	encoded := s.Update(u)
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(encoded)))
		b.ReportAllocs()
		for b.Loop() {
			encoded = s.Update(u)
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		type params struct {
			Session session.ID     `json:"session_id"`
			Seq     uint64         `json:"seq"`
			Time    int64          `json:"ts"`
			Turn    session.TurnID `json:"turn_id"`
			feed.ThinkingDelta
		}
		type notification struct {
			Version string `json:"jsonrpc"`
			Method  string `json:"method"`
			Params  params `json:"params"`
		}
		b.SetBytes(int64(len(encoded)))
		b.ReportAllocs()
		for b.Loop() {
			out, err := json.Marshal(notification{"2.0", u.Event.Method(), params{u.Session, u.Seq, u.Time, u.Turn, u.Event.(feed.ThinkingDelta)}})
			if err != nil || len(out) != len(encoded) {
				b.Fatalf("%s, %v", out, err)
			}
		}
	})
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(int64(len(encoded)))
		b.ReportAllocs()
		for b.Loop() {
			if out := append([]byte(nil), encoded...); len(out) != len(encoded) {
				b.Fatal(out)
			}
		}
	})
}
