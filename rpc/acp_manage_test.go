package rpc

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/acp"
	"github.com/thinkd/thinkd/session"
)

// Editors rename, archive and fork sessions, and ask whether one is in memory.
func TestACPManage(t *testing.T) {
	onStage(t, "say hi\n\nsay two", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		for _, name := range []string{"fork", "archive", "status", "title", "systemPrompt"} {
			if !d.got()[0].Get("result.agentCapabilities.sessionCapabilities." + name).IsObject() {
				t.Errorf("%s is not announced", name)
			}
		}
		id := d.newSession()
		of := func(more string) string { return fmt.Sprintf(`{"sessionId":%q%s}`, id, more) }
		d.prompt(id, "one")
		time.Sleep(time.Second)
		if got := d.result("session/set_title", of(`,"title":" A  better\ntitle "`)).Get("title").String(); got != "A better title" {
			t.Errorf("title %q", got)
		}
		for _, bad := range []string{`" "`, `"` + strings.Repeat("x", 300) + `"`} {
			if e := d.refused("session/set_title", of(`,"title":`+bad)); e.Get("code").Int() != -32602 {
				t.Errorf("title %.10s: %s", bad, e)
			}
		}
		if got := d.result("session/status", of("")).Get("status").String(); got != "open" {
			t.Errorf("status %q", got)
		}
		listed := func(filter string) (titles []string) {
			for _, l := range d.result("session/list", `{`+filter+`}`).Get("sessions").Array() {
				titles = append(titles, l.Get("title").String()+" "+l.Get("archived").Raw)
			}
			return titles
		}
		d.result("session/archive", of(""))
		d.result("session/archive", of(""))
		if a, b, c := listed(""), listed(`"archived":"only"`), listed(`"archived":"include"`); len(a) != 0 || len(b) != 1 || b[0] != "A better title true" || len(c) != 1 {
			t.Errorf("archived: %q %q %q", a, b, c)
		}
		if d.editor.Open() != 0 {
			t.Error("an archived session is still open")
		}
		if e := d.refused("session/list", `{"archived":"some"}`); e.Get("code").Int() != -32602 {
			t.Errorf("%s", e)
		}
		d.result("session/unarchive", of(""))
		if a := listed(""); len(a) != 1 || a[0] != "A better title false" {
			t.Errorf("unarchived: %q", a)
		}

		forked := d.result("session/fork", of(`,"cwd":"`+srv+`/app"`))
		other := forked.Get("sessionId").String()
		if other == id || len(forked.Get("configOptions").Array()) == 0 {
			t.Fatalf("fork: %s", forked)
		}
		asked := d.prompt(other, "two")
		time.Sleep(time.Second)
		end, _ := d.answer(asked)
		if u := end.Get("result.usage"); end.Get("result.stopReason").String() != "end_turn" || u.Get("totalTokens").Int() != u.Get("inputTokens").Int()+u.Get("outputTokens").Int() || u.Get("outputTokens").Int() == 0 {
			t.Errorf("a turn of the fork: %s", end)
		}
		if a := listed(""); len(a) != 2 {
			t.Errorf("with the fork: %q", a)
		}
		unknown := `{"sessionId":"00000000-0000-7000-8000-000000000000","title":"x","cwd":"` + srv + `"}`
		for _, method := range []string{"session/fork", "session/archive", "session/unarchive", "session/set_title", "session/status"} {
			if e := d.refused(method, unknown); e.Get("code").Int() != -32002 {
				t.Errorf("%s: %s", method, e)
			}
		}
	})
}

// The client's system prompt follows that of the operator. What cannot be added is refused, and makes no session.
func TestACPSystemPrompt(t *testing.T) {
	onStage(t, "say hi", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		params := func(prompt string) string {
			return `{"mcpServers":[],"cwd":"` + srv + `/app","systemPrompt":` + prompt + `}`
		}
		id := d.result("session/new", params(`{"mode":"append","content":[{"type":"text","text":"Be short."},{"type":"text","text":"Be right."}]}`)).Get("sessionId").String()
		if got, err := s.group.For(session.Operator).Get(t.Context(), session.ID(id)); err != nil || got.System != "Be short.\n\nBe right." {
			t.Errorf("%q, %v", got.System, err)
		}
		for _, bad := range []string{`{"mode":"override","content":[{"type":"text","text":"x"}]}`, `{"mode":"append","content":[]}`, `{"mode":"append","content":[{"type":"image"}]}`} {
			for _, method := range []string{"session/new", "session/load", "session/resume", "session/fork"} {
				p := params(bad)
				if method != "session/new" {
					p = fmt.Sprintf(`{"sessionId":%q,%s`, id, p[1:])
				}
				if e := d.refused(method, p); e.Get("code").Int() != -32602 || !strings.Contains(e.Get("message").String(), "systemPrompt.") {
					t.Errorf("%s %s: %s", method, bad, e)
				}
			}
		}
		if n := d.editor.Open(); n != 1 {
			t.Errorf("%d sessions are open", n)
		}
	})
}

// Each request that opens a session replaces its further folders. The model learns of those that it began with.
func TestACPAdditionalDirectories(t *testing.T) {
	onStage(t, "say hi", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		params := func(more string) string {
			return `{"mcpServers":[],"cwd":"` + srv + `/app","additionalDirectories":` + more + `}`
		}
		if e := d.refused("session/new", params(`["`+srv+`/x"]`)); e.Get("code").Int() != -32602 || !strings.Contains(e.Get("message").String(), "additionalDirectories") {
			t.Errorf("without built-in tools: %s", e)
		}
		var roots [][]string
		s.server.config.Tools.Builtin = true
		s.server.config.Tools.SetRoots = func(_ session.ID, list []string) { roots = append(roots, list) }
		if e := d.refused("session/new", params(`["x"]`)); e.Get("code").Int() != -32602 {
			t.Errorf("a relative folder: %s", e)
		}
		id := d.result("session/new", params(`["`+srv+`/x","`+srv+`/y/"]`)).Get("sessionId").String()
		kept, err := s.group.For(session.Operator).Get(t.Context(), session.ID(id))
		if err != nil || !strings.Contains(kept.System, "- "+filepath.Clean(srv+"/x")) {
			t.Errorf("%q, %v", kept.System, err)
		}
		d.result("session/resume", fmt.Sprintf(`{"sessionId":%q,"cwd":"%s/app"}`, id, srv))
		d.result("session/load", fmt.Sprintf(`{"sessionId":%q,%s`, id, params(`["` + srv + `/z"]`)[1:]))
		want := [][]string{{filepath.Clean(srv + "/x"), filepath.Clean(srv + "/y")}, nil, {filepath.Clean(srv + "/z")}}
		if diff := cmp.Diff(want, roots); diff != "" {
			t.Error(diff)
		}
	})
}

// An editor that opens a session in another directory learns where its tools work.
func TestACPOtherDirectory(t *testing.T) {
	onStage(t, "say hi", 0, func(s *stage) {
		d := s.sit(`{"session":{"notices":{}}}`)
		defer d.stand()
		id := d.newSession()
		for dir, want := range map[string]int{"/app": 0, "/app/": 0, "/other": 1} {
			for _, method := range []string{"session/load", "session/resume"} {
				from := len(d.got())
				d.result(method, fmt.Sprintf(`{"sessionId":%q,"cwd":"%s%s","mcpServers":[]}`, id, srv, dir))
				n := 0
				for _, m := range d.got()[from:] {
					if m.Get("params.update.sessionUpdate").String() == "notice" && strings.Contains(m.Get("params.update.title").String(), "app") {
						n++
					}
				}
				if n != want {
					t.Errorf("%s in %s: %d notices", method, dir, n)
				}
			}
		}
	})
}

// Thoughts that follow each other have a blank line between them for clients that join them, live and when the session is loaded.
func TestACPJoinedThoughts(t *testing.T) {
	onStage(t, "think one\nthink two\nsay hi\nthink three\nsay so", 0, func(s *stage) {
		id := ""
		for _, client := range []struct{ name, want string }{{"desk", "one|two|three"}, {"CodeCompanion.nvim", "one|\n\ntwo|three"}} {
			func() {
				d := s.sitAs(client.name, `{}`)
				defer d.stand()
				if id == "" {
					id = d.newSession()
					d.prompt(id, "one")
					time.Sleep(time.Second)
				} else {
					d.result("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"%s/app","mcpServers":[]}`, id, srv))
				}
				var thoughts []string
				for _, m := range d.got() {
					if u := m.Get("params.update"); u.Get("sessionUpdate").String() == "agent_thought_chunk" {
						thoughts = append(thoughts, u.Get("content.text").String())
					}
				}
				if got := strings.Join(thoughts, "|"); got != client.want {
					t.Errorf("%s: %q, want %q", client.name, got, client.want)
				}
			}()
		}
	})
}

// A call that runs in a terminal of the editor shows the terminal until its end, whichever comes first: the call or the terminal. A
// terminal that was released before the call was sent is not shown.
func TestACPEmbeddedTerminal(t *testing.T) {
	for _, when := range []string{"call first", "terminal first", "released first"} {
		withTools(t, "call c1 look {\"a\":1}\n\nsay done", func(s *stage, id string) {
			d := s.sit(`{"terminal":true}`)
			defer d.stand()
			resume(d, id)
			run := func() chan acp.Exit {
				over := make(chan acp.Exit, 1)
				terminal := s.server.Editors().Terminal(session.ID(id))
				testgo.Go(t, func() { // ends with the editor's answers below
					exit, err := terminal.Run(context.Background(), acp.Command{Program: []string{"ls"}, Dir: srv, Call: "c1"}, func(string) {})
					if err != nil {
						t.Error(err)
					}
					over <- exit
				})
				synctest.Wait()
				return over
			}
			reply := func(method, result string) {
				for _, m := range d.got() {
					if m.Get("method").String() == method && m.Get("id").Exists() {
						d.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.Get("id").Raw, result))
					}
				}
				synctest.Wait()
			}
			end := func(over chan acp.Exit) {
				reply("terminal/wait_for_exit", `{"exitCode":0}`)
				reply("terminal/output", `{"output":"a.txt","truncated":false}`)
				reply("terminal/release", `{}`)
				if exit := <-over; exit.Output != "a.txt" {
					t.Errorf("%+v", exit)
				}
			}
			var over chan acp.Exit
			if when != "call first" {
				over = run()
				reply("terminal/create", `{"terminalId":"t1"}`)
			}
			if when == "released first" {
				end(over)
			}
			prompted := d.prompt(id, "go")
			time.Sleep(time.Second)
			if when == "call first" {
				over = run()
				reply("terminal/create", `{"terminalId":"t1"}`)
			}
			if when != "released first" {
				end(over)
			}
			s.result("tool/result", map[string]any{"session_id": id, "call_id": "c1", "content": []map[string]any{{"type": "text", "text": "a.txt"}}})
			time.Sleep(time.Second)
			if a, _ := d.answer(prompted); a.Get("result.stopReason").String() != "end_turn" {
				t.Fatalf("%s", a)
			}
			shown, released, ended := 0, 0, ""
			for i, m := range d.got() {
				u := m.Get("params.update")
				if m.Get("method").String() == "terminal/release" {
					released = i
				}
				if u.Get("content.0.type").String() != "terminal" || u.Get("content.0.terminalId").String() != "t1" {
					continue
				}
				if shown == 0 {
					shown = i
				}
				ended = u.Get("status").String() + " " + u.Get("rawOutput.text").String()
			}
			if when == "released first" {
				if shown != 0 {
					t.Errorf("a terminal is shown after its release: %v", d.story(0))
				}
			} else if shown == 0 || released < shown || ended != "completed a.txt" {
				t.Errorf("%s: shown at %d, released at %d, ended %q: %v", when, shown, released, ended, d.story(0))
			}
		})
	}
}
