package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// shelf is a server with prompts, or one that cannot be reached.
type shelf struct {
	prompts []toolhost.Prompt
	broken  error
	asked   chan struct{} // a prompt waits until it is closed; nil: it does not wait
}

func (*shelf) Name() string { return "mcp:shelf" }
func (*shelf) Close() error { return nil }
func (h *shelf) Tools(context.Context) ([]tool.Tool, error) {
	return nil, h.broken
}

func (*shelf) Run(context.Context, provider.ToolCall, func(string)) provider.ToolResult {
	return provider.ToolResult{Failed: true}
}

func (h *shelf) Prompts() []toolhost.Prompt { return h.prompts }

func (h *shelf) Prompt(ctx context.Context, name string, arguments map[string]string) (provider.Blocks, error) {
	if h.asked != nil {
		select {
		case <-h.asked:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if name != "review" {
		return nil, errors.New("there is no such prompt")
	}
	return provider.Blocks{provider.Text{Text: "Review " + arguments["file"] + "."}}, nil
}

// commandNames are the commands that were last sent to an editor.
func (d *desk) commandNames() (names string) {
	for _, m := range d.got() {
		if list := m.Get("params.update.availableCommands"); list.Exists() {
			names = strings.Join(strings.Fields(strings.Trim(list.Get("#.name").Raw, "[]")), "")
		}
	}
	return names
}

// A prompt of a server is a command with arguments. The list follows the server's, and a wrong command is an error.
func TestACPPrompts(t *testing.T) {
	onStage(t, "say fine\n\nsay so", 0, func(s *stage) {
		host := &shelf{prompts: []toolhost.Prompt{{Name: "review", Arguments: []toolhost.Argument{{Name: "file", Required: true}}}}}
		s.hosts = []toolhost.Host{host}
		d := s.sit(`{}`)
		defer d.stand()
		id := d.newSession()
		if names := d.commandNames(); names != `"think","model","compact","uncompact","export","mcp:shelf:review"` {
			t.Errorf("commands %s", names)
		}
		host.prompts = append(host.prompts, toolhost.Prompt{Name: "second"})
		asked := d.prompt(id, "/mcp:shelf:review a.go")
		time.Sleep(time.Second)
		if end, _ := d.answer(asked); end.Get("result.stopReason").String() != "end_turn" {
			t.Errorf("%s", end)
		}
		if names := d.commandNames(); !strings.HasSuffix(names, `"mcp:shelf:second"`) {
			t.Errorf("after the turn: %s", names)
		}
		said := s.result("session/history", map[string]any{"session_id": id}).Get(`messages.#(role=="user")#.content.0.text`).Raw
		if said != `["Review a.go."]` {
			t.Errorf("said %s", said)
		}
		for text, want := range map[string]string{"/mcp:shelf:review": "the argument file is missing", "/mcp:shelf:other": "there is no such prompt"} {
			asked := d.prompt(id, text)
			if a, _ := d.answer(asked); a.Get("error.code").Int() != -32602 || !strings.Contains(a.Get("error.message").String(), want) {
				t.Errorf("%s: %s", text, a)
			}
		}
		host.asked = make(chan struct{})
		asked = d.prompt(id, "/mcp:shelf:review b.go")
		d.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%s}}`, asked))
		synctest.Wait()
		if a, _ := d.answer(asked); a.Get("result.stopReason").String() != "cancelled" {
			t.Errorf("cancelled while the server is asked: %s", a)
		}
	})
}

// /model changes the model and says so. /export writes a file through the editor, or shows the session.
func TestACPModelAndExport(t *testing.T) {
	onStage(t, "think hm\nsay hi", 0, func(s *stage) {
		for _, files := range []bool{false, true} {
			func() {
				d := s.sit(fmt.Sprintf(`{"fs":{"readTextFile":%v,"writeTextFile":%v}}`, files, files))
				defer d.stand()
				id := d.newSession()
				d.prompt(id, "/model mirror/claude-opus-5-5")
				if a, _ := d.answer(d.prompt(id, "/model nonsense-9")); a.Get("error.code").Int() != -32602 {
					t.Errorf("an unknown model: %s", a)
				}
				if got := strings.Join(d.story(0), "|"); !strings.Contains(got, "agent_message_chunk The model is mirror/claude-opus-5-5, thinking: ") || !strings.Contains(got, "|end_turn") {
					t.Errorf("/model: %s", got)
				}
				if !files {
					d.prompt(id, "one")
					time.Sleep(time.Second)
				}
				from := len(d.got())
				asked := d.prompt(id, "/export notes.md")
				for _, m := range d.got()[from:] {
					if m.Get("method").String() == "fs/write_text_file" {
						if p := m.Get("params"); p.Get("path").String() != srv+"/app/notes.md" || !strings.HasPrefix(p.Get("content").String(), "# ") {
							t.Errorf("the file: %s", p)
						}
						d.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.Get("id").Raw))
					}
				}
				got := strings.Join(d.story(from), "|")
				if a, _ := d.answer(asked); a.Get("result.stopReason").String() != "end_turn" {
					t.Errorf("/export: %s", a)
				}
				want := "## "
				if files {
					want = "fs/write_text_file|agent_message_chunk The session is in "
				}
				if !strings.Contains(got, want) {
					t.Errorf("/export with files %v: %s", files, got)
				}
			}()
		}
	})
}

// An editor without notices sees in its first turn which server cannot be reached.
func TestACPServerTrouble(t *testing.T) {
	onStage(t, "say hi\n\nsay two", 0, func(s *stage) {
		s.hosts = []toolhost.Host{&shelf{broken: errors.New("executable not found")}}
		d := s.sit(`{}`)
		defer d.stand()
		id := d.newSession()
		for range 2 {
			d.prompt(id, "one")
			time.Sleep(time.Second)
		}
		n := 0
		for _, m := range d.got() {
			if u := m.Get("params.update"); u.Get("title").String() == "Tools of an MCP server are missing" {
				n++
				if u.Get("status").String() != "failed" || !strings.Contains(u.Get("content.0.content.text").String(), "shelf") {
					t.Errorf("%s", u)
				}
			}
		}
		if n != 1 {
			t.Errorf("shown %d times", n)
		}
	})
}

// Clients that show boolean options get one, of the category model_config. Others keep the lists that they know.
func TestACPBooleanOption(t *testing.T) {
	onStage(t, "say hi", 0, func(s *stage) {
		plain, d := s.sit(`{}`), s.sit(`{"session":{"configOptions":{"boolean":{}}}}`)
		defer plain.stand()
		defer d.stand()
		id := d.newSession()
		resume(plain, id)
		set := func(value string) string {
			return fmt.Sprintf(`{"sessionId":%q,"configId":"stop_on_other_model","type":"boolean","value":%s}`, id, value)
		}
		from := len(plain.got())
		for _, want := range []string{"true", "false"} {
			o := d.result("session/set_config_option", set(want)).Get(`configOptions.#(id=="stop_on_other_model")`)
			if o.Get("currentValue").Raw != want || o.Get("type").String() != "boolean" || o.Get("category").String() != "model_config" || o.Get("options").Exists() {
				t.Errorf("%s: %s", want, o)
			}
			word := map[string]string{"true": "stop", "false": "notify"}[want]
			if got, err := s.group.For(session.Operator).Get(t.Context(), session.ID(id)); err != nil || string(got.OnOther) != word {
				t.Errorf("%s: %q, %v", want, got.OnOther, err)
			}
		}
		for _, bad := range []string{`"true"`, `1`, `null`} {
			if e := d.refused("session/set_config_option", set(bad)); e.Get("code").Int() != -32602 {
				t.Errorf("%s: %s", bad, e)
			}
		}
		if e := d.refused("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"mode","type":"boolean","value":true}`, id)); e.Get("code").Int() != -32602 {
			t.Errorf("a bool for the mode: %s", e)
		}
		if news := plain.story(from); len(news) != 0 {
			t.Errorf("an editor without boolean options gets %q", news)
		}
	})
}
