package vendors

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/rpc/conntest"
)

const (
	canaryKey    = "sk-ant-canary-7f3a9c51e0d24b68"
	canaryHeader = "canary-of-a-header-5d1e8b70"
)

// blabber is a server that repeats secrets: the key and the header that it received are in all of its answers. The prompt selects
// the kind of answer.
type blabber struct {
	elsewhere string
	heard     atomic.Int64 // requests that came with both secrets
}

var blabberWays = []string{"401", "400", "529", "302", "307", "html", "type", "gzip", "json", "events", "broken", "cut", "end"}

func (b *blabber) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secrets := r.Header.Get("x-api-key") + " " + r.Header.Get("x-team")
	if secrets == canaryKey+" "+canaryHeader {
		b.heard.Add(1)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	way := ""
	for _, known := range blabberWays {
		if bytes.Contains(body, []byte("way "+known+".")) {
			way = known
		}
	}
	w.Header().Set("request-id", "req "+secrets)
	failure := fmt.Sprintf(`{"type":"error","error":{"type":"api_error","message":"you said %s"},"request_id":"%s"}`, secrets, secrets)
	begin := "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"" + secrets + "\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n"
	switch way {
	case "401", "400", "529":
		var status int
		fmt.Sscan(way, &status)
		w.WriteHeader(status)
		io.WriteString(w, failure)
	case "302", "307":
		var status int
		fmt.Sscan(way, &status)
		w.Header().Set("Location", b.elsewhere+"/"+canaryKey+"?key="+canaryKey)
		w.WriteHeader(status)
		io.WriteString(w, failure)
	case "html":
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html>"+secrets+"</html>")
	case "type":
		w.Header().Set("Content-Type", "text/"+canaryKey)
		io.WriteString(w, secrets)
	case "gzip":
		w.Header().Set("Content-Encoding", canaryKey)
		io.WriteString(w, secrets)
	case "json":
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, failure)
	case "events":
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, begin+"event: error\ndata: "+failure+"\n\n")
	case "broken":
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, begin+"event: content_block_start\ndata: {"+secrets+"\n\n")
	case "cut":
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, begin)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case "end":
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, begin)
	default:
		w.WriteHeader(http.StatusTeapot)
	}
}

// TestCanary leads a daemon with secrets in its environment and its config through all kinds of failures, at the level
// that logs the most, and looks for the secrets in all that comes out: updates, answers, logs, files, commands.
func TestCanary(t *testing.T) {
	t.Parallel()
	var strangers atomic.Int64
	elsewhere := proof.Serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strangers.Add(1) }))
	server := &blabber{elsewhere: elsewhere}
	address := proof.Serve(t, server)
	nobody := proof.ClosedAddress(t)
	config := proof.WriteConfig(t, fmt.Sprintf(`
[providers.anthropic]
headers = { "x-team" = %q }

[providers.nobody]
api = "messages"
dialect = "anthropic"
base_url = %q
api_key_env = "NOBODYS_KEY"
headers = { "x-team" = %q }
`, canaryHeader, nobody, canaryHeader))
	env := []string{"ANTHROPIC_API_KEY=" + canaryKey, "NOBODYS_KEY=" + canaryKey, "ANTHROPIC_BASE_URL=" + address}
	data := t.TempDir()
	flags := []string{"--config", config, "--log-level", "debug"}

	h := proof.Open(t, data, env, flags...)
	h.Ready()
	var transcript conntest.Log
	cmd := proof.Command(t, env, append(append([]string{"--data", data}, flags...), "stdio")...)
	p := proof.StartCommand(t, cmd, &transcript)
	p.House = h
	ask := func(model, text string) {
		t.Helper()
		// A session for each: the history of one would have the words of all.
		id := p.NewSession("model_id", model)
		turn := p.Say(id, text)
		// What is tried again is cancelled then: one try shows it.
		u := p.Wait("an end or a retry", func(u proof.Update) bool {
			return u.Turn == turn && (u.Method == "retry" || u.Method == "turn_end")
		})
		if u.Method == "retry" {
			p.Must("session/cancel", map[string]any{"session_id": id}, nil)
			u = p.Wait("the end", proof.Ended(turn))
		}
		if u.Stop != "error" && u.Stop != "cancelled" {
			t.Errorf("%s: the turn ends with %s", text, u.Stop)
		}
		p.Must("turn/wait", map[string]any{"session_id": id, "turn_id": turn}, nil)
		p.Must("session/export", map[string]any{"session_id": id, "format": "json"}, nil)
	}
	for _, way := range blabberWays {
		ask("anthropic/claude-opus-5-5", "Go the way "+way+".")
	}
	ask("nobody/claude-opus-5-5", "Is nobody there?")
	p.Must("auth/set_key", map[string]any{"provider": "openai", "key": canaryKey}, nil)
	if err := p.Call("auth/set_key", map[string]any{"provider": "openai", "key": "a b " + canaryKey}, nil); err == nil {
		t.Error("a key with spaces is taken")
	}
	for _, method := range []string{"providers/list", "auth/status", "models/list", "rpc.discover", "initialize", "session/list"} {
		p.Must(method, map[string]any{}, nil)
	}
	p.End()
	if n := int(server.heard.Load()); n < len(blabberWays) {
		t.Errorf("the server heard %d requests with both secrets; %d were to be made", n, len(blabberWays))
	}
	if n := strangers.Load(); n != 0 {
		t.Errorf("a redirect was followed %d times", n)
	}
	noCanary(t, "standard output", transcript.String())
	noCanary(t, "standard error", p.Log()+h.Stderr.String())
	log, err := os.ReadFile(filepath.Join(data, proof.LogFileName)) // it is looked at below, with the other files
	if err != nil || !bytes.Contains(log, []byte("DBG")) {
		t.Errorf("nothing was logged at debug: %v\n%s", err, log)
	}

	for _, args := range [][]string{
		{"doctor"}, {"models"}, {"models", "--json"}, {"sessions", "list"}, {"version"}, {"help"},
		{"prompt", "--model", "anthropic/claude-opus-5-5", "Go the way 401."},
		{"prompt", "--json", "--model", "anthropic/claude-opus-5-5", "Go the way 307."},
	} {
		cmd := proof.Command(t, env, append(append([]string{"--data", data}, flags...), args...)...)
		out, err := cmd.CombinedOutput()
		if len(out) == 0 {
			t.Errorf("thinkd %v says nothing: %v", args, err)
		}
		noCanary(t, "thinkd "+strings.Join(args, " "), string(out))
	}
	if err := proof.Quit(data); err != nil {
		t.Error(err)
	}
	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if d.Name() == proof.KeysFileName {
			if !bytes.Contains(content, []byte(canaryKey)) {
				t.Errorf("%s does not have the key", proof.KeysFileName)
			}
			return err
		}
		noCanary(t, filepath.Base(path), string(content))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// noCanary looks for the secrets, and for so much of them as would be of use.
func noCanary(t *testing.T, where, text string) {
	t.Helper()
	for _, secret := range []string{canaryKey[8:], canaryHeader[6:]} {
		if at := strings.Index(text, secret); at >= 0 {
			t.Errorf("%s has a secret: …%s…", where, text[max(0, at-200):min(len(text), at+100)])
		}
	}
}
