package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
)

// goEditor is an editor made with a library for Go. It keeps all messages that it receives.
type goEditor struct {
	*acp.ClientSideConnection
	t      *testing.T
	permit acp.PermissionOptionKind

	mu      sync.Mutex
	updates []acp.SessionUpdate
	news    chan struct{} // closed and made anew when anything comes
	buffers map[string]string
}

var _ acp.Client = (*goEditor)(nil)

func (e *goEditor) SessionUpdate(_ context.Context, p acp.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates = append(e.updates, p.Update)
	close(e.news)
	e.news = make(chan struct{})
	return nil
}

// until waits for an update.
func (e *goEditor) until(what string, wanted func(acp.SessionUpdate) bool) {
	e.t.Helper()
	limit := time.After(proof.Patience)
	for seen := 0; ; {
		e.mu.Lock()
		updates, news := e.updates, e.news
		e.mu.Unlock()
		for ; seen < len(updates); seen++ {
			if wanted(updates[seen]) {
				return
			}
		}
		select {
		case <-news:
		case <-limit:
			e.t.Fatalf("%s does not come", what)
		}
	}
}

func (e *goEditor) RequestPermission(_ context.Context, p acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	for _, o := range p.Options {
		if o.Kind == e.permit {
			return acp.RequestPermissionResponse{Outcome: acp.RequestPermissionOutcome{Selected: &acp.RequestPermissionOutcomeSelected{OptionId: o.OptionId}}}, nil
		}
	}
	return acp.RequestPermissionResponse{}, fmt.Errorf("there is no option %s", e.permit)
}

func (e *goEditor) ReadTextFile(_ context.Context, p acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return acp.ReadTextFileResponse{Content: e.buffers[p.Path]}, nil
}

func (e *goEditor) WriteTextFile(_ context.Context, p acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.buffers[p.Path] = p.Content
	return acp.WriteTextFileResponse{}, nil
}

var errNoTerminal = errors.New("this editor has no terminal")

func (e *goEditor) CreateTerminal(context.Context, acp.CreateTerminalRequest) (r acp.CreateTerminalResponse, err error) {
	return r, errNoTerminal
}

func (e *goEditor) KillTerminal(context.Context, acp.KillTerminalRequest) (r acp.KillTerminalResponse, err error) {
	return r, errNoTerminal
}

func (e *goEditor) TerminalOutput(context.Context, acp.TerminalOutputRequest) (r acp.TerminalOutputResponse, err error) {
	return r, errNoTerminal
}

func (e *goEditor) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (r acp.ReleaseTerminalResponse, err error) {
	return r, errNoTerminal
}

func (e *goEditor) WaitForTerminalExit(context.Context, acp.WaitForTerminalExitRequest) (r acp.WaitForTerminalExitResponse, err error) {
	return r, errNoTerminal
}

// startEditor runs `thinkd acp` for an editor that has said hello.
func startEditor(t *testing.T, data string, env []string) *goEditor {
	t.Helper()
	cmd := proof.Command(t, env, "--data", data, "acp")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := &goEditor{t: t, permit: acp.PermissionOptionKindAllowOnce, news: make(chan struct{}), buffers: make(map[string]string)}
	e.ClientSideConnection = acp.NewClientSideConnection(e, in, out)
	t.Cleanup(func() {
		in.Close()
		<-e.Done()
		io.Copy(io.Discard, out) // the library has read to the end
		if err := cmd.Wait(); err != nil {
			t.Errorf("thinkd acp ends with %v", err)
		}
	})
	hello, err := e.Initialize(t.Context(), acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber,
		ClientCapabilities: acp.ClientCapabilities{Fs: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}}})
	if err != nil || hello.ProtocolVersion != 1 || !hello.AgentCapabilities.LoadSession || len(hello.AuthMethods) != 0 {
		t.Fatalf("%+v, %v", hello, err)
	}
	return e
}

func (e *goEditor) prompt(id acp.SessionId, text string) acp.StopReason {
	e.t.Helper()
	r, err := e.Prompt(e.t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
	if err != nil {
		e.t.Fatal(err)
	}
	return r.StopReason
}

// levels returns the values of the option for thinking, in the order of the updates that came.
func (e *goEditor) levels() (list []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, u := range e.updates {
		if u.ConfigOptionUpdate != nil {
			list = append(list, level(u.ConfigOptionUpdate.ConfigOptions))
		}
	}
	return list
}

func level(options []acp.SessionConfigOption) string {
	for _, o := range options {
		if o.Select != nil && o.Select.Id == "reasoning_effort" {
			return string(o.Select.CurrentValue)
		}
	}
	return ""
}

// thought is all that was thought and said.
func (e *goEditor) thought() (thought, said string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, u := range e.updates {
		switch {
		case u.AgentThoughtChunk != nil && u.AgentThoughtChunk.Content.Text != nil:
			thought += u.AgentThoughtChunk.Content.Text.Text
		case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
			said += u.AgentMessageChunk.Content.Text.Text
		}
	}
	return thought, said
}

// TestACPShared has an editor of another library and a browser on one session: both get the same turn at the same time, and what
// one of them sets appears in the other.
func TestACPShared(t *testing.T) {
	t.Parallel()
	vendor, env := proof.Simulator(t, sim.Config{})
	script := tasks()
	script[0].Pace = 50
	vendor.Script(append(script[:4], script[6])...)
	folder, data := project(t), proof.DataDir(t)
	e := startEditor(t, data, env)
	s := proof.StartServe(t, proof.Command(t, env, proof.ServeArgs(data)...))
	browser := proof.DialWS(t, s.Base, s.Token, nil)

	file := filepath.Join(folder, "project", "a.txt")
	e.buffers[file] = "one\n"
	made, err := e.NewSession(t.Context(), acp.NewSessionRequest{Cwd: filepath.Join(folder, "project"), McpServers: []acp.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	id := made.SessionId
	browser.Must("session/attach", map[string]any{"session_id": id}, nil)
	browser.Must("thinking/set", map[string]any{"session_id": id, "level": "low"}, nil)
	e.until("the level that the browser sets", func(u acp.SessionUpdate) bool {
		return u.ConfigOptionUpdate != nil && level(u.ConfigOptionUpdate.ConfigOptions) == "low"
	})
	set, err := e.SetSessionConfigOption(t.Context(), acp.SetSessionConfigOptionRequest{
		ValueId: &acp.SetSessionConfigOptionValueId{SessionId: id, ConfigId: "reasoning_effort", Value: "max"}})
	if err != nil || level(set.ConfigOptions) != "max" {
		t.Fatalf("%+v, %v", set, err)
	}
	browser.Until("the level that the editor sets", func() bool {
		for _, u := range browser.Updates {
			if u.Method == "session_update" && strings.Contains(string(u.Raw), `"preferred_thinking_level":"max"`) {
				return true
			}
		}
		return false
	})

	if stop := e.prompt(id, "Fix it."); stop != acp.StopReasonEndTurn {
		t.Errorf("the turn ends with %s", stop)
	}
	browser.TurnEnd()
	thought, said := e.thought()
	var theirs [2]string
	browser.Until("the turn", func() bool {
		theirs = [2]string{}
		for _, u := range browser.Updates {
			switch u.Method {
			case "thinking_delta":
				theirs[0] += u.Delta
			case "message_delta":
				theirs[1] += u.Delta
			}
		}
		return true
	})
	if diff := cmp.Diff(theirs, [2]string{thought, said}); diff != "" || said != "It says two." {
		t.Errorf("(-browser +editor)\n%s", diff)
	}
	if e.buffers[file] != "two\n" {
		t.Errorf("the buffer has %q", e.buffers[file])
	}
	e.permit = acp.PermissionOptionKindRejectOnce
	if stop := e.prompt(id, "Write another."); stop != acp.StopReasonEndTurn {
		t.Errorf("the turn ends with %s", stop)
	}

	// A stop, by the browser, of what the editor has asked.
	stopped := make(chan acp.StopReason, 1)
	testgo.Go(t, func() { // ends with the answer, awaited below
		r, err := e.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock("Think for ever.")}})
		if err != nil {
			t.Error(err)
		}
		stopped <- r.StopReason
	})
	e.until("a thought", func(u acp.SessionUpdate) bool {
		return u.AgentThoughtChunk != nil && strings.Contains(u.AgentThoughtChunk.Content.Text.Text, "On")
	})
	browser.Must("session/cancel", map[string]any{"session_id": id}, nil)
	if stop := <-stopped; stop != acp.StopReasonCancelled {
		t.Errorf("the cancelled turn ends with %s", stop)
	}
	if levels := e.levels(); len(levels) != 1 {
		t.Errorf("the updates have the levels %v; the editor needs no update of what it set itself", levels)
	}
	other := startEditor(t, data, env)
	if _, err := other.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: id, Cwd: filepath.Join(folder, "project"), McpServers: []acp.McpServer{}}); err != nil {
		t.Fatal(err)
	}
	if again, _ := other.thought(); !strings.HasPrefix(again, thought) {
		t.Errorf("%q is loaded, %q was thought", again, thought)
	}
	listed, err := other.ListSessions(t.Context(), acp.ListSessionsRequest{})
	if err != nil || len(listed.Sessions) != 1 {
		t.Errorf("%+v, %v", listed, err)
	}
	s.Terminate()
}
