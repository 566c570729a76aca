package rpc

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/acp"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/conntest"
	"github.com/thinkd/thinkd/rpc/method"
)

// srv is an absolute path of this system. Nothing has to be there.
var srv = map[bool]string{true: "C:/srv", false: "/srv"}[runtime.GOOS == "windows"]

// desk is an editor on a stage.
type desk struct {
	*stage
	conn   net.Conn
	served chan error
	read   chan struct{}
	last   int
	editor *acp.Editor

	mu    sync.Mutex
	heard []string
}

// sit connects an editor that has said initialize with these capabilities.
func (s *stage) sit(capabilities string) *desk {
	s.Helper()
	return s.sitAs("desk", capabilities)
}

// sitAs is sit for an editor with another name.
func (s *stage) sitAs(name, capabilities string) *desk {
	s.Helper()
	d := s.connectEditor(8 << 20)
	d.result("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`,"clientInfo":{"name":"`+name+`","version":"1"}}`)
	return d
}

// connectEditor connects an editor, which has said nothing yet.
func (s *stage) connectEditor(messageBytes int) *desk {
	ours, theirs := net.Pipe()
	d := &desk{stage: s, conn: ours, served: make(chan error, 1), read: make(chan struct{})}
	c := s.server.newClient(s.Context(), method.Operator(), conn.NewByteFrames(theirs, messageBytes))
	d.editor = c.beEditor()
	testgo.Go(s, func() { d.served <- c.Serve() }) // stand waits
	testgo.Go(s, func() {                          // ends with the connection; stand waits
		defer close(d.read)
		in := bufio.NewReader(ours)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			d.mu.Lock()
			d.heard = append(d.heard, strings.TrimSuffix(line, "\n"))
			d.mu.Unlock()
		}
	})
	return d
}

// stand ends the connection, and checks all messages that the editor received against the schema, if that is installed.
func (d *desk) stand() {
	d.Helper()
	d.conn.Close()
	<-d.served
	<-d.read
	checkACP(d.T, d.heard)
}

func (d *desk) say(text string) {
	d.Helper()
	if _, err := d.conn.Write([]byte(text + "\n")); err != nil {
		d.Fatal(err)
	}
}

// ask sends a request and does not wait for its answer.
func (d *desk) ask(method, params string) (id string) {
	d.Helper()
	d.last++
	id = fmt.Sprint(d.last)
	d.say(conntest.Request(id, method, params))
	synctest.Wait()
	return id
}

// got is all that was heard, once all is quiet.
func (d *desk) got() []gjson.Result {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []gjson.Result
	for _, line := range d.heard {
		list = append(list, gjson.Parse(line))
	}
	return list
}

// answer is that to a request, and its place among all that was heard; zero if there is none yet.
func (d *desk) answer(id string) (gjson.Result, int) {
	for i, m := range d.got() {
		if !m.Get("method").Exists() && m.Get("id").Raw == id {
			return m, i
		}
	}
	return gjson.Result{}, -1
}

// result is a request's answer, which has to be there at once and no error.
func (d *desk) result(method, params string) gjson.Result {
	d.Helper()
	a, _ := d.answer(d.ask(method, params))
	if !a.Get("result").Exists() {
		d.Fatalf("%s: %s", method, a.Raw)
	}
	return a.Get("result")
}

func (d *desk) refused(method, params string) gjson.Result {
	d.Helper()
	a, _ := d.answer(d.ask(method, params))
	if !a.Get("error").Exists() {
		d.Fatalf("%s: %s", method, a.Raw)
	}
	return a.Get("error")
}

func (d *desk) newSession() string {
	d.Helper()
	return d.result("session/new", `{"cwd":"`+srv+`/app","mcpServers":[]}`).Get("sessionId").String()
}

func (d *desk) prompt(session, text string) (id string) {
	d.Helper()
	return d.ask("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, session, text))
}

// story is what an editor shows from one message on: updates and answers in a line each.
func (d *desk) story(from int) (lines []string) {
	for _, m := range d.got()[from:] {
		up := m.Get("params.update")
		switch kind := up.Get("sessionUpdate").String(); {
		case strings.HasSuffix(kind, "_chunk"):
			lines = append(lines, kind+" "+up.Get("content.text").String())
		case strings.HasPrefix(kind, "tool_call"):
			lines = append(lines, strings.TrimSpace(kind+" "+up.Get("status").String()+" "+up.Get("content.#.content.text").String()))
		case kind == "config_option_update":
			lines = append(lines, kind+" "+currentOptions(up))
		case kind != "":
			lines = append(lines, kind)
		case m.Get("method").Exists():
			lines = append(lines, m.Get("method").String())
		case m.Get("result.stopReason").Exists():
			lines = append(lines, m.Get("result.stopReason").String())
		case m.Get("error").Exists():
			lines = append(lines, fmt.Sprint("error ", m.Get("error.code")))
		default:
			lines = append(lines, "result")
		}
	}
	return lines
}

// currentOptions are the values of the model, the mode and the level.
func currentOptions(list gjson.Result) string {
	return strings.Join(strings.Fields(strings.Trim(list.Get(`configOptions.#(category!="model_config")#.currentValue`).Raw, "[]")), "")
}

func (d *desk) tells(from int, want ...string) {
	d.Helper()
	if diff := cmp.Diff(want, d.story(from)); diff != "" {
		d.Errorf("(-want +got)\n%s", diff)
	}
}

// An answer's sources follow its text, and its images and sounds are shown, live and when the session is loaded; native clients find
// both in the history.
func TestACPAnswerMedia(t *testing.T) {
	onStage(t, "cite https://example.com/ It is so.\ndraw pixels\nsing waves", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		id := d.result("session/new", `{"cwd":"`+srv+`/app","mcpServers":[]}`).Get("sessionId").String()
		d.result("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"model","value":"mirror/claude-opus-5-5"}`, id))
		shown := func(of *desk, from int) (list []string) {
			for _, m := range of.got()[from:] {
				if c := m.Get("params.update.content"); m.Get("params.update.sessionUpdate").Str == "agent_message_chunk" {
					list = append(list, c.Get("type").Str+" "+c.Get("text").Str+c.Get("mimeType").Str+" "+c.Get("data").Str)
				}
			}
			return list
		}
		want := []string{"text It is so. ", "text \n\nSources:\n- Page: https://example.com/\n ", "image image/png cGl4ZWxz", "audio audio/wav d2F2ZXM="}
		from := len(d.got())
		d.prompt(id, "Which?")
		time.Sleep(time.Second)
		if diff := cmp.Diff(want, shown(d, from)); diff != "" {
			t.Errorf("live (-want +got)\n%s", diff)
		}
		other := s.sit(`{}`)
		defer other.stand()
		from = len(other.got())
		other.ask("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"`+srv+`/app","mcpServers":[]}`, id))
		if diff := cmp.Diff(want, shown(other, from)); diff != "" {
			t.Errorf("loaded (-want +got)\n%s", diff)
		}
	})
}

// A session that is loaded says why a turn failed. The response to its prompt had that, and nobody gets it again.
func TestACPLoadFailure(t *testing.T) {
	for capabilities, want := range map[string]string{
		`{}`:                         "tool_call The turn failed failed 1 anthropic: this key may not",
		`{"session":{"notices":{}}}`: "notice anthropic: this key may not error",
	} {
		onStage(t, "fail auth this key may not", 0, func(s *stage) {
			d := s.sit(`{}`)
			defer d.stand()
			id := d.result("session/new", `{"cwd":"`+srv+`/app","mcpServers":[]}`).Get("sessionId").String()
			d.result("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"model","value":"mirror/claude-opus-5-5"}`, id))
			d.prompt(id, "Which?")
			time.Sleep(time.Second)
			loaded := s.sit(capabilities)
			defer loaded.stand()
			from := len(loaded.got())
			loaded.ask("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"`+srv+`/app","mcpServers":[]}`, id))
			var got []string
			for _, m := range loaded.got()[from:] {
				switch u := m.Get("params.update"); u.Get("sessionUpdate").Str {
				case "user_message_chunk":
					got = append(got, "prompt")
				case "tool_call":
					got = append(got, fmt.Sprintf("tool_call %s %s %v %s", u.Get("title"), u.Get("status"), u.Get("content.#"), u.Get("content.0.content.text")))
				case "notice":
					got = append(got, fmt.Sprintf("notice %s %s", u.Get("title"), u.Get("severity")))
				}
			}
			if diff := cmp.Diff([]string{"prompt", want}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestACPTurn(t *testing.T) {
	onStage(t, "think Compare| both.\nthink Again.\nsay The| second.", 0, func(s *stage) {
		d := s.sit(`{}`)
		defer d.stand()
		made := d.result("session/new", `{"cwd":"`+srv+`/app","mcpServers":[]}`)
		if got, want := currentOptions(made), `"sim/claude","ask","high"`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		id := made.Get("sessionId").String()
		d.result("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"model","value":"mirror/claude-opus-5-5"}`, id))
		from := len(d.got())
		d.prompt(id, "Which?")
		time.Sleep(time.Second)
		d.tells(from, "agent_thought_chunk Compare", "agent_thought_chunk  both.", "agent_thought_chunk Again.",
			"agent_message_chunk The", "agent_message_chunk  second.", "usage_update", "session_info_update", "end_turn")

		var ids []string
		for _, m := range d.got()[from:] {
			if id := m.Get("params.update.messageId").String(); id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		if len(ids) != 3 || strings.TrimSuffix(ids[0], "0") != strings.TrimSuffix(ids[1], "1") {
			t.Errorf("each block has an id of its own: %q", ids)
		}
		var told []string
		for _, m := range d.got()[from:] {
			for _, path := range []string{"params.update._meta.thinkd\\.dev/events", "result._meta.thinkd\\.dev/events"} {
				for _, e := range m.Get(path).Array() {
					told = append(told, strings.TrimSpace(e.Get("method").String()+" "+e.Get("params.kind").String()))
				}
			}
		}
		want := []string{"turn_start", "thinking_end summary", "thinking_end summary", "turn_end"}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("what rides along (-want +got)\n%s", diff)
		}

		// The whole of it again, thoughts too, before the answer.
		other := s.sit(`{}`)
		defer other.stand()
		from = len(other.got())
		other.ask("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"`+srv+`/app","mcpServers":[]}`, id))
		other.tells(from, "user_message_chunk Which?", "agent_thought_chunk Compare both.", "agent_thought_chunk Again.",
			"agent_message_chunk The second.", "result", "available_commands_update", "usage_update")
		var again []string
		for _, m := range other.got()[from:] {
			if id := m.Get("params.update.messageId").String(); id != "" {
				again = append(again, id)
			}
		}
		if diff := cmp.Diff(ids, again[1:]); diff != "" {
			t.Errorf("ids after a load (-live +loaded)\n%s", diff)
		}

		// And nothing of it.
		third := s.sit(`{}`)
		defer third.stand()
		from = len(third.got())
		third.ask("session/resume", fmt.Sprintf(`{"sessionId":%q,"cwd":"`+srv+`/app"}`, id))
		third.tells(from, "result", "available_commands_update", "usage_update")
	})
}

func mustJSON(t *testing.T, value any) string {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
