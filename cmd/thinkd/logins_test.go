package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
)

// loginHouse is a vendor that one logs in to: its login, and its API behind it.
type loginHouse struct {
	logins *sim.Logins
	vendor *sim.Server
	data   string
	flags  []string
	said   []string // what processes wrote
}

// nothingLeaks looks for every secret that the login has handed out in all that was written. keys.json may have what
// lasts, and is for its owner alone.
func (h *loginHouse) nothingLeaks(t *testing.T) {
	t.Helper()
	secrets := h.logins.Issued()
	if len(secrets) < 3 {
		t.Errorf("%d secrets were handed out", len(secrets))
	}
	look := func(where, text string, kept bool) {
		for _, secret := range secrets {
			lasts := strings.HasPrefix(secret, "ghu_") || strings.HasPrefix(secret, "rt_")
			if strings.Contains(text, secret) && !(kept && lasts) {
				t.Errorf("%s has a secret: …%s…", where, secret)
			}
		}
	}
	for _, text := range h.said {
		look("a process", text, false)
	}
	logged := false
	err := filepath.WalkDir(h.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		look(d.Name(), string(text), d.Name() == keysName)
		logged = logged || d.Name() == logName && strings.Contains(string(text), "DBG")
		if info, err := d.Info(); d.Name() == keysName && (err != nil || goos != "windows" && info.Mode().Perm() != 0o600) {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		return err
	})
	if err != nil || !logged {
		t.Errorf("the files: %v; the log at debug is there: %v", err, logged)
	}
}

// lastRequest is the newest one that the API took.
func (h *loginHouse) lastRequest(t *testing.T) sim.Request {
	t.Helper()
	all := h.vendor.Requests()
	if len(all) == 0 {
		t.Fatal("no request came")
	}
	return all[len(all)-1]
}

// TestCopilotLogin logs in by a code, and prompts: the strict stand-in takes the exchanged token with its headers, by
// two APIs, over an end of the token and a restart, until the login is taken back.
func TestCopilotLogin(t *testing.T) {
	t.Parallel()
	h := &loginHouse{vendor: sim.New(sim.Config{}), data: t.TempDir()}
	var api http.Handler
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { api.ServeHTTP(w, r) }))
	h.logins = sim.NewLogins(sim.LoginsConfig{ClientID: "Iv1.test", API: address, Interval: 1})
	api = h.logins.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/chat/completions" { // the simulator has a path for each host
			r.URL.Path = "/copilot" + r.URL.Path
		}
		h.vendor.ServeHTTP(w, r)
	}))
	server := serve(t, h.logins)
	h.flags = []string{"--log-level", "debug", "--config", writeConfig(t, fmt.Sprintf(
		"[providers.copilot.login]\nclient_id = \"Iv1.test\"\neditor = true\naddress = %q\napi_address = %q\n", server, server))}

	p := h.begin(t)
	turn := func(model string) update {
		t.Helper()
		id := p.newSession("model_id", model)
		return p.wait("the end", ended(p.say(id, "Which date is later? [[sim: thinking=3 text=3]]")))
	}
	well := func(model string) {
		t.Helper()
		if u := turn(model); u.Stop != "end_turn" {
			t.Errorf("%s: the turn ends with %s: %s", model, u.Stop, u.Raw)
		}
		header := h.lastRequest(t).Header
		if !strings.HasPrefix(header.Get("Authorization"), "Bearer tid=") {
			t.Errorf("%s: the token is not the exchanged one", model)
		}
		for name, want := range map[string]string{"Copilot-Integration-Id": "vscode-chat", "X-Initiator": "user", "Openai-Intent": "conversation-edits"} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", model, name, got, want)
			}
		}
	}
	refused := func(want string) {
		t.Helper()
		u := turn("copilot/claude-sonnet-5")
		if u.Stop != "error" || !strings.Contains(string(u.Raw), `"kind":"auth"`) || !strings.Contains(string(u.Raw), want) {
			t.Errorf("the turn ends with %s, want %s", u.Raw, want)
		}
	}
	state := func(want string) {
		t.Helper()
		var list struct{ Providers []authState }
		p.must("auth/status", map[string]any{}, &list)
		for _, s := range list.Providers {
			if s.Provider == "copilot" && s.State+" "+s.Source != want {
				t.Errorf("the state is %s from %s, want %s", s.State, s.Source, want)
			}
		}
	}

	state("missing ")
	refused("run `thinkd auth login copilot`")
	p.must("auth/login", map[string]any{"provider": "copilot"}, nil)
	h.progress(t, p, "waiting", func(url, code string) {
		if url != "https://github.com/login/device" || !h.logins.Approve(code) {
			t.Errorf("to do: %s, %s", url, code)
		}
	})
	h.progress(t, p, "ready", nil)
	state("ready login")
	well("copilot/claude-sonnet-5")
	well("copilot/gpt-5.5")
	h.logins.Forget() // before their time
	well("copilot/claude-sonnet-5")
	if n := h.logins.Exchanges(); n != 2 {
		t.Errorf("%d exchanges, want 2", n)
	}

	h.end(p)
	p = h.begin(t)
	state("ready login")
	well("copilot/gpt-5.5")
	h.logins.Revoke()
	h.logins.Forget()
	refused("the login is not taken any more")
	state("refused login")
	p.must("auth/set_key", map[string]any{"provider": "copilot", "key": ""}, nil)
	state("missing ")
	h.end(p)
	if r := h.vendor.Refusals(); len(r) > 0 {
		t.Errorf("refused: %+v", r)
	}
	h.nothingLeaks(t)
}

// begin runs a daemon of the house as commands do, and a client.
func (h *loginHouse) begin(t *testing.T) *process {
	t.Helper()
	return startCommand(t, command(t, nil, append(append([]string{"--data", h.data}, h.flags...), "stdio")...), writerFunc(func(b []byte) (int, error) {
		h.said = append(h.said, string(b))
		return len(b), nil
	}))
}

func (h *loginHouse) end(p *process) {
	p.t.Helper()
	p.end()
	if err := quit(h.data); err != nil {
		p.t.Error(err)
	}
	h.said = append(h.said, p.log())
}

// progress waits for a word on a login.
func (h *loginHouse) progress(t *testing.T, p *process, want string, do func(url, code string)) {
	t.Helper()
	var u struct{ Provider, State, URL, Code string }
	p.wait("a login that is "+want, func(n update) bool {
		if n.Method != "auth_update" {
			return false
		}
		if err := json.Unmarshal(n.Raw, &u); err != nil {
			t.Error(err)
		}
		if u.State == "failed" {
			t.Fatalf("the login failed: %s", n.Raw)
		}
		return u.State == want
	})
	if do != nil {
		do(u.URL, u.Code)
	}
}

// TestPlanLogin logs in by a browser, from the command line, and prompts with the plan's account.
func TestPlanLogin(t *testing.T) {
	t.Parallel()
	h := &loginHouse{vendor: sim.New(sim.Config{}), data: t.TempDir(), logins: sim.NewLogins(sim.LoginsConfig{ClientID: "app_1", Account: "acct_7"})}
	api, server := serve(t, h.logins.Guard(h.vendor)), serve(t, h.logins)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	h.flags = []string{"--log-level", "debug", "--config", writeConfig(t, fmt.Sprintf(
		"[providers.chatgpt]\nbase_url = %q\n[providers.chatgpt.login]\nclient_id = \"app_1\"\naddress = %q\nport = %d\n", api+"/backend-api/codex", server, port))}
	run := func(args ...string) string {
		t.Helper()
		out, err := command(t, nil, append(append([]string{"--data", h.data}, h.flags...), args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("thinkd %v: %v\n%s", args, err, out)
		}
		h.said = append(h.said, string(out))
		return string(out)
	}

	cmd := command(t, nil, append(append([]string{"--data", h.data}, h.flags...), "auth", "login", "chatgpt")...)
	var trouble lockedBuffer
	cmd.Stderr = &trouble
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(stdout)
	line, err := in.ReadString('\n')
	page, ok := strings.CutPrefix(strings.TrimSpace(line), "Open ")
	if err != nil || !ok {
		t.Fatalf("the command says %q (%v)\n%s", line, err, trouble.String())
	}
	resp, err := http.Get(page) // a browser, and a person who agrees
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || !strings.Contains(string(text), "You are logged in. You can close this page.") {
		t.Errorf("the page says %s (%v)", text, err)
	}
	rest, err := io.ReadAll(in)
	if err != nil || !strings.Contains(string(rest), "chatgpt: logged in") {
		t.Errorf("the command says %s (%v)", rest, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, trouble.String())
	}
	h.said = append(h.said, string(text), string(rest), trouble.String())

	if out := run("auth"); !strings.Contains(out, "chatgpt") || !strings.Contains(out, "login") {
		t.Errorf("thinkd auth says %s", out)
	}
	for range 2 { // a daemon each: what lasts was replaced by the first one
		if out := run("prompt", "--model", "chatgpt/gpt-5.6-sol", "Which date is later? [[sim: thinking=3 text=3]]"); out == "" {
			t.Error("no answer")
		}
		if err := quit(h.data); err != nil {
			t.Error(err)
		}
	}
	if got := h.lastRequest(t).Header.Get("ChatGPT-Account-ID"); got != "acct_7" {
		t.Errorf("the account is %q", got)
	}
	if n := h.logins.Exchanges(); n != 2 {
		t.Errorf("%d renewals, want one for each daemon", n)
	}
	if r := h.vendor.Refusals(); len(r) > 0 {
		t.Errorf("refused: %+v", r)
	}
	h.nothingLeaks(t)
}

// TestAzure: each customer's place has its own name, and before it is told a call says how to.
func TestAzure(t *testing.T) {
	t.Parallel()
	heard := make(chan *http.Request, 1)
	host := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard <- r
		http.Error(w, `{"error":{"message":"no such deployment"}}`, http.StatusNotFound)
	}))
	for _, tt := range []struct{ config, endpoint, want string }{
		{"", "", "azure: no address: set base_url under [providers.azure] in the config, or AZURE_OPENAI_ENDPOINT"},
		{"", host, "no such deployment"},
		{"", host + "/", "no such deployment"},
		{"", host + "/openai/v1/", "no such deployment"},
		{"[providers.azure]\nbase_url = \"" + host + "/openai/v1\"", "https://elsewhere.invalid", "no such deployment"},
	} {
		c, err := loadConfig(writeConfig(t, tt.config), environment("AZURE_OPENAI_API_KEY=sk", "AZURE_OPENAI_ENDPOINT="+tt.endpoint))
		if err != nil {
			t.Fatal(err)
		}
		catalog, err := c.catalog(nil)
		if err != nil {
			t.Fatal(err)
		}
		p := openProviders(c, noKeys(t), catalog, discard)
		m, err := catalog.Find("azure/mine") // as its deployment is called
		if err != nil {
			t.Fatal(err)
		}
		reply, err := providertest.Collect(p.find("azure").Stream(t.Context(), &provider.Request{Model: m, Messages: []provider.Message{
			{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "Which?"}}}}}))
		if err != nil || reply.Err == nil || !strings.Contains(reply.Err.Error(), tt.want) {
			t.Errorf("%+v: %v, %v", tt, reply.Err, err)
		}
		told := tt.config + tt.endpoint
		for _, pc := range p.list {
			if pc.ID != "azure" {
				continue
			}
			if available, why := p.available(pc); available != (told != "") || available == (why != "") {
				t.Errorf("%+v: available %v: %s", tt, available, why)
			}
		}
		if told != "" {
			if r := <-heard; r.URL.Path != "/openai/v1/responses" || r.Header.Get("api-key") != "sk" {
				t.Errorf("%+v: %s", tt, r.URL)
			}
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}
}
