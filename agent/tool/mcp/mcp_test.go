package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session/tool"
)

func TestMain(m *testing.M) {
	if os.Getenv("THINKD_TEST_SERVER") != "" {
		serveStdio()
		return
	}
	goleak.VerifyTestMain(m)
}

// serveStdio is a server of the test's own: it has a tool that ends the server.
func serveStdio() {
	server := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	description := "Ends the server."
	if text, err := os.ReadFile(os.Getenv("THINKD_TEST_DESCRIPTION")); err == nil {
		description = string(text)
	}
	hint := func(destructive bool) *mcp.ToolAnnotations {
		return &mcp.ToolAnnotations{DestructiveHint: &destructive}
	}
	for name, a := range map[string]*mcp.ToolAnnotations{"destroy": hint(true), "add": hint(false)} {
		if os.Getenv("THINKD_TEST_DESCRIPTION") == "" {
			continue
		}
		mcp.AddTool(server, &mcp.Tool{Name: name, Annotations: a},
			func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
			})
	}
	mcp.AddTool(server, &mcp.Tool{Name: "die", Description: description},
		func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
			fmt.Fprintln(os.Stderr, "told to die")
			os.Exit(3)
			return nil, nil, nil
		})
	if os.Getenv("THINKD_TEST_STEPS") != "" {
		mcp.AddTool(server, &mcp.Tool{Name: "steps"},
			func(ctx context.Context, r *mcp.CallToolRequest, _ in) (*mcp.CallToolResult, any, error) {
				var err error
				for i := range steps {
					err = errors.Join(err, r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1)}))
				}
				return &mcp.CallToolResult{}, nil, err
			})
	}
	if os.Getenv("THINKD_TEST_RESOURCES") != "" {
		addResources(server)
	}
	many, _ := strconv.Atoi(os.Getenv("THINKD_TEST_TOOLS")) // none is 0
	for i := range many {
		mcp.AddTool(server, &mcp.Tool{Name: fmt.Sprint("many", i)},
			func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{}, nil, nil
			})
	}
	if os.Getenv("THINKD_TEST_DESCRIPTION") != "" {
		mcp.AddTool(server, &mcp.Tool{Name: "describe", Description: "Describes another tool anew."},
			func(_ context.Context, _ *mcp.CallToolRequest, to in) (*mcp.CallToolResult, any, error) {
				mcp.AddTool(server, &mcp.Tool{Name: "add", Description: to.Text}, // the library tells the client
					func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
						return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "sent"}}}, nil, nil
					})
				return &mcp.CallToolResult{}, nil, nil
			})
	}
	mcp.AddTool(server, &mcp.Tool{Name: "environment.of/it", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, Title: "Environment"}},
		func(context.Context, *mcp.CallToolRequest, in) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Join(os.Environ(), "\n")}}}, nil, nil
		})
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// steps is how much progress the test's own server reports right before a result.
const steps = 20

// The progress of a call is reported before its result, also if the server sends both at once.
func TestProgressBeforeResult(t *testing.T) {
	h, _ := open(t, toolhost.Server{Name: "own", Command: []string{os.Args[0]}, Env: map[string]string{"THINKD_TEST_SERVER": "1", "THINKD_TEST_STEPS": "1"}})
	var want strings.Builder
	for i := range steps {
		fmt.Fprintln(&want, i+1)
	}
	for range 20 {
		var progress strings.Builder
		r := h.Run(t.Context(), provider.ToolCall{ID: "c1", Name: "own__steps", Input: json.RawMessage(`{"text":""}`)}, func(chunk string) { progress.WriteString(chunk) })
		if r.Failed || progress.String() != want.String() {
			t.Fatalf("progress %q, result %q", progress.String(), words(r))
		}
	}
}

// noted is a log that remembers.
type noted struct {
	mu   sync.Mutex
	text strings.Builder
	more *sync.Cond // with mu
}

func (n *noted) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.more.Broadcast()
	return n.text.Write(p)
}

// wait waits until the log has a text.
func (n *noted) wait(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for !strings.Contains(n.text.String(), text) {
		n.more.Wait()
	}
}

func (n *noted) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

func open(t *testing.T, s toolhost.Server) (*Host, *noted) {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	log := &noted{}
	log.more = sync.NewCond(&log.mu)
	h := New(Config{Server: s, Name: "mcp:" + s.Name, Version: "test", Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(log)
		}
	})
	return h, log
}

func own(t *testing.T) (*Host, *noted) {
	t.Setenv("OPENAI_API_KEY", "sk-not-for-servers")
	return open(t, toolhost.Server{Name: "own", Command: []string{os.Args[0]}, Env: map[string]string{"THINKD_TEST_SERVER": "1"}})
}

func run(t *testing.T, h *Host, name, input string) (string, bool) {
	t.Helper()
	r := h.Run(t.Context(), provider.ToolCall{ID: "c1", Name: name, Input: json.RawMessage(input)}, func(string) {})
	if r.CallID != "c1" {
		t.Errorf("the result is of call %q", r.CallID)
	}
	return words(r), r.Failed
}

func words(r provider.ToolResult) string {
	var text []string
	for _, b := range r.Blocks {
		switch b := b.(type) {
		case provider.Text:
			text = append(text, b.Text)
		case provider.Media:
			text = append(text, fmt.Sprintf("<%s %d>", b.Type, len(b.Data)))
		}
	}
	return strings.Join(text, "\n")
}

// A server that ends in a call fails that call, is not called twice, and is there again for the next.
func TestServerEnds(t *testing.T) {
	h, log := own(t)
	tools, err := h.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Title == "Environment" })
	if len(tools) != 2 || i < 0 || tools[i].Effect != tool.Other || tool.CheckName(tools[i].Name) != nil {
		t.Fatalf("%+v", tools)
	}
	environment := tools[i].Name
	if said, failed := run(t, h, "own__die", `{"text":"x"}`); !failed || !strings.Contains(said, "the server own ended while it ran this call") {
		t.Errorf("the end of the server is reported as %q", said)
	}
	said, failed := run(t, h, environment, `{"text":"x"}`)
	if failed || !strings.Contains(said, "THINKD_TEST_SERVER=1") || !strings.Contains(said, "PATH=") {
		t.Errorf("after a restart: %q", said)
	}
	if strings.Contains(said, "sk-not-for-servers") {
		t.Error("a server has our keys")
	}
	if !strings.Contains(log.String(), `stderr="told to die"`) {
		t.Error("what a server says to its standard error is not in the log")
	}
	h.Rest()
	if said, failed := run(t, h, environment, `{"text":"x"}`); failed {
		t.Errorf("after a rest: %q", said)
	}
	if said, failed := run(t, h, "own__other", `{}`); !failed || said != "the server own has no such tool any more" {
		t.Errorf("a tool that there is not: %q", said)
	}
}

// A server that does not start gives the reason to who lists its tools, and the model a sentence without a path of the machine.
func TestServerMissing(t *testing.T) {
	for _, test := range []struct {
		server toolhost.Server
		why    string
	}{
		{toolhost.Server{Name: "none", Command: []string{filepath.Join(t.TempDir(), "none")}}, "none: no such file or directory"},
		{toolhost.Server{Name: "none", Command: []string{"go", "version"}}, "the program ended before it answered"},
		{toolhost.Server{Name: "none", Command: []string{"go", "no-such-command"}}, "the program ended before it answered: Run 'go help' for usage."},
		{toolhost.Server{Name: "none", URL: "http://127.0.0.1:1/mcp"}, "connection refused"},
	} {
		s := test.server
		h, _ := open(t, s)
		if tools, err := h.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), test.why) {
			t.Errorf("%v has the tools %v, %v, want an error with %q", s, tools, err, test.why)
		}
		if said, failed := run(t, h, "none__x", `{}`); !failed || said != "the server none cannot be reached; the call was not run" {
			t.Errorf("%v: %q", s, said)
		}
	}
}

// foreign is a server of others, from npm.
func foreign(t *testing.T, name string) []string {
	t.Helper()
	const install = "npm ci --prefix testdata/mcp"
	dir, err := filepath.Abs("../../../testdata/mcp")
	if err != nil {
		t.Fatal(err)
	}
	node, missing := exec.LookPath("node")
	script := filepath.Join(dir, "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	if missing == nil {
		_, missing = os.Stat(script)
	}
	if missing != nil {
		t.Skipf("needs: node, and `%s`", install)
	}
	return []string{node, script}
}

// The reference server over both transports: its list, calls, progress, and a call that is taken back.
func TestEverything(t *testing.T) {
	command := foreign(t, "server-everything")
	t.Run("stdio", func(t *testing.T) {
		h, _ := open(t, toolhost.Server{Name: "every", Command: append(slices.Clone(command), "stdio")})
		everything(t, h)
		pid := h.link.pid()
		if err := kill(pid); err != nil {
			t.Fatal(err)
		}
		<-h.link.gone
		if said, failed := run(t, h, "every__echo", `{"message":"again"}`); failed || said != "Echo: again" {
			t.Errorf("after it was killed: %q", said)
		}
		if h.link.pid() == pid {
			t.Error("it was not started again")
		}
	})
	t.Run("http", func(t *testing.T) {
		address, stop := serveHTTP(t, command, "")
		h, _ := open(t, toolhost.Server{Name: "every", URL: address + "/mcp", Headers: map[string]string{"X-Team": "a"}})
		everything(t, h)
		stop()
		if said, failed := run(t, h, "every__echo", `{"message":"gone"}`); !failed {
			t.Errorf("of a server that is gone: %q", said)
		}
		serveHTTP(t, command, address)
		if said, failed := run(t, h, "every__echo", `{"message":"again"}`); failed || said != "Echo: again" {
			t.Errorf("after it was started again: %q", said)
		}
	})
}

func everything(t *testing.T, h *Host) {
	t.Helper()
	tools, err := h.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tools {
		if err := tool.CheckName(tt.Name); err != nil || !strings.HasPrefix(tt.Name, "every__") || tt.Source != h.Name() || tt.Host != tool.MCP {
			t.Errorf("%+v: %v", tt, err)
		}
	}
	for _, c := range []struct{ name, input, want string }{
		{"every__echo", `{"message":"hello"}`, "Echo: hello"},
		{"every__get-sum", `{"a":2,"b":3}`, "5"},
		{"every__get-tiny-image", `{}`, "<image/png "},
		{"every__get-resource-links", `{"count":2}`, "[a resource:"},
		{"every__get-structured-content", `{"location":"Chicago"}`, `"temperature"`},
		{"every__list_resources", `{}`, "demo://resource/"},
		{"every__list_resources", `{}`, "Templates:\n"},
		{"every__read_resource", `{"uri":"demo://resource/dynamic/text/1"}`, "Resource 1"},
	} {
		if said, failed := run(t, h, c.name, c.input); failed || !strings.Contains(said, c.want) {
			t.Errorf("%s: %q", c.name, said)
		}
	}
	if said, failed := run(t, h, "every__get-sum", `{"a":"x"}`); !failed || said == "" {
		t.Errorf("wrong arguments: %q", said)
	}
	if said, failed := run(t, h, "every__read_resource", `{"uri":"demo://nothing"}`); !failed || said == "" {
		t.Errorf("an unknown resource: %q", said)
	}

	long := provider.ToolCall{ID: "c1", Name: "every__trigger-long-running-operation", Input: json.RawMessage(`{"duration":0.4,"steps":4}`)}
	if r := h.Run(t.Context(), long, func(string) {}); r.Failed {
		t.Errorf("a long call: %q", words(r))
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	long.Input = json.RawMessage(`{"duration":6000,"steps":60000}`)
	var progress strings.Builder
	h.Run(ctx, long, func(chunk string) {
		if progress.WriteString(chunk); strings.Count(progress.String(), "\n") >= 2 {
			cancel()
		}
	})
	if !strings.HasPrefix(progress.String(), "1/60000\n2/60000\n") {
		t.Errorf("progress %q", progress.String())
	}
	if said, failed := run(t, h, "every__echo", `{"message":"on"}`); failed || said != "Echo: on" {
		t.Errorf("after a call that was taken back: %q", said)
	}
}

// A folder is served, and nothing outside of it. The server calls its write destructive, so the write is no edit.
func TestFilesystem(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h, _ := open(t, toolhost.Server{Name: "files", Command: append(foreign(t, "server-filesystem"), dir), Tools: []string{"write_file", "read_text_file"}, TrustHints: true})
	tools, err := h.Tools(t.Context())
	if err != nil || len(tools) != 2 {
		t.Fatalf("%+v, %v", tools, err)
	}
	for _, tt := range tools {
		if want := map[string]tool.Effect{"files__write_file": tool.Other, "files__read_text_file": tool.Read}[tt.Name]; tt.Effect != want {
			t.Errorf("%s has the effect %s, want %s", tt.Name, tt.Effect, want)
		}
	}
	at := func(path string) string { return fmt.Sprintf(`{"path":%q,"content":"hello"}`, path) }
	if said, failed := run(t, h, "files__write_file", at(filepath.Join(dir, "a.txt"))); failed {
		t.Error(said)
	}
	if said, failed := run(t, h, "files__read_text_file", at(filepath.Join(dir, "a.txt"))); failed || said != "hello" {
		t.Errorf("%q", said)
	}
	if said, failed := run(t, h, "files__write_file", at(filepath.Join(t.TempDir(), "a.txt"))); !failed {
		t.Errorf("outside: %q", said)
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("x", 80)
	for name, want := range map[string]string{"read": "s__read", "a.b": "s__a_b_", long: "s__xxx"} {
		got := nameOf("s", name)
		if !strings.HasPrefix(got, want) || tool.CheckName(got) != nil || got != nameOf("s", name) {
			t.Errorf("%s is named %s", name, got)
		}
	}
	if nameOf("s", "a.b") == nameOf("s", "a_b") || nameOf("s", long) == nameOf("s", long+"y") {
		t.Error("two tools have one name")
	}
}

func TestLines(t *testing.T) {
	var got []string
	w := &lines{report: func(line string) { got = append(got, line) }}
	for _, piece := range []string{"one\ntw", "o\n\n  \n", strings.Repeat("y", maxLine-1), "yyy", "yy\nthree\xff\n", "rest"} {
		if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := []string{"one", "two", strings.Repeat("y", maxLine), "three\uFFFD"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
