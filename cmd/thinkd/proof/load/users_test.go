package load

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/network"
	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt"
)

var manyUsers = flag.Int("users", 20, "how many users TestManyUsers has, with ten sessions each; 1000 for the figures")

const sessionsOfUser = 10

// TestManyUsers starts a daemon on the sessions of many users. Each user lists their own, with their token, and the operator lists the
// users. With -v it prints the figures.
func TestManyUsers(t *testing.T) {
	data, config := t.TempDir(), proof.WriteConfig(t, "[auth]\n")
	tokens := storeUsers(t, data, *manyUsers)
	proof.Program(t) // is built before the clock starts
	begun := time.Now()
	s := proof.StartServe(t, proof.Command(t, nil, append(proof.ServeArgs(data), "--config", config)...))
	started, fresh := time.Since(begun), proof.MemoryOf(t, s.Cmd.Process.Pid)

	var lists []time.Duration
	var clients []*proof.WsClient
	for n, token := range tokens {
		begun := time.Now()
		c := proof.DialWS(t, s.Base, token, nil)
		var page struct {
			Sessions []struct {
				Title string `json:"title"`
			} `json:"sessions"`
		}
		c.Must("session/list", struct{}{}, &page)
		lists = append(lists, time.Since(begun))
		for _, one := range page.Sessions {
			if one.Title != titleOf(n) {
				t.Fatalf("user %d lists a session %q", n, one.Title)
			}
		}
		if len(page.Sessions) != sessionsOfUser {
			t.Fatalf("user %d lists %d sessions", n, len(page.Sessions))
		}
		clients = append(clients, c)
	}
	connected := proof.MemoryOf(t, s.Cmd.Process.Pid)
	begun = time.Now()
	out, err := proof.Command(t, nil, "--data", data, "--config", config, "admin", "users", "list", "--json").Output()
	administered := time.Since(begun)
	var all door.Users
	if err := json.Unmarshal(out, &all); err != nil || len(all.Users) != *manyUsers || all.Users[0].Sessions != sessionsOfUser {
		t.Errorf("the operator lists %d users, %v", len(all.Users), err)
	}
	if err != nil {
		t.Error(err)
	}
	slices.Sort(lists)
	t.Logf("%d users with %d sessions each: start %v, memory %d MiB; all connected: %d MiB; connect and list p50 %v, p99 %v; admin users list %v", *manyUsers, sessionsOfUser,
		started.Round(time.Millisecond), fresh.Own>>20, connected.Own>>20, lists[len(lists)/2], lists[len(lists)*99/100], administered.Round(time.Millisecond))
	for _, c := range clients {
		c.Must("ping", struct{}{}, nil)
	}
	s.Terminate()
}

func titleOf(user int) string { return fmt.Sprintf("a session of user %d", user) }

// storeUsers makes users with sessions, and a token for each, without a daemon.
func storeUsers(t *testing.T, data string, n int) (words []string) {
	t.Helper()
	store, err := bolt.Open(data, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var making sync.WaitGroup
	failed := make([]error, n)
	words = make([]string, n)
	room := make(chan struct{}, 64)
	for i := range n {
		name := fmt.Sprintf("user-%04d", i)
		_, token, err := network.Tokens(data).Create(auth.Record{User: name, Rights: []string{"use"}})
		if err != nil {
			t.Fatal(err)
		}
		words[i] = token.Reveal()
		room <- struct{}{}
		making.Add(1)
		testgo.Go(t, func() { // awaited below
			defer making.Done()
			defer func() { <-room }()
			for range sessionsOfUser {
				s := session.Session{ID: session.NewID(), Title: titleOf(i), Created: 1, Updated: 1, Settings: session.Settings{Model: session.ModelRef{Provider: "sim", ID: "claude"}}}
				if err := store.For(session.Owner{User: name}).Create(context.Background(), s); err != nil {
					failed[i] = err
				}
			}
		})
	}
	making.Wait()
	for _, err := range append(failed, store.Close()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return words
}
