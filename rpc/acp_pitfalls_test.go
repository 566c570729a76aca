package rpc

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session"
)

const onOpus = `{"sessionId":%q,"configId":"model","value":"mirror/claude-opus-5-5"}`

// Cancelled is how a turn ended, no failure; and a prompt that waits is answered when its own turn ends.
func TestACPCancel(t *testing.T) {
	onStage(t, "think Let me…\nwait 1h\n\nsay two\n\nthink Again…\nwait 1h\n\nsay never", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		id := d.newSession()
		from := len(d.got())
		d.prompt(id, "one")
		time.Sleep(time.Second)
		second := d.prompt(id, "two")
		time.Sleep(time.Second)
		if _, at := d.answer(second); at != -1 {
			t.Error("the second prompt is answered before its turn")
		}
		d.say(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":3}}`) // the first prompt alone
		time.Sleep(time.Second)
		d.tells(from, "agent_thought_chunk Let me", "usage_update", "session_info_update", "cancelled", "agent_message_chunk two", "usage_update", "end_turn")

		// A stop is of all that this editor has asked for, the waiting ones too; it comes right behind the prompts.
		from = len(d.got())
		third := conntest.Request(100, "session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"three"}]}`, id))
		fourth := conntest.Request(101, "session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"four"}]}`, id))
		d.say(third + "\n" + fourth + "\n" + fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, id))
		time.Sleep(time.Second)
		d.tells(from, "cancelled", "usage_update", "cancelled")

		// Nothing runs, and a stop does nothing, to the next prompt neither.
		d.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, id))
		from = len(d.got())
		d.prompt(id, "five")
		time.Sleep(time.Second)
		if got := d.story(from); len(got) == 0 || strings.Contains(strings.Join(got, ","), "cancelled") {
			t.Errorf("a stop of nothing stops what comes later: %q", got)
		}
	})
}

// What is written of a turn comes before the answer to its prompt, however much it is.
func TestACPUpdatesBeforeTheAnswer(t *testing.T) {
	onStage(t, "think "+strings.Repeat("é", 50_000)+"\ngrow 1000 300\nsay .", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		id := d.newSession()
		from := len(d.got())
		prompt := d.prompt(id, "long")
		time.Sleep(time.Minute)
		all := d.got()
		if _, at := d.answer(prompt); at != len(all)-1 {
			t.Errorf("the answer is message %d of %d", at, len(all))
		}
		var thought, said int
		for _, m := range all[from:] {
			text := m.Get("params.update.content.text").String()
			if len(text) > 32<<10 || !utf8.ValidString(text) || strings.Contains(text, "\uFFFD") {
				t.Errorf("a chunk of %d bytes", len(text))
			}
			switch m.Get("params.update.sessionUpdate").String() {
			case "agent_thought_chunk":
				thought += len(text)
			case "agent_message_chunk":
				said += len(text)
			}
		}
		if thought != 100_000 || said != 300_001 {
			t.Errorf("%d bytes of thinking and %d of text", thought, said)
		}
	})
}

// The protocol's rules on messages that are nobody's.
func TestACPUnknown(t *testing.T) {
	onStage(t, "", 0, func(s *stage) {
		d := s.sit(`{"fs":{"readTextFile":true},"x-unknown":{"deep":[1]},"_meta":{"a":1}}`)
		defer d.stand()
		gone := `{"sessionId":"01KAK2V7M0Q2X4T6V8Y0A2C4E6","cwd":"` + srv + `","mcpServers":[]}`
		for _, tc := range []struct {
			method, params string
			code           int64
		}{
			{"initialize", `{"protocolVersion":1}`, -32600},
			{"session/unheard_of", `{}`, -32601},
			{"_unheard/of", `{}`, -32601},
			{"ping", `{}`, -32601},
			{"auth/set_key", `{"provider":"anthropic","key":"x"}`, -32601},
			{"_thinkd/auth/set_key", `{"provider":"anthropic","key":"x"}`, -32601},
			{"session/attach", gone, -32601},
			{"authenticate", `{"methodId":"x"}`, -32602},
			{"session/new", `{"mcpServers":[]}`, -32602},
			{"session/new", `{"cwd":"srv","mcpServers":[]}`, -32602},
			{"session/new", `{"cwd":7,"mcpServers":[]}`, -32602},
			{"session/load", gone, -32002},
			{"session/load", `{"sessionId":"../../etc","cwd":"` + srv + `","mcpServers":[]}`, -32002},
			{"session/resume", gone, -32002},
			{"session/close", gone, -32002},
			{"session/prompt", `{"sessionId":"01KAK2V7M0Q2X4T6V8Y0A2C4E6","prompt":[{"type":"text","text":"x"}]}`, -32002},
			{"session/set_mode", `{"sessionId":"x","modeId":"ask"}`, -32002},
		} {
			if e := d.refused(tc.method, tc.params); e.Get("code").Int() != tc.code || e.Get("data.error").String() == "" && tc.code != -32601 {
				t.Errorf("%s %s: %s, want %d", tc.method, tc.params, e.Raw, tc.code)
			}
		}
		if e := d.refused("session/new", `{"cwd":"srv","mcpServers":[]}`); e.Get("message").String() != "cwd: must be an absolute path" {
			t.Errorf("a relative directory: %s", e.Raw)
		}
		id := d.newSession()
		for _, params := range []string{`"prompt":[]`, `"prompt":[{"type":"text","text":" "}]`, `"prompt":[{"type":"audio","data":"","mimeType":"audio/wav"}]`,
			`"prompt":[{"type":"image","data":"?","mimeType":"image/png"}]`, `"prompt":"x"`, `"prompt":[{"type":"text","text":"/think much Why?"}]`} {
			if e := d.refused("session/prompt", fmt.Sprintf(`{"sessionId":%q,%s}`, id, params)); e.Get("code").Int() != -32602 {
				t.Errorf("%s: %s", params, e.Raw)
			}
		}
		for _, params := range []string{`"configId":"colour","value":"red"`, `"configId":"model","value":"nobody/none"`, `"configId":"reasoning_effort","value":"much"`,
			`"configId":"mode","value":"yolo"`, `"configId":"mode","value":true`} {
			if e := d.refused("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,%s}`, id, params)); e.Get("code").Int() != -32602 {
				t.Errorf("%s: %s", params, e.Raw)
			}
		}
		d.result("session/delete", `{"sessionId":"never was"}`)
		d.result("session/delete", fmt.Sprintf(`{"sessionId":%q}`, id))
		d.result("session/delete", fmt.Sprintf(`{"sessionId":%q}`, id))

		from := len(d.got())
		d.say(`{"jsonrpc":"2.0","method":"_nobody/knows","params":{}}`)
		d.say(`{"jsonrpc":"2.0","method":"$/unheard","params":{}}`)
		d.say(`{"jsonrpc":"2.0","id":"thinkd-1","result":{}}`)
		d.say(`[{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}]`)
		d.tells(from, "error -32600") // the batch; nothing else is answered
		if last := d.got()[from]; last.Get("id").Type != gjson.Null {
			t.Errorf("the answer to a batch has the id %s", last.Get("id"))
		}
	})
}

// Lists of options are complete, on every occasion, and all words are of the lists that the protocol closes.
func TestACPOptions(t *testing.T) {
	onStage(t, "say hi", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		made := d.result("session/new", `{"cwd":"`+srv+`/app","mcpServers":[]}`)
		id := made.Get("sessionId").String()
		if got := made.Get("configOptions.#.id").Raw + made.Get("configOptions.#.category").Raw; got != `["model","mode","reasoning_effort","thinking_display","service_tier"]["model","mode","thought_level","model_config","model_config"]` {
			t.Error(got)
		}
		after := d.result("session/set_config_option", fmt.Sprintf(onOpus, id))
		if got := currentOptions(after); got != `"mirror/claude-opus-5-5","ask","low"` {
			t.Error(got)
		}
		var models []string
		for _, m := range after.Get("configOptions.0.options.#.value").Array() {
			models = append(models, m.String())
		}
		for _, m := range models {
			if vendor, _, _ := strings.Cut(m, "/"); vendor != "mirror" && vendor != "sim" {
				t.Errorf("%s cannot be called and is offered", m)
			}
		}
		from := len(d.got())
		d.result("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"reasoning_effort","value":"medium"}`, id))
		d.result("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"mode","value":"edit"}`, id))
		d.tells(from, "result", "result") // this editor has the list, and is not told again
		d.result("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"read"}`, id))
		d.result("session/set_model", fmt.Sprintf(`{"sessionId":%q,"modelId":"mirror/claude-haiku-4-5"}`, id))
		d.tells(from+2, "result", `config_option_update "mirror/claude-opus-5-5","read","medium"`, "current_mode_update",
			"result", `config_option_update "mirror/claude-haiku-4-5","read","medium"`)

		// What another client sets is published to this one, whichever protocol the other client speaks.
		from = len(d.got())
		s.result("thinking/set", map[string]any{"session_id": id, "level": "low"})
		other := s.sit(`{}`)
		defer other.stand()
		resumed := other.result("session/resume", fmt.Sprintf(`{"sessionId":%q,"cwd":"`+srv+`/app"}`, id))
		if got := currentOptions(resumed); got != `"mirror/claude-haiku-4-5","read","low"` {
			t.Error(got)
		}
		other.result("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"reasoning_effort","value":"high"}`, id))
		d.tells(from, `config_option_update "mirror/claude-haiku-4-5","read","low"`, `config_option_update "mirror/claude-haiku-4-5","read","high"`)
		// The words of model_config are the session's options of model calls.
		from = len(d.got())
		other.result("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"service_tier","value":"standard"}`, id))
		time.Sleep(time.Second)
		told := d.got()[from:]
		if len(told) != 1 || told[0].Get(`params.update.configOptions.#(id=="service_tier").currentValue`).String() != "standard" {
			t.Errorf("the other editor received %v", told)
		}
		if tier := s.result("session/state", map[string]any{"session_id": id}).Get("session.options.service_tier").String(); tier != "standard" {
			t.Errorf("the session has the tier %q", tier)
		}
		if got := s.result("session/state", map[string]any{"session_id": id}).Get("session"); got.Get("thinking_level").String() != "high" || got.Get("tool_mode").String() != "read" {
			t.Errorf("%s", got)
		}
	})
}

// A block without text is described in the _meta of an update, and only editors that can show notices get notices.
func TestACPSilentBlocks(t *testing.T) {
	onStage(t, "think …\nsay hi", 0, func(s *stage) {
		for capabilities, notices := range map[string]bool{`{}`: false, `{"session":{"notices":null}}`: false, `{"session":{"notices":{}}}`: true} {
			d := s.sit(capabilities)
			id := d.newSession()
			d.prompt(id, "one")
			time.Sleep(time.Second)
			told := false
			for _, m := range d.got() {
				up := m.Get("params.update")
				if strings.HasSuffix(up.Get("sessionUpdate").String(), "_chunk") && up.Get("content.text").String() == "" {
					t.Errorf("an empty chunk: %s", m)
				}
				told = told || up.Get("sessionUpdate").String() == "notice"
			}
			if told != notices {
				t.Errorf("with %s, notices came: %v", capabilities, told)
			}
			d.stand()
		}
	})
}

// withTools plays on a session whose model calls tools of a client, of which one asks.
func withTools(t *testing.T, script string, play func(s *stage, id string)) {
	onStage(t, script, 0, func(s *stage) {
		id := s.result("session/new", map[string]any{"model_id": "mirror/claude-opus-5-5", "cwd": srv + "/app",
			"tools":       []map[string]any{{"name": "write", "effect": "edit", "title": "Write a file"}, {"name": "look", "effect": "read"}},
			"tool_policy": map[string]any{"effects": map[string]string{"edit": "ask"}}}).Get("session_id").String()
		play(s, id)
	})
}

func resume(d *desk, id string) {
	d.Helper()
	d.result("session/resume", fmt.Sprintf(`{"sessionId":%q,"cwd":"`+srv+`/app"}`, id))
}

// asked is the request for a permission that the editor got last.
func (d *desk) asked() (request gjson.Result) {
	for _, m := range d.got() {
		if m.Get("method").String() == "session/request_permission" {
			request = m
		}
	}
	return request
}

func (d *desk) permit(outcome string) {
	d.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":%s}}`, d.asked().Get("id").Raw, outcome))
	synctest.Wait()
}

// Questions are asked only during a turn. The first answer counts, and the questions to other editors are cancelled.
func TestACPPermission(t *testing.T) {
	withTools(t, "call c1 write {\"a\":1}\n\nsay done\n\ncall c1 write {}\n\nsay done\n\ncall c1 write {}\n\nsay done", func(s *stage, id string) {
		d, other := s.sit(`{}`), s.sit(`{}`)
		defer d.stand()
		defer other.stand()
		resume(d, id)
		resume(other, id)
		from := len(d.got())
		d.prompt(id, "one")
		time.Sleep(time.Second)
		q := d.asked().Get("params")
		if got := q.Get("options.#.kind").Raw; got != `["allow_once","allow_always","reject_once","reject_always"]` || q.Get("toolCall.rawInput.a").Int() != 1 {
			t.Errorf("%s", q)
		}
		d.permit(`{"outcome":"selected","optionId":"allow"}`)
		s.result("tool/result", map[string]any{"session_id": id, "call_id": "c1", "content": []map[string]any{{"type": "text", "text": "ok"}}})
		time.Sleep(time.Second)
		d.tells(from, "tool_call pending", "session/request_permission", "tool_call_update in_progress", `tool_call_update completed ["ok"]`,
			"usage_update", "agent_message_chunk done", "usage_update", "session_info_update", "end_turn")
		if got := other.story(0); got[len(got)-1] != "session_info_update" || !strings.Contains(strings.Join(got, " "), "$/cancel_request") {
			t.Errorf("the other editor is asked for ever: %q", got)
		}
		// An id of a vendor that comes again is another call.
		from = len(d.got())
		d.prompt(id, "two")
		time.Sleep(time.Second)
		other.permit(`{"outcome":"selected","optionId":"deny"}`)
		time.Sleep(time.Second)
		got := d.story(from)
		if strings.Join(got[:3], ",") != "tool_call pending,session/request_permission,$/cancel_request" || !strings.Contains(strings.Join(got, ","), `tool_call_update failed`) {
			t.Errorf("%q", got)
		}
		// A stop: the client answers what it was asked, and the prompt is cancelled.
		from = len(d.got())
		d.prompt(id, "three")
		time.Sleep(time.Second)
		d.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, id))
		d.permit(`{"outcome":"cancelled"}`)
		time.Sleep(time.Second)
		got = d.story(from)
		if got[len(got)-1] != "cancelled" || strings.Contains(strings.Join(got, ","), "error") {
			t.Errorf("%q", got)
		}
		ids := map[string]bool{}
		for _, m := range d.got() {
			if m.Get("params.update.sessionUpdate").String() == "tool_call" {
				ids[m.Get("params.update.toolCallId").String()] = true
			}
		}
		if len(ids) != 3 {
			t.Errorf("three calls have the ids %v", ids)
		}

		loaded := s.sit(`{}`)
		defer loaded.stand()
		from = len(loaded.got())
		loaded.ask("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"`+srv+`/app","mcpServers":[]}`, id))
		var states []string
		for _, line := range loaded.story(from) {
			if strings.HasPrefix(line, "tool_call") {
				states = append(states, strings.Fields(line)[1])
			}
		}
		if diff := cmp.Diff([]string{"completed", "failed", "failed"}, states); diff != "" {
			t.Errorf("calls as they ended (-want +got)\n%s", diff)
		}
	})
}

// reject_always denies later calls without a question, for every client of the session, until it is revoked.
func TestACPRejectAlways(t *testing.T) {
	withTools(t, "call c1 write {}\n\nsay a\n\ncall c2 write {}\n\nsay b\n\ncall c3 write {}\n\nsay c", func(s *stage, id string) {
		d := s.sit(`{}`)
		defer d.stand()
		resume(d, id)
		d.prompt(id, "one")
		time.Sleep(time.Second)
		option := d.asked().Get(`params.options.#(kind=="reject_always")`)
		if option.Get("name").String() != "Deny until this session ends: All calls of write" {
			t.Fatalf("%s", d.asked())
		}
		d.permit(fmt.Sprintf(`{"outcome":"selected","optionId":%q}`, option.Get("optionId").String()))
		time.Sleep(time.Second)
		from := len(d.got())
		d.prompt(id, "two")
		time.Sleep(time.Second)
		if got := strings.Join(d.story(from), ","); strings.Contains(got, "request_permission") || !strings.Contains(got, "tool_call_update failed") || !strings.HasSuffix(got, "end_turn") {
			t.Errorf("a denied call: %q", got)
		}
		list := d.result("_thinkd/session/grants", fmt.Sprintf(`{"session_id":%q}`, id)).Get("grants")
		if list.Get("#").Int() != 1 || !list.Get("0.deny").Bool() {
			t.Fatalf("%s", list)
		}
		d.result("_thinkd/session/grants", fmt.Sprintf(`{"session_id":%q,"revoke":[%q]}`, id, list.Get("0.id").String()))
		before := d.asked().Get("id").Raw
		d.prompt(id, "three")
		time.Sleep(time.Second)
		if d.asked().Get("id").Raw == before {
			t.Error("a call is denied after the denial was revoked")
		}
		d.permit(`{"outcome":"cancelled"}`)
		time.Sleep(time.Second)
	})
}

// A change of the mode applies to the next call.
func TestACPMode(t *testing.T) {
	withTools(t, "call c1 write {}\n\nsay a\n\ncall c2 write {}\ncall c3 look {}\n\nsay b", func(s *stage, id string) {
		d := s.sit(`{}`)
		defer d.stand()
		resume(d, id)
		d.result("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"edit"}`, id))
		d.prompt(id, "one")
		time.Sleep(time.Second)
		if d.asked().Exists() {
			t.Error("a question in the mode that edits freely")
		}
		s.result("tool/result", map[string]any{"session_id": id, "call_id": "c1", "content": []any{}})
		time.Sleep(time.Second)
		d.result("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"read"}`, id))
		from := len(d.got())
		d.prompt(id, "two")
		time.Sleep(time.Second)
		if got := d.story(from); len(got) < 3 || !strings.HasPrefix(got[1], "tool_call_update failed") || got[2] != "tool_call in_progress" {
			t.Errorf("in the mode that only reads: %q", got)
		}
	})
}

// Every way that a turn ends has one of ACP's words, or is an error that says what to do.
func TestACPStops(t *testing.T) {
	for _, tc := range []struct {
		fail      string
		code      int64
		retryable bool
	}{
		{"rate_limit slow down", -32010, true}, {"auth no key", -32000, false}, {"context_too_long too much", -32603, false},
	} {
		// A rate limit is tried again by itself, at length.
		onStage(t, strings.TrimSpace(strings.Repeat("fail "+tc.fail+"\n\n", 12)), 0, func(s *stage) {
			d := s.sit(`{}`)
			defer d.stand()
			id := d.prompt(d.newSession(), "one")
			time.Sleep(time.Hour)
			a, at := d.answer(id)
			e := a.Get("error")
			if at != len(d.got())-1 || e.Get("code").Int() != tc.code || e.Get("data.retryable").Bool() != tc.retryable ||
				e.Get("data.error").String() == "" || e.Get("data.kind").String() != strings.Fields(tc.fail)[0] || e.Get("data.provider").String() == "" {
				t.Errorf("%s: %s", tc.fail, a.Raw)
			}
		})
	}
}

// A prompt that waits in the queue when the daemon ends stays there, so that an editor is not to send it again. Its turn has not begun, unlike that of the
// prompt before it.
func TestACPQueuedAtTheEnd(t *testing.T) {
	onStage(t, "think Hm…\nwait 1h\nsay done", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		id := d.newSession()
		runs, queued := d.prompt(id, "one"), d.prompt(id, "two")
		s.group.Close()
		for prompt, retryable := range map[string]bool{runs: true, queued: false} {
			a, _ := d.answer(prompt)
			if e := a.Get("error"); e.Get("data.kind").String() != "closing" || e.Get("data.retryable").Bool() != retryable {
				t.Errorf("want retryable %v: %s", retryable, a.Raw)
			}
		}
		if a, _ := d.answer(queued); !strings.Contains(a.Get("error.message").String(), "stays in its session") {
			t.Errorf("%s", a.Raw)
		}
	})
}

// A session that somebody else follows is left; one that is this editor's alone stops.
func TestACPClose(t *testing.T) {
	for _, shared := range []bool{false, true} {
		onStage(t, "think Hm…\nwait 1m\nsay done", 0, func(s *stage) {
			d := s.sit(`{}`)
			defer d.stand()
			id := d.newSession()
			if shared {
				s.result("session/attach", map[string]any{"session_id": id})
			}
			from := len(d.got())
			d.prompt(id, "one")
			time.Sleep(time.Second)
			d.result("session/close", fmt.Sprintf(`{"sessionId":%q}`, id))
			d.tells(from, "agent_thought_chunk Hm", "cancelled", "result")
			status := s.result("session/state", map[string]any{"session_id": id}).Get("session.status").String()
			if want := map[bool]string{true: "running", false: "idle"}[shared]; status != want {
				t.Errorf("shared %v: %s", shared, status)
			}
			time.Sleep(time.Hour)
			d.tells(from, "agent_thought_chunk Hm", "cancelled", "result")
		})
	}
}

// An editor that stays keeps nothing of a session that is deleted, by itself or by another client. A prompt to it is
// refused.
func TestACPDeleted(t *testing.T) {
	for _, native := range []bool{false, true} {
		onStage(t, "say done", 0, func(s *stage) {
			d := s.sit(`{}`)
			defer d.stand()
			id := d.newSession()
			d.prompt(id, "one")
			time.Sleep(time.Second)
			if s.server.editors.Open() != 1 || d.editor.Open() != 1 {
				t.Fatalf("%d sessions are open in editors, %d in this one", s.server.editors.Open(), d.editor.Open())
			}
			if native {
				s.result("session/delete", map[string]any{"session_id": id})
			} else {
				d.result("session/delete", fmt.Sprintf(`{"sessionId":%q}`, id))
			}
			a, _ := d.answer(d.ask("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"two"}]}`, id)))
			if a.Get("error.code").Int() != int64(door.ACPNotFound) {
				t.Errorf("a prompt to it: %s", a)
			}
			if s.server.editors.Open() != 0 || d.editor.Open() != 0 {
				t.Errorf("%d sessions are left open in editors, %d in this one", s.server.editors.Open(), d.editor.Open())
			}
		})
	}
}

// An editor that loads or resumes in the middle of a turn goes on with it, and one that was asked for is answered.
func TestACPMidTurn(t *testing.T) {
	onStage(t, "think One|Two\nwait 1m\nsay done", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		id := d.newSession()
		prompt := d.prompt(id, "go")
		time.Sleep(time.Second)
		loading, resuming := s.sit(`{}`), s.sit(`{}`)
		defer loading.stand()
		defer resuming.stand()
		l, r := len(loading.got()), len(resuming.got())
		loading.ask("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"`+srv+`/app","mcpServers":[{"name":"x","command":"/bin/x","args":[],"env":[]}]}`, id))
		resume(resuming, id)
		from := len(d.got())
		d.ask("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"`+srv+`/app","mcpServers":[]}`, id)) // its prompt is still open
		time.Sleep(time.Hour)
		rest := []string{"available_commands_update", "agent_message_chunk done", "usage_update", "session_info_update"}
		resuming.tells(r, append([]string{"result"}, rest...)...)
		past := []string{"user_message_chunk go", "agent_thought_chunk OneTwo", "result"}
		loading.tells(l, append(past, rest...)...)
		d.tells(from, append(append(past, rest...), "end_turn")...)
		if a, _ := d.answer(prompt); a.Get("result.stopReason").String() != "end_turn" {
			t.Errorf("%s", a)
		}
	})
}

// A prompt of one editor is shown in the other. A native client gets the same turn at the same time.
func TestACPShared(t *testing.T) {
	onStage(t, "think Hm.\nsay done", 0, func(s *stage) {
		d, other := s.sit(`{}`), s.sit(`{}`)
		defer d.stand()
		defer other.stand()
		id := d.newSession()
		resume(other, id)
		s.result("session/attach", map[string]any{"session_id": id})
		from, heard := len(other.got()), len(s.messages())
		d.prompt(id, "go")
		time.Sleep(time.Second)
		other.tells(from, "user_message_chunk go", "agent_thought_chunk Hm.", "agent_message_chunk done", "usage_update", "session_info_update")
		var methods []string
		for _, m := range s.messages()[heard:] {
			methods = append(methods, gjson.Get(m, "method").String())
		}
		if got := strings.Join(methods, " "); !strings.HasPrefix(got, "prompt turn_start") || !strings.HasSuffix(got, "turn_end") {
			t.Error(got)
		}
		// By its number, an update is the same in both protocols.
		var seqs []string
		for _, m := range other.got()[from:] {
			seqs = append(seqs, m.Get("params.update._meta.thinkd\\.dev/update.seq").Raw)
		}
		for _, seq := range seqs {
			found := false
			for _, m := range s.messages()[heard:] {
				found = found || gjson.Get(m, "params.seq").Raw == seq
			}
			if !found {
				t.Errorf("no client got %s", seq)
			}
		}
	})
}

func TestACPSteering(t *testing.T) {
	withTools(t, "call c1 look {}\n\nsay done\n\nsay alone", func(s *stage, id string) {
		d := s.sit(`{}`)
		defer d.stand()
		resume(d, id)
		steer := func(more string) string {
			return d.result("_session/steering", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"faster"}]%s}`, id, more)).Get("outcome").String()
		}
		const required = `,"_meta":{"steering":{"idleBehavior":"promptRequired"}}`
		if got := steer(required); got != "promptRequired" {
			t.Error(got)
		}
		from := len(d.got())
		d.prompt(id, "go")
		time.Sleep(time.Second)
		if got := steer(required); got != "injected" {
			t.Error(got)
		}
		s.result("tool/result", map[string]any{"session_id": id, "call_id": "c1", "content": []any{}})
		time.Sleep(time.Second)
		var said []string // the prompts of the conversation, with what the model answers to them
		for _, m := range s.result("session/history", map[string]any{"session_id": id}).Get("messages").Array() {
			if text := m.Get(`content.#(type=="text").text`).String(); text != "" {
				said = append(said, m.Get("role").String()+" "+text)
			}
		}
		if diff := cmp.Diff([]string{"user go", "user faster", "assistant done"}, said); diff != "" {
			t.Errorf("the model got it before its next call (-want +got)\n%s", diff)
		}
		if got := steer(""); got != "startedNewTurn" {
			t.Error(got)
		}
		time.Sleep(time.Second)
		for _, line := range d.story(from) {
			if strings.HasPrefix(line, "user_message_chunk") {
				t.Error("the editor gets its own prompt back")
			}
		}
	})
}

// A command at the start of a prompt is for that prompt alone.
func TestACPThink(t *testing.T) {
	onStage(t, "say one\n\nsay two", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		id := d.newSession()
		d.result("session/set_config_option", fmt.Sprintf(onOpus, id))
		levels := func() (list []string) {
			for _, m := range d.got() {
				for _, e := range m.Get("params.update._meta.thinkd\\.dev/events").Array() {
					if level := e.Get("params.model.thinking_level"); level.Exists() {
						list = append(list, level.String())
					}
				}
			}
			return list
		}
		d.prompt(id, "/think max Why?")
		time.Sleep(time.Second)
		d.prompt(id, "/thinking is fun")
		time.Sleep(time.Second)
		if diff := cmp.Diff([]string{"max", "low"}, levels()); diff != "" {
			t.Error(diff)
		}
		said := s.result("session/history", map[string]any{"session_id": id}).Get(`messages.#(role=="user")#.content.0.text`).Raw
		if said != `["Why?","/thinking is fun"]` {
			t.Error(said)
		}
	})
}

// Lists come in pages, with absolute directories, and an editor that asks for its own gets those alone.
func TestACPList(t *testing.T) {
	onStage(t, "say hi", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		for i := range 150 {
			if _, err := s.group.For(session.Operator).Create(t.Context(), session.Session{Title: fmt.Sprint(i), CWD: srv + "/many"}); err != nil {
				t.Fatal(err)
			}
		}
		s.result("session/new", map[string]any{"model_id": "mirror/claude-opus-5-5", "title": "without a directory"})
		d.newSession() // it is not listed before somebody says something
		d.prompt(d.newSession(), "one")
		seen := map[string]bool{}
		cursor, pages := "", 0
		for more := true; more; pages++ {
			page := d.result("session/list", fmt.Sprintf(`{"cursor":%s}`, mustJSON(t, cursor)))
			for _, listed := range page.Get("sessions").Array() {
				seen[listed.Get("sessionId").String()] = true
				if !filepath.IsAbs(listed.Get("cwd").String()) {
					t.Errorf("%s", listed)
				}
			}
			cursor = page.Get("nextCursor").String()
			more = page.Get("nextCursor").Exists()
		}
		if len(seen) != 152 || pages != 2 {
			t.Errorf("%d sessions in %d pages", len(seen), pages)
		}
		if n := len(d.result("session/list", `{"cwd":"`+srv+`/app"}`).Get("sessions").Array()); n != 1 {
			t.Errorf("%d sessions of one directory", n)
		}
	})
}

// Methods of the other protocol, for those who know both.
func TestACPExtensions(t *testing.T) {
	onStage(t, "say hi", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		id := d.newSession()
		if got := d.result("_thinkd/thinking/explain", fmt.Sprintf(`{"session_id":%q,"model_id":"mirror/claude-opus-5-5","level":"max"}`, id)); got.Get("reasoning.effective_effort").String() != "max" {
			t.Errorf("%s", got)
		}
		for name, m := range s.server.editorMethods() {
			if native, ok := strings.CutPrefix(name, "_thinkd/"); ok && m.Name != native {
				t.Errorf("there is no native method %s", native)
			}
		}
	})
}

// An editor cannot take text back. A retry that makes text void says that the paragraph comes again; one that makes only
// thinking void does not.
func TestACPRepeatedParagraph(t *testing.T) {
	for script, want := range map[string]bool{
		"think hm\nsay I write it.\ncall c read {}\nfail transport lost\n\nsay I write it again.": true,
		"think hm\nfail transport lost\n\nsay I write it.":                                        false,
	} {
		onStage(t, script, 0, func(s *stage) {
			d := s.sit(`{"session":{"notices":{}}}`)
			defer d.stand()
			id := d.newSession()
			prompt := d.prompt(id, "one")
			time.Sleep(5 * time.Second)
			if got, _ := d.answer(prompt); got.Get("result.stopReason").String() != "end_turn" {
				t.Errorf("%s", got)
			}
			retries, repeats := 0, 0
			for _, m := range d.got() {
				title := m.Get("params.update.title").String()
				if strings.HasPrefix(title, "The model call is repeated") {
					retries++
				}
				if strings.Contains(title, "paragraph") {
					repeats++
				}
			}
			if retries != 1 || (repeats == 1) != want {
				t.Errorf("%d retries, %d of them of a paragraph", retries, repeats)
			}
		})
	}
}

// An editor gets a text and the error of its prompt when the session cannot go on, because something else has claimed it. The next prompt follows the
// session again. At the end of the daemon it gets the error alone: the connection ends as well.
func TestACPLostSession(t *testing.T) {
	onStage(t, "say One\nwait 1m\nsay Two\n\nsay Three\n\nsay Four\nwait 1m", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		id := d.newSession()
		d.prompt(id, "go")
		time.Sleep(time.Second)
		if _, err := s.store.For(session.Operator).Claim(t.Context(), session.ID(id)); err != nil {
			t.Fatal(err)
		}
		from := len(d.got())
		time.Sleep(time.Hour)
		d.tells(from, "agent_message_chunk Two", "agent_message_chunk \n\n[Another node serves the session. What happens in the session is not shown here until you send a prompt or open the session again.]\n\n",
			"error -32603")
		if n := d.editor.Open(); n != 0 {
			t.Errorf("%d sessions are open", n)
		}
		from = len(d.got())
		d.prompt(id, "again")
		time.Sleep(time.Second)
		d.tells(from, "available_commands_update", "agent_message_chunk Three", "usage_update", "end_turn")
		d.prompt(id, "and again")
		time.Sleep(time.Second)
		from = len(d.got())
		s.group.Close()
		d.tells(from, "usage_update", "error -32603")
	})
}

// An editor that is closed during a turn does not end the turn: the next one loads all of it.
func TestACPClosedEditor(t *testing.T) {
	onStage(t, "think One|Two\nwait 1m\nsay done", 0, func(s *stage) {
		d := s.sit(`{}`)
		id := d.newSession()
		d.prompt(id, "go")
		time.Sleep(time.Second)
		d.stand()
		time.Sleep(time.Hour)
		next := s.sit(`{}`)
		defer next.stand()
		from := len(next.got())
		next.ask("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"`+srv+`/app","mcpServers":[]}`, id))
		time.Sleep(time.Second)
		next.tells(from, "user_message_chunk go", "agent_thought_chunk OneTwo", "agent_message_chunk done", "result", "available_commands_update", "usage_update")
	})
}
