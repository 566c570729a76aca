package vendors

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
)

// marked is in the prompt that a host refuses, and in every request that has this prompt.
const marked = "POISON"

// refusedInThisForm is how a host refuses a marked prompt.
type refusedInThisForm struct {
	status int
	body   string // empty: none
}

// refusedForms are forms of refusals that may be due to the history, without those that are tried again after a wait.
// TestNoSessionIsStuck of package daemon has every text that was collected.
var refusedForms = []refusedInThisForm{
	{400, `{"error":{"message":"Invalid request.","type":"invalid_request_error"}}`},
	{400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.1: Could not process image"}}`},
	{400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"Request contains an invalid argument."}}`},
	{400, `{"error":{"message":"blocked by the content filter","code":"content_filter"}}`},
	{400, `no JSON at all`},
	{400, ``},
	{404, `{"error":{"message":"item rs_1 is not stored"}}`},
	{413, ``},
	{422, `{"detail":[{"type":"extra_forbidden","loc":["body","messages",2,"user","name"],"msg":"Extra inputs are not permitted"}]}`},
	{500, `{"error":{"code":500,"message":"the chat template raised: roles must alternate","type":"server_error"}}`},
}

// life is one session with a poisoned turn, and the host that it has for itself.
type life struct {
	api    string
	name   string
	poison proof.Poison
	number string
	form   *refusedInThisForm // the host refuses marked prompts in this form
	vendor *sim.Server

	mu      sync.Mutex
	refused []string // what the host said of breaches
	failed  int      // marked requests that it refused
	ran     int      // calls of the client's tool
}

// ServeHTTP is the host.
func (l *life) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	refuse := func(status int, form []byte) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if _, err := w.Write(form); err != nil {
			return // the client is gone
		}
	}
	switch {
	case l.form != nil && bytes.Contains(body, []byte(marked)):
		l.note(func() { l.failed++ })
		refuse(l.form.status, []byte(l.form.body))
		return
	case l.poison.Breach != nil:
		if said := l.poison.Breach(l.api, gjson.ParseBytes(body)); said != "" {
			l.note(func() { l.refused = append(l.refused, said) })
			form, err := proof.RefusalForm(l.api, said)
			if err != nil {
				panic(err)
			}
			refuse(http.StatusBadRequest, form)
			return
		}
	}
	l.vendor.ServeHTTP(w, r)
}

func (l *life) note(what func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	what()
}

var lifeNumber = regexp.MustCompile(`life-(\d+)\b`)

// host leads each request to the host of the session that it is from, which its prompts name. Lists of models come from a
// host that refuses nothing.
func host(lives []*life) http.Handler {
	anybody := sim.New(sim.Config{NoJournal: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if m := lifeNumber.FindSubmatch(body); m != nil {
			if n, err := strconv.Atoi(string(m[1])); err == nil && n < len(lives) {
				lives[n].ServeHTTP(w, r)
				return
			}
		}
		anybody.ServeHTTP(w, r)
	})
}

// seeing are models of the simulator that take images.
func seeing(api string) string {
	return cmp.Or(map[string]string{"ollama": "qwen3.5:9b"}[api], proof.SimulatedModel[api])
}

// TestNoSessionIsStuck leads sessions of one daemon through turns that leave in their history what vendors refuse. Each
// has a host for itself, which refuses as the vendor does. After each poisoned turn the next plain prompts are answered. Each poison and
// each form of a refusal is tried over some of the wire APIs: TestPoisonedTurns and TestNoSessionIsStuck of package daemon have them over each.
func TestNoSessionIsStuck(t *testing.T) {
	t.Parallel()
	var lives []*life
	left := func(api, i int) bool { return (api+i)%3 != 0 }
	for n, api := range proof.WireAPIs {
		for i, p := range proof.Poisons() {
			if left(n, i) {
				continue
			}
			l := &life{api: api.Name, name: p.Name, poison: p, vendor: sim.New(sim.Config{})}
			l.vendor.Script(p.Script...)
			lives = append(lives, l)
		}
		for i := range refusedForms {
			if left(n, i) {
				continue
			}
			form := &refusedForms[i]
			lives = append(lives, &life{api: api.Name, name: fmt.Sprintf("%d %.60s", form.status, form.body), form: form, vendor: sim.New(sim.Config{})})
		}
	}
	address := proof.Serve(t, host(lives))
	config := "[tools.effects]\nother = \"allow\"\n"
	for _, api := range proof.WireAPIs {
		dialect := map[string]string{"messages": "anthropic", "responses": "openai", "chat": "generic", "gemini": "gemini", "ollama": "ollama"}[api.Name]
		config += fmt.Sprintf("[providers.%s_host]\napi = %[1]q\ndialect = %q\nbase_url = %q\napi_key_env = \"HOST_KEY\"\n", api.Name, dialect, address+api.Path)
	}
	env := append([]string{"HOST_KEY=sk-of-the-test"}, proof.NobodyHere...)
	p := proof.Start(t, proof.DataDir(t), env, "--config", proof.WriteConfig(t, config))

	var stuck atomic.Int64
	var work sync.WaitGroup
	next := make(chan *life)
	for range 8 {
		work.Go(testgo.Guard(t, func() {
			for l := range next {
				if err := l.live(t, p); err != nil {
					stuck.Add(1)
					t.Errorf("%s: %s: %v", l.api, l.name, err)
				}
			}
		}))
	}
	for n, l := range lives {
		l.number = fmt.Sprintf("life-%d", n)
		next <- l
	}
	close(next)
	work.Wait()
	p.End()
	t.Logf("%d sessions, %d stuck", len(lives), stuck.Load())
}

// live leads the session. An error says that it is stuck.
func (l *life) live(t *testing.T, p *proof.Process) error {
	word := l.number + " [[sim: pace=0 thinking=5 text=5]]"
	created := map[string]any{"model_id": l.api + "_host/" + seeing(l.api)}
	if l.poison.Schema != "" && l.poison.Result.Blocks == nil && !l.poison.Result.Failed {
		server := httptest.NewServer(toolServer(l.poison.Schema))
		defer server.Close()
		defer server.CloseClientConnections()
		created["mcp_servers"] = []any{map[string]any{"name": "files", "url": server.URL}}
	} else if l.poison.Schema != "" {
		created["tools"] = []any{map[string]any{"name": proof.PoisonTool, "input_schema": json.RawMessage(l.poison.Schema)}}
	}
	var s struct {
		ID string `json:"session_id"`
	}
	if err := p.Call("session/new", created, &s); err != nil {
		return fmt.Errorf("session/new: %w", err)
	}
	if l.form != nil {
		if how, err := l.turn(p, s.ID, []any{textBlock("hello " + word)}); err != nil || how != "end_turn" {
			return fmt.Errorf("the first turn ended with %s, %w", how, err)
		}
	}
	poisoned := []any{textBlock("read it " + word)}
	if l.form != nil {
		poisoned = []any{textBlock(marked + " " + word)}
	}
	for _, b := range l.poison.Prompt {
		if media, ok := b.(provider.Media); ok {
			poisoned = append(poisoned, mediaBlock(media))
		}
	}
	how, err := l.turn(p, s.ID, poisoned)
	if l.poison.Refused {
		if err == nil || !strings.Contains(err.Error(), "does not take image (image/bmp)") {
			t.Errorf("%s: %s: %v", l.api, l.name, err)
		}
		how = "end_turn"
	} else if err != nil {
		return err
	}
	if fails := l.form != nil || l.poison.Fails; (how != "end_turn") != fails {
		t.Errorf("%s: %s: the poisoned turn ended with %s", l.api, l.name, how)
	}
	if runs := l.poison.Result.Failed || l.poison.Result.Blocks != nil; runs != (l.ran == 1) {
		t.Errorf("%s: %s: the tool ran %d times", l.api, l.name, l.ran)
	}
	for _, text := range []string{"what is next? ", "and then? "} {
		if how, err := l.turn(p, s.ID, []any{textBlock(text + word)}); err != nil || how != "end_turn" {
			return fmt.Errorf("stuck: %s, %w", how, err)
		}
	}
	l.note(func() {
		if len(l.refused) > 0 {
			t.Errorf("%s: %s: the host refused: %s", l.api, l.name, l.refused[0])
		}
		if (l.failed > 0) != (l.form != nil) {
			t.Errorf("%s: %s: the host refused %d marked requests", l.api, l.name, l.failed)
		}
	})
	for _, r := range l.vendor.Refusals() {
		if r.Status != http.StatusUnauthorized {
			t.Errorf("%s: %s: the simulator refused %+v", l.api, l.name, r)
		}
	}
	if l.form != nil {
		l.leftOut(t, p, s.ID)
	}
	return nil
}

// leftOut checks what clients see of a refused prompt: it stays in the history, and later requests leave it out.
func (l *life) leftOut(t *testing.T, p *proof.Process, session string) {
	messages, err := p.History(session)
	if err != nil {
		t.Errorf("%s: %s: %v", l.api, l.name, err)
		return
	}
	prompt := ""
	for _, m := range messages {
		if len(m.Content) > 0 && strings.HasPrefix(m.Content[0].Text, marked) {
			prompt = m.ID
			if m.Incomplete != "refused" {
				t.Errorf("%s: %s: the prompt is %q in the history", l.api, l.name, m.Incomplete)
			}
		}
	}
	var explained struct {
		LeftOut []struct {
			Message string `json:"message_id"`
			Part    string `json:"part"`
		} `json:"left_out"`
	}
	if err := p.Call("thinking/explain", map[string]any{"session_id": session}, &explained); err != nil {
		t.Errorf("%s: %s: %v", l.api, l.name, err)
	}
	if len(explained.LeftOut) != 1 || explained.LeftOut[0].Message != prompt || explained.LeftOut[0].Part != "all" {
		t.Errorf("%s: %s: left out: %+v, want the prompt %s", l.api, l.name, explained.LeftOut, prompt)
	}
}

// turn prompts, runs the tool as often as the model calls it, and waits for the end.
func (l *life) turn(p *proof.Process, session string, content []any) (how string, err error) {
	var r struct {
		Turn string `json:"turn_id"`
	}
	if err := p.Call("session/prompt", map[string]any{"session_id": session, "content": content}, &r); err != nil {
		return "", fmt.Errorf("session/prompt: %w", err)
	}
	ran := map[string]bool{}
	for {
		var call struct {
			ID   string `json:"call_id"`
			Host string `json:"host"`
		}
		u, err := p.Find(func(u proof.Update) bool {
			if u.Turn != r.Turn || u.Method != "tool_start" {
				return u.Turn == r.Turn && u.Method == "turn_end"
			}
			call.ID, call.Host = gjson.GetBytes(u.Raw, "call_id").Str, gjson.GetBytes(u.Raw, "host").Str
			return call.Host == "client" && !ran[call.ID]
		})
		if err != nil {
			return "", err
		}
		if u.Method == "turn_end" {
			if u.Error != nil {
				return u.Error.Message, nil
			}
			return u.Stop, nil
		}
		ran[call.ID] = true
		l.ran++
		blocks := []any{}
		for _, b := range l.poison.Result.Blocks {
			switch b := b.(type) {
			case provider.Text:
				blocks = append(blocks, textBlock(b.Text))
			case provider.Media:
				blocks = append(blocks, mediaBlock(b))
			}
		}
		if err := p.Call("tool/result", map[string]any{"session_id": session, "call_id": call.ID, "content": blocks, "is_error": l.poison.Result.Failed}, nil); err != nil {
			return "", fmt.Errorf("tool/result: %w", err)
		}
	}
}

func textBlock(text string) any { return map[string]any{"type": "text", "text": text} }

func mediaBlock(b provider.Media) any {
	return map[string]any{"type": "media", "mime_type": b.Type, "data": base64.StdEncoding.EncodeToString(b.Data)}
}

// toolServer is an MCP server with one tool of this schema.
func toolServer(schema string) http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: proof.PoisonTool, InputSchema: json.RawMessage(schema)}, nil)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
}
