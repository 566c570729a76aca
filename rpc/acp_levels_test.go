package rpc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

func words(list gjson.Result) (words []string) {
	for _, w := range list.Array() {
		words = append(words, w.String())
	}
	return words
}

// For each model that can be called, of any vendor, editors see the levels of models/list, under one id and in the response that selects
// the model. The level in effect is that of session/state, also on models that do not think, and the preferred one never changes.
func TestACPLevels(t *testing.T) {
	onStage(t, "say hi", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		id := d.newSession()
		set := func(option, value string) string {
			return fmt.Sprintf(`{"sessionId":%q,"configId":%q,"value":%q}`, id, option, value)
		}
		d.result("session/set_config_option", set("model", "mirror/claude-opus-5"))
		d.result("session/set_config_option", set("reasoning_effort", "xhigh"))
		controls := map[string]int{}
		for _, m := range s.result("models/list", map[string]any{}).Get("models").Array() {
			name := m.Get("provider").String() + "/" + m.Get("id").String()
			if !m.Get("available").Bool() {
				continue
			}
			controls[m.Get("thinking.control").String()]++
			got := d.result("session/set_config_option", set("model", name)).Get(`configOptions.#(category=="thought_level")`)
			native := s.result("model/set", map[string]any{"session_id": id, "model_id": name})
			state := s.result("session/state", map[string]any{"session_id": id}).Get("session")
			want := words(m.Get("thinking_levels"))
			shown := slices.DeleteFunc(words(got.Get("options.#.value")), func(level string) bool { return level == "auto" && !slices.Contains(want, level) })
			if diff := cmp.Diff(want, shown); diff != "" && m.Get("supports_thinking").Bool() {
				t.Errorf("%s: models/list and the option (-list +option)\n%s", name, diff)
			}
			if diff := cmp.Diff(want, words(native.Get("thinking_levels"))); diff != "" {
				t.Errorf("%s: models/list and model/set (-list +set)\n%s", name, diff)
			}
			effective := got.Get("currentValue").String()
			if got.Get("id").String() != "reasoning_effort" || effective != state.Get("thinking_level").String() || effective != native.Get("thinking_level").String() ||
				effective != got.Get(`_meta.thinkd\.dev/level.effective`).String() {
				t.Errorf("%s: option %s, state %s, model/set %s", name, got, state, native)
			}
			if slices.Contains(want, "xhigh") != (effective == "xhigh") || !m.Get("supports_thinking").Bool() && effective != "off" {
				t.Errorf("%s: %s is in effect of %q", name, effective, want)
			}
			if got.Get(`_meta.thinkd\.dev/level.preferred`).String() != "xhigh" || state.Get("preferred_thinking_level").String() != "xhigh" {
				t.Errorf("%s: the preferred level changed: %s", name, got)
			}
			if thinking := m.Get("thinking"); thinking.Get("source").String() == "" || thinking.Get("as_of").String() == "" ||
				m.Get("supports_thinking").Bool() && !thinking.Get("can_disable").Exists() {
				t.Errorf("%s: %s", name, thinking)
			}
		}
		for _, control := range []string{"effort", "budget", "toggle", "always", "none"} {
			if controls[control] == 0 {
				t.Errorf("no model has the control %s: %v", control, controls)
			}
		}
		before := s.result("session/state", map[string]any{"session_id": id}).Get("session.preferred_thinking_level").String()
		refused := d.refused("session/set_config_option", set("reasoning_effort", "ultra"))
		if refused.Get("code").Int() != -32602 || !strings.Contains(refused.Get("message").String(), "xhigh") {
			t.Errorf("an unknown word: %s", refused)
		}
		if after := s.result("session/state", map[string]any{"session_id": id}).Get("session.preferred_thinking_level").String(); after != before {
			t.Errorf("an unknown word sets the level %q", after)
		}
	})
}

// A level that was lowered has one value: in the option, the state, both forms of turn_start, the history and the export.
func TestACPLevelIsTheSame(t *testing.T) {
	onStage(t, "think hm\nsay hi", 0, func(s *stage) {
		d := s.sit(`{"session":{"notices":{}}}`)
		defer d.stand()
		id := d.newSession()
		on := map[string]any{"session_id": id}
		s.result("session/attach", on)
		set := func(option, value string) gjson.Result {
			return d.result("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":%q,"value":%q}`, id, option, value))
		}
		set("model", "mirror/claude-opus-5")
		set("reasoning_effort", "xhigh")
		option := set("model", "mirror/claude-opus-4-6").Get(`configOptions.#(id=="reasoning_effort")`)
		from := len(d.got())
		d.prompt(id, "one")
		time.Sleep(time.Second)
		levels := map[string]string{"option": option.Get("currentValue").String(), "state": s.result("session/state", on).Get("session.thinking_level").String()}
		noticed := false
		for _, m := range d.got()[from:] {
			for _, e := range m.Get(`params.update._meta.thinkd\.dev/events`).Array() {
				if e.Get("method").String() == "turn_start" {
					levels["turn_start in ACP"] = e.Get("params.model.thinking_level").String()
				}
			}
			u := m.Get("params.update")
			noticed = noticed || u.Get("sessionUpdate").String() == "notice" && strings.Contains(u.Get("title").String(), "xhigh")
		}
		for _, m := range s.messages() {
			if gjson.Get(m, "method").String() == "turn_start" {
				levels["turn_start"] = gjson.Get(m, "params.model.thinking_level").String()
			}
		}
		levels["history"] = s.result("session/history", on).Get(`messages.#(role=="assistant").model.thinking_level`).String()
		levels["export"] = s.result("session/export", map[string]any{"session_id": id, "format": "json"}).Get(`messages.#(role=="assistant").model.thinking_level`).String()
		want := map[string]string{"option": "high", "state": "high", "turn_start": "high", "turn_start in ACP": "high", "history": "high", "export": "high"}
		if diff := cmp.Diff(want, levels); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if !noticed {
			t.Error("the editor gets no notice that xhigh was lowered")
		}
	})
}

// After the end of a turn nothing has its id, also if the next prompt comes at once.
func TestEventsHaveTheirTurn(t *testing.T) {
	onStage(t, "think Hm…\nwait 1h\n\nthink two\nsay two", 0, func(s *stage) {
		on := map[string]any{"session_id": s.result("session/new", map[string]any{"model_id": "anthropic/claude-opus-5-5"}).Get("session_id").String()}
		say := func(text string) string {
			return s.result("session/prompt", map[string]any{"session_id": on["session_id"], "text": text}).Get("turn_id").String()
		}
		first := say("one")
		time.Sleep(time.Second)
		s.result("session/cancel", on)
		second := say("two")
		time.Sleep(time.Second)
		var turns []string
		for _, m := range s.messages() {
			method, turn := gjson.Get(m, "method").String(), gjson.Get(m, "params.turn_id").String()
			switch {
			case method == "" || method == "session_update" || method == "queue_update" || method == "prompt": // not of the turn that runs
			case turn != first && turn != second:
				t.Errorf("%s names the turn %q", method, turn)
			case len(turns) == 0 || turns[len(turns)-1] != turn:
				turns = append(turns, turn)
			}
		}
		if diff := cmp.Diff([]string{first, second}, turns); diff != "" {
			t.Errorf("turns in the order of their events (-want +got)\n%s", diff)
		}
	})
}

// An editor learns how many tokens are in use also if the model's window is unknown: then the size is 0.
func TestACPUsageWithoutWindow(t *testing.T) {
	onStage(t, "say hi", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		id := d.newSession()
		d.result("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"model","value":"mirror/claude-opus-6"}`, id))
		d.prompt(id, "one")
		time.Sleep(time.Second)
		shown := 0
		for _, m := range d.got() {
			if u := m.Get("params.update"); u.Get("sessionUpdate").String() == "usage_update" {
				shown++
				if u.Get("size").Raw != "0" || u.Get("used").Int() == 0 {
					t.Errorf("%s", u)
				}
			}
		}
		if shown == 0 {
			t.Error("no usage_update")
		}
	})
}
