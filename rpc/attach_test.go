package rpc

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/conntest"
)

func TestSeqNumber(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "7": 7, "7.0": 7, "1e3": 1000, "9007199254740993": 1<<53 + 1,
		"18446744073709551615": math.MaxUint64, "18446744073709551616": math.MaxUint64, "1e300": math.MaxUint64} {
		var got seqNumber
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != (seqNumber{want, true}) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"-1", "0.5", "-0.5", "1e999", `"7"`, "true", "[]"} {
		var got seqNumber
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s is taken for %d", text, got.n)
		}
	}
}

// What a client missed comes as updates while an answer holds them, else as messages; either leads to the same.
func TestMissedUpdatesFit(t *testing.T) {
	const limit, pieces = 20_000, 40
	piece := strings.Repeat("b", 400)
	onStage(t, "think "+strings.Repeat(piece+"|", pieces)+piece+"…\nwait 1h", limit, func(s *stage) {
		id := s.result("session/new", map[string]any{"model_id": "anthropic/claude-opus-5-5"}).Get("session_id").String()
		s.result("session/prompt", map[string]any{"session_id": id, "text": "say"})
		s.result("session/detach", map[string]any{"session_id": id})
		time.Sleep(time.Second)
		attach := func(after uint64) gjson.Result {
			return s.result("session/attach", map[string]any{"session_id": id, "after_seq": after})
		}
		const last = 4 + pieces + 1 // prompt, two starts, the block's
		whole := strings.Repeat(piece, pieces+1)
		updates, messages := 0, 0
		for after := uint64(0); after <= last; after++ {
			a := attach(after)
			if a.Get("seq").Int() != last || len(a.Raw) > limit {
				t.Fatalf("%d bytes: %.300s", len(a.Raw), a.Raw)
			}
			if !a.Get("updates").Exists() {
				messages++
				block := a.Get("open.messages.@reverse.0.content.0")
				if text := block.Get("text").String(); !block.Get("truncated").Bool() || !strings.HasPrefix(whole, text) || len(text) < limit/2 {
					t.Errorf("after %d: %.300s", after, block.Raw)
				}
				continue
			}
			updates++
			text := ""
			for _, u := range a.Get("updates").Array() {
				text += u.Get("params.delta").String()
			}
			if want := whole[min(max(int(after)-4, 0)*len(piece), len(whole)):]; text != want || a.Get("messages").Exists() || a.Get("open").Exists() {
				t.Errorf("after %d come %d bytes, want %d", after, len(text), len(want))
			}
		}
		if updates < 20 || messages < 15 {
			t.Errorf("%d answers with updates, %d with messages", updates, messages)
		}
		s.checkSeq()
	})
}

// A prompt that no notification could tell is refused, and leaves nothing behind.
func TestPromptTooLargeToTell(t *testing.T) {
	const limit = 20_000
	onStage(t, "", limit, func(s *stage) {
		id := s.result("session/new", map[string]any{}).Get("session_id").String()
		blocks := func(n int) []any {
			var list []any
			for range n {
				list = append(list, map[string]any{"type": "text", "text": "x"})
			}
			return list
		}
		params := map[string]any{"session_id": id, "content": blocks(700), "client_id": "a"}
		if e := s.ask("session/prompt", params).Get("error"); e.Get("code").Int() != int64(conn.CodeTooLarge) || e.Get("data.limit").Int() != limit {
			t.Errorf("%.300s", e.Raw)
		}
		if n := s.result("session/history", map[string]any{"session_id": id}).Get("messages.#").Int(); n != 0 {
			t.Errorf("%d messages are kept of it", n)
		}
		params["content"] = blocks(300)
		s.result("session/prompt", params)
		text := strings.Repeat("<", limit-500) // takes six times as much in a notification, and is cut there
		s.send(conntest.Request(1, "session/prompt", fmt.Sprintf(`{"session_id":%q,"text":"%s"}`, id, text)))
		if a := s.answer("1"); !a.Get("result").Exists() {
			t.Errorf("%.300s", a.Raw)
		}
		heard := 0
		for _, message := range s.messages() {
			if len(message) > limit {
				t.Errorf("%d bytes: %.200s", len(message), message)
			}
			if strings.HasPrefix(message, `{"jsonrpc":"2.0","method":"prompt"`) {
				heard++
			}
		}
		if heard != 2 {
			t.Errorf("%d prompts were published, want 2", heard)
		}
		s.checkSeq()
	})
}
