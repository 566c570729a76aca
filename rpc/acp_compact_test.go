package rpc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// A summary is asked for by a command, and told to those who can show it; for others there is the answer.
func TestACPCompact(t *testing.T) {
	long := strings.Repeat("word ", 400)
	onStage(t, strings.Repeat("say "+long+"\n\n", 4)+"say All of it in short.\n\nsay Shorter.\n\nsay after it", 0, func(s *stage) {
		d, plain := s.sit(`{"session":{"compaction":{}}}`), s.sit(`{}`)
		defer d.stand()
		defer plain.stand()
		id := d.newSession()
		d.result("session/set_config_option", fmt.Sprintf(onOpus, id))
		resume(plain, id)
		if got, _ := d.answer(d.prompt(id, "/compact")); got.Get("result.stopReason").String() != "end_turn" {
			t.Errorf("of nothing: %s", got)
		}
		for range 4 {
			d.prompt(id, "say")
			time.Sleep(time.Second)
		}
		from, other := len(d.got()), len(plain.got())
		d.prompt(id, "/compact")
		time.Sleep(time.Second)
		got := d.story(from)
		if len(got) < 3 || strings.Join(got[:3], " ") != "compaction_update compaction_update end_turn" {
			t.Errorf("%q", got)
		}
		if first, last := d.got()[from].Get("params.update"), d.got()[from+1].Get("params.update"); first.Get("status").String() != "in_progress" ||
			last.Get("status").String() != "completed" || first.Get("compactionId").String() != last.Get("compactionId").String() {
			t.Errorf("%s %s", first, last)
		} else if last.Get("summary.0.text").String() != "All of it in short." || last.Get("compactionId").String() == "" {
			t.Errorf("the summary is sent as %s", last)
		}
		for _, line := range plain.story(other) {
			if strings.HasPrefix(line, "compaction") || line == "notice" {
				t.Errorf("%s to one that cannot show it", line)
			}
		}
		// Who loads the session later gets the summary in its place, with the same id.
		late := s.sit(`{"session":{"compaction":{}}}`)
		defer late.stand()
		late.result("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"`+srv+`/app","mcpServers":[]}`, id))
		var again gjson.Result
		for _, m := range late.got() {
			if up := m.Get("params.update"); up.Get("sessionUpdate").String() == "compaction_update" {
				again = up
			}
		}
		if made := d.got()[from+1].Get("params.update"); again.Get("compactionId").String() != made.Get("compactionId").String() || again.Get("summary").Raw != made.Get("summary").Raw {
			t.Errorf("loaded: %s, made: %s", again, made)
		}
		if got, _ := d.answer(d.prompt(id, "/uncompact")); got.Get("result.stopReason").String() != "end_turn" {
			t.Errorf("undone: %s", got)
		}
		if got, _ := d.answer(d.prompt(id, "/uncompact")); !got.Get("error").Exists() {
			t.Errorf("undone twice: %s", got)
		}
		// A turn after a summary ends as any other, and its end is the last that the editor gets of it.
		d.prompt(id, "/compact")
		time.Sleep(time.Second)
		next := d.prompt(id, "say")
		time.Sleep(time.Second)
		if got, at := d.answer(next); got.Get("result.stopReason").String() != "end_turn" || at != len(d.got())-1 {
			t.Errorf("the turn after the summary: %s, message %d of %d", got, at, len(d.got()))
		}
	})
}

// A summary that is stopped is no failure.
func TestACPCompactStopped(t *testing.T) {
	long := strings.Repeat("word ", 400)
	onStage(t, strings.Repeat("say "+long+"\n\n", 4)+"wait 1h\n\nsay done", 0, func(s *stage) {
		d := s.sit(`{"session":{"compaction":{}}}`)
		defer d.stand()
		id := d.newSession()
		d.result("session/set_config_option", fmt.Sprintf(onOpus, id))
		for range 4 {
			d.prompt(id, "say")
			time.Sleep(time.Second)
		}
		compact := d.prompt(id, "/compact")
		time.Sleep(time.Second)
		d.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, id))
		time.Sleep(time.Second)
		if got, _ := d.answer(compact); got.Get("result.stopReason").String() != "cancelled" {
			t.Errorf("%s", got)
		}
		from := len(d.got())
		d.prompt(id, "go on")
		time.Sleep(time.Second)
		if got := d.got()[from].Get("params.update"); got.Get("status").String() != "failed" {
			t.Errorf("the update of the result is %s", got)
		}
	})
}
