package agent

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

// A model stays loaded as long as its sessions say, in turns, side questions and summaries. After the last session has ended it is
// unloaded: when the session is closed, deleted or unloaded, or the daemon ends.
func TestKeepAlive(t *testing.T) {
	p := seat{model: "ollama", level: provider.Off}.place(t, registry.Default())
	synctest.Test(t, func(t *testing.T) {
		server := sim.New(sim.Config{})
		b := seated(t, p, server, nil)
		begin := func(keep provider.KeepAlive) session.ID {
			t.Helper()
			s, err := b.group.For(session.Operator).Create(t.Context(), session.Session{Settings: session.Settings{Model: sole{p.row}.ref(), Level: p.level, KeepAlive: keep}})
			if err != nil {
				t.Fatal(err)
			}
			return s.ID
		}
		sent := func() string {
			all := server.Requests()
			return gjson.GetBytes(all[len(all)-1].Body, "keep_alive").Raw
		}
		listener := server.Listen()
		defer listener.Close()
		client := &http.Client{Transport: listener.Transport()}
		loaded := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			resp, err := client.Get("http://ollama.test/api/ps")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var ps struct {
				Models []struct {
					Name    string    `json:"name"`
					Expires time.Time `json:"expires_at"`
				} `json:"models"`
			}
			if err := json.NewDecoder(resp.Body).Decode(&ps); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range ps.Models {
				got = append(got, m.Name+" "+time.Until(m.Expires).Round(time.Minute).String())
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: loaded are %q, want %q", when, got, want)
			}
		}
		end := func(id session.ID) {
			t.Helper()
			if err := b.agent(id).Close(); err != nil {
				t.Fatal(err)
			}
		}

		one, two, plain := begin("1h"), begin("30m"), begin("")
		b.turn(one, "Which date is later?")
		check(t, "a turn", sent(), "3600")
		loaded("after a turn", "ollama 1h0m0s")
		b.asks(two, "What is a leap day?", nil)
		check(t, "a side question", sent(), "1800")
		loaded("after a side question", "ollama 30m0s")
		end(one)
		loaded("another session has it", "ollama 30m0s")
		b.turn(plain, "Which date is later?")
		check(t, "without the option", sent(), "")
		loaded("the server's own time", "ollama 5m0s")
		b.turn(two, "And of these three?")
		if err := b.group.For(session.Operator).Delete(t.Context(), two); err != nil {
			t.Fatal(err)
		}
		loaded("a session without the option has it", "ollama 30m0s")
		end(plain)
		loaded("all have ended")

		b.turn(one, "And now?")
		b.turn(one, "And then?")
		if over, err := b.agent(one).Compact(t.Context()); err != nil || over == nil {
			t.Fatal(over, err)
		} else if err := <-over; err != nil {
			t.Fatal(err)
		}
		check(t, "a summary", sent(), "3600")
		time.Sleep(DefaultLimits().Idle + time.Minute)
		loaded("idle and not in memory, for less than an hour", "ollama 49m0s")

		b.turn(begin("forever"), "Which date is later?")
		check(t, "forever", sent(), "-1")
		again := begin("0s")
		b.turn(again, "Which date is later?")
		check(t, "no time", sent(), "0")
		b.turn(plain, "Which date is later?")
		b.turn(begin("2h"), "Which date is later?")
		if err := b.group.Close(); err != nil {
			t.Fatal(err)
		}
		loaded("the daemon has ended")
		if refusals := server.Refusals(); len(refusals) > 0 {
			t.Errorf("refused: %+v", refusals[0])
		}
	})
}
