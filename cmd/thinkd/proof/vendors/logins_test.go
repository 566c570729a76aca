package vendors

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/logins"
	"github.com/thinkd/thinkd/rpc/conntest"
)

// TestCopilotLogin logs in by a code, and prompts: the strict stand-in takes the exchanged token with its headers, by
// two APIs, over an end of the token and a restart, until the login is taken back.
func TestCopilotLogin(t *testing.T) {
	t.Parallel()
	h := &proof.LoginHouse{Vendor: sim.New(sim.Config{}), Data: t.TempDir()}
	var api http.Handler
	address := proof.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { api.ServeHTTP(w, r) }))
	h.Logins = logins.New(logins.Config{ClientID: "Iv1.test", API: address, Interval: 1})
	api = h.Logins.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/chat/completions" { // the simulator has a path for each host
			r.URL.Path = "/copilot" + r.URL.Path
		}
		h.Vendor.ServeHTTP(w, r)
	}))
	server := proof.Serve(t, h.Logins)
	h.Flags = []string{"--log-level", "debug", "--config", proof.WriteConfig(t, fmt.Sprintf(
		"[providers.copilot.login]\nclient_id = \"Iv1.test\"\neditor = true\naddress = %q\napi_address = %q\n", server, server))}

	p := h.Begin(t)
	turn := func(model string) proof.Update {
		t.Helper()
		id := p.NewSession("model_id", model)
		return p.Wait("the end", proof.Ended(p.Say(id, "Which date is later? [[sim: thinking=3 text=3]]")))
	}
	well := func(model string) {
		t.Helper()
		if u := turn(model); u.Stop != "end_turn" {
			t.Errorf("%s: the turn ends with %s: %s", model, u.Stop, u.Raw)
		}
		header := h.LastRequest(t).Header
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
		var list struct{ Providers []loginState }
		p.Must("auth/status", map[string]any{}, &list)
		for _, s := range list.Providers {
			if s.Provider == "copilot" && s.State+" "+s.Source != want {
				t.Errorf("the state is %s from %s, want %s", s.State, s.Source, want)
			}
		}
	}

	state("missing ")
	refused("run `thinkd auth login copilot`")
	p.Must("auth/login", map[string]any{"provider": "copilot"}, nil)
	h.Progress(t, p, "waiting", func(url, code string) {
		if url != "https://github.com/login/device" || !h.Logins.Approve(code) {
			t.Errorf("to do: %s, %s", url, code)
		}
	})
	h.Progress(t, p, "ready", nil)
	state("ready login")
	well("copilot/claude-sonnet-5")
	well("copilot/gpt-5.5")
	h.Logins.Forget() // before their time
	well("copilot/claude-sonnet-5")
	if n := h.Logins.Exchanges(); n != 2 {
		t.Errorf("%d exchanges, want 2", n)
	}

	h.End(p)
	p = h.Begin(t)
	state("ready login")
	well("copilot/gpt-5.5")
	h.Logins.Revoke()
	h.Logins.Forget()
	refused("the login is not taken any more")
	state("refused login")
	p.Must("auth/set_key", map[string]any{"provider": "copilot", "key": ""}, nil)
	state("missing ")
	h.End(p)
	if r := h.Vendor.Refusals(); len(r) > 0 {
		t.Errorf("refused: %+v", r)
	}
	h.NothingLeaks(t)
}

// TestPlanLogin logs in by a browser, from the command line, and prompts with the plan's account.
func TestPlanLogin(t *testing.T) {
	t.Parallel()
	h := &proof.LoginHouse{Vendor: sim.New(sim.Config{}), Data: t.TempDir(), Logins: logins.New(logins.Config{ClientID: "app_1", Account: "acct_7"})}
	api, server := proof.Serve(t, h.Logins.Guard(h.Vendor)), proof.Serve(t, h.Logins)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	h.Flags = []string{"--log-level", "debug", "--config", proof.WriteConfig(t, fmt.Sprintf(
		"[providers.chatgpt]\nbase_url = %q\n[providers.chatgpt.login]\nclient_id = \"app_1\"\naddress = %q\nport = %d\n", api+"/backend-api/codex", server, port))}
	run := func(args ...string) string {
		t.Helper()
		out, err := proof.Command(t, nil, append(append([]string{"--data", h.Data}, h.Flags...), args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("thinkd %v: %v\n%s", args, err, out)
		}
		h.Said = append(h.Said, string(out))
		return string(out)
	}

	cmd := proof.Command(t, nil, append(append([]string{"--data", h.Data}, h.Flags...), "auth", "login", "chatgpt")...)
	var trouble conntest.Log
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
	h.Said = append(h.Said, string(text), string(rest), trouble.String())

	if out := run("auth"); !strings.Contains(out, "chatgpt") || !strings.Contains(out, "login") {
		t.Errorf("thinkd auth says %s", out)
	}
	for range 2 { // a daemon each: what lasts was replaced by the first one
		if out := run("prompt", "--model", "chatgpt/gpt-5.6-sol", "Which date is later? [[sim: thinking=3 text=3]]"); out == "" {
			t.Error("no answer")
		}
		if err := proof.Quit(h.Data); err != nil {
			t.Error(err)
		}
	}
	if got := h.LastRequest(t).Header.Get("ChatGPT-Account-ID"); got != "acct_7" {
		t.Errorf("the account is %q", got)
	}
	if n := h.Logins.Exchanges(); n != 2 {
		t.Errorf("%d renewals, want one for each daemon", n)
	}
	if r := h.Vendor.Refusals(); len(r) > 0 {
		t.Errorf("refused: %+v", r)
	}
	h.NothingLeaks(t)
}

// loginState is what auth/status says of a provider.
type loginState struct {
	Provider, State, Source string
	Login                   bool
}
