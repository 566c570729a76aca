//go:build long

package cluster

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session/jet/jettest"
)

// served is a node that serves users.
type served struct {
	*proof.Served
	t            *testing.T
	data, config string
}

func (c *cluster) serve(name string) *served {
	c.t.Helper()
	urls, err := json.Marshal(c.urls)
	if err != nil {
		c.t.Fatal(err)
	}
	s := &served{t: c.t, data: c.t.TempDir(), config: proof.WriteConfig(c.t, fmt.Sprintf("[cluster]\nservers = %s\nname = %q\nprefix = %q\n[auth]\n[auth.quotas.ann]\nmax_day_tokens = 100000\nmax_stored_bytes = 5000000\n", urls, name, c.prefix))}
	s.Served = proof.StartServe(c.t, proof.Command(c.t, nil, append(proof.ServeArgs(s.data), "--config", s.config)...))
	return s
}

func (s *served) run(args ...string) string {
	s.t.Helper()
	out, err := proof.Command(s.t, nil, append([]string{"--data", s.data, "--config", s.config}, args...)...).Output()
	if failed, ok := err.(*exec.ExitError); ok {
		s.t.Fatalf("thinkd %v: %v: %s", args, err, failed.Stderr)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (s *served) users() (list door.Users) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.run("admin", "users", "list", "--json")), &list); err != nil {
		s.t.Fatal(err)
	}
	return list
}

// dial connects as a user who has one token, made by from, as soon as this node knows the token.
func (s *served) dial(user string, from *served) *proof.WsClient {
	s.t.Helper()
	token := from.run("token", "create", "--user", user)
	for since := time.Now(); time.Since(since) < proof.Patience; {
		if slices.ContainsFunc(s.users().Users, func(u door.User) bool { return u.User == user && u.Tokens == 1 }) {
			break
		}
	}
	return proof.DialWS(s.t, s.Base, token, nil)
}

// makes has a client make a session.
func makes(c *proof.WsClient, params map[string]any) string {
	var made struct {
		ID string `json:"session_id"`
	}
	params["model_id"] = "sim/claude"
	c.Must("session/new", params, &made)
	return made.ID
}

// TestUsersOfNodes: each node knows the users of all, and deletes one whose sessions are at another node, in a turn.
func TestUsersOfNodes(t *testing.T) {
	c := begin(t, jettest.Start(t, 3), 3)
	a, b := c.serve("a"), c.serve("b")
	ann := b.dial("ann", a)
	bob := b.dial("bob", b)
	for _, client := range []*proof.WsClient{ann, bob} {
		spoken := makes(client, map[string]any{})
		client.Must("session/prompt", map[string]any{"session_id": spoken, "text": "hello [[sim: pace=0]]"}, nil)
		client.TurnEnd()
		client.Must("session/fork", map[string]any{"session_id": spoken}, nil)
	}
	makes(ann, map[string]any{"ephemeral": true})
	open := makes(ann, map[string]any{})
	ann.Must("session/prompt", map[string]any{"session_id": open, "text": "think [[sim: pace=1000]]"}, nil)
	ann.Until("the turn", func() bool {
		return slices.ContainsFunc(ann.Updates, func(u proof.Update) bool { return u.Session == open && u.Method == "turn_start" })
	})

	list := a.users()
	if len(list.Users) != 2 || list.Users[0].User != "ann" || list.Users[0].Sessions != 3 || list.Users[0].Tokens != 1 || list.Users[0].UsedDay.Tokens == 0 ||
		list.Users[0].Stored == nil || *list.Users[0].Stored == 0 || list.Users[1].User != "bob" || list.Users[1].Sessions != 2 {
		t.Errorf("%+v", list.Users)
	}
	if text := a.run("admin", "quotas"); !strings.Contains(text, " of 100000") {
		t.Error(text)
	}
	if text := a.run("admin", "sessions", "list", "ann"); strings.Count(text, "\n") != 2 || !strings.Contains(text, open) {
		t.Error(text)
	}
	a.run("admin", "sessions", "delete", "ann", open) // the other node has it in a turn
	if text := a.run("admin", "sessions", "list", "ann"); strings.Contains(text, open) {
		t.Error(text)
	}
	open = makes(ann, map[string]any{})
	ann.Must("session/prompt", map[string]any{"session_id": open, "text": "think [[sim: pace=1000]]"}, nil)

	text := a.run("admin", "users", "delete", "ann", "--yes")
	if !strings.HasPrefix(text, "deleted ann: 4 sessions, 1 token, 0 keys") { // with the one in memory
		t.Error(text)
	}
	if code, reason := ann.Closed(); code != 4001 {
		t.Errorf("ann's connection is closed with %d %s", code, reason)
	}
	if list := b.users(); len(list.Users) != 1 && list.Users[1].Sessions != 2 || list.Users[0].Sessions != 0 {
		t.Errorf("after the deletion: %+v", list.Users)
	}
	again := a.dial("ann", b)
	var left struct{ Sessions []json.RawMessage }
	again.Must("session/list", map[string]any{}, &left)
	if len(left.Sessions) != 0 {
		t.Errorf("ann still has %s", left.Sessions)
	}
	bob.Must("session/list", map[string]any{}, &left)
	if len(left.Sessions) != 2 {
		t.Errorf("bob has %s", left.Sessions)
	}
	a.Terminate()
	b.Terminate()
}
