package load

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
)

// fewRotated are so few that TestRotationUnderLoad does not judge its times: the machine may be at something else.
const fewRotated = 30

var rotatedClients = flag.Int("rotated", fewRotated, "how many clients TestRotationUnderLoad has")

// TestRotationUnderLoad replaces the token while many clients watch turns of their own, one in ten without reading and
// one in ten asking all the time. The old token is void with the file, its connections are gone within a second by the
// daemon's own count, doors notice nothing, and who comes back with the new token misses no word. Meanwhile somebody comes
// with the old token all the time, or nobody with any.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	for name, visited := range map[string]bool{"visited": true, "not visited": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rotate(t, visited)
		})
	}
}

func rotate(t *testing.T, visited bool) {
	const doors = 3
	l := lecture{blocks: 80, pace: 20} // 12 s
	data := t.TempDir()
	vendor, env := proof.Simulator(t, sim.Config{NoJournal: true})
	all := make(chan struct{}) // turns run
	speak := sync.OnceFunc(func() { close(all) })
	defer speak()
	vendor.ScriptFunc(func(r sim.Request) *sim.Answer { <-all; return l.give(r) })
	s := proof.StartServe(t, proof.Command(t, env, proof.ServeArgs(data)...))
	editors := make([]*proof.Process, doors)
	ids, turns := make([]string, doors), make([]string, doors)
	for i := range editors {
		editors[i] = proof.Door(t, data, env)
		ids[i] = editors[i].NewSession("model_id", proof.VendorModel)
	}
	clients := make([]*bearer, *rotatedClients)
	for i := range clients {
		clients[i] = &bearer{returning: returning{s: s, id: editors[0].NewSession("model_id", proof.VendorModel)}, deaf: i%10 == 1, asks: i%10 == 2}
		editors[0].Must("session/detach", map[string]any{"session_id": clients[i].id}, nil)
		if err := clients[i].connect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range editors {
		turns[i] = p.Say(ids[i], "speak")
	}
	for _, c := range clients {
		c.turn = editors[0].Say(c.id, "speak")
	}
	var heard sync.WaitGroup
	for _, c := range clients {
		heard.Go(testgo.Guard(t, func() { c.hear(t.Context()) })) // ends with the connection
	}
	visits := &visitor{base: s.Base, token: s.Token, enough: make(chan struct{})}
	if visited {
		heard.Go(testgo.Guard(t, visits.run))
	}
	begun := time.Now()
	for proof.TheDaemon(t, data).Running < len(clients)+doors && time.Since(begun) < proof.Patience {
		proof.Moment(10 * time.Millisecond)
	}
	speak()
	for i, p := range editors { // the vendor speaks to all
		p.Wait("words", func(u proof.Update) bool { return u.Turn == turns[i] && strings.HasSuffix(u.Method, "_delta") })
	}
	busy := proof.TheDaemon(t, data)

	if out, err := proof.Command(t, nil, "--data", data, "serve", "--rotate-token").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file, err := os.Stat(filepath.Join(data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	changed := file.Sys().(*syscall.Stat_t).Ctim // when it was put in the old one's place
	replaced := time.Unix(changed.Sec, changed.Nsec)
	var gone time.Duration
	for gone == 0 {
		if n := proof.TheDaemon(t, data).SpreadMS; n == doors+1 { // a millisecond for each; and the one that asks
			gone = time.Since(replaced)
		} else if time.Since(replaced) > proof.Patience {
			t.Fatalf("%d clients are still there", n-doors-1)
		}
		proof.Moment(time.Millisecond)
	}
	close(visits.enough)
	heard.Wait()
	var last time.Duration // when the last client that reads learned of it
	for i, c := range clients {
		if e, ok := errors.AsType[websocket.CloseError](c.err); !c.deaf && (!ok || e.Code != 4001) {
			t.Errorf("client %d: the connection ends with %v", i, c.err)
		}
		last = max(last, c.end.Sub(replaced))
	}
	if visited && (visits.wrong != nil || visits.let == 0 || visits.refused < 3 || visits.last.After(replaced.Add(tick))) {
		t.Errorf("%d came in with the old token, the last %v after the new one was there, %d were refused; %v",
			visits.let, visits.last.Sub(replaced), visits.refused, visits.wrong)
	}

	text, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		t.Fatal(err)
	}
	renewed := &proof.Served{T: t, Base: s.Base, Token: strings.TrimSpace(string(text))}
	var following sync.WaitGroup
	for _, c := range clients {
		c.s, c.deaf = renewed, c.deaf || c.deltas == 0
		following.Go(testgo.Guard(t, func() { // ends with the turn or the test's context
			if c.err = c.connect(t.Context()); c.err == nil && !c.deaf {
				c.err = c.until(t.Context(), func() bool { return c.ended })
			}
		}))
	}
	following.Wait()
	h := fnv.New64a()
	h.Write([]byte(l.text()))
	whole, anew := 0, 0
	for i, c := range clients {
		switch {
		case c.err != nil:
			t.Errorf("client %d came back: %v", i, c.err)
		case c.deaf || c.anew: // it had heard nothing from which it could go on, or that was too long ago
			anew++
		case c.heard == h.Sum64():
			whole++
		default:
			t.Errorf("client %d did not hear every word in order", i)
		}
		editors[0].Must("turn/wait", map[string]any{"session_id": c.id, "turn_id": c.turn}, nil)
		hasAll(t, editors[0], c.id, l)
		c.ws.CloseNow()
	}
	for i, p := range editors {
		p.Wait("the end", proof.Ended(turns[i]))
		if i > 0 { // the first has attached to the others' sessions
			proof.CheckDense(t, "a door", p.Seen(), ids[i], 0)
		}
		hasAll(t, p, ids[i], l)
	}
	t.Logf("%d clients with turns (%d running in all) and %d doors: the token was replaced, the last client that reads learned of it after %v, and all were gone after %v; "+
		"%d have every word in order, %d began anew", len(clients), busy.Running, doors, last.Round(time.Millisecond), gone.Round(time.Millisecond), whole, anew)
	if visited {
		t.Logf("%d came in with the old token, the last %v before it was replaced, and %d were refused", visits.let, replaced.Sub(visits.last).Round(time.Millisecond), visits.refused)
	}
	proof.Judge(t, gone <= time.Second, "the last client was gone %v after the token was replaced", gone)
	proof.Judge(t, busy.Running == len(clients)+doors && whole > 0, "%d turns ran when the token was replaced, and %d clients heard every word", busy.Running, whole)
	for _, p := range editors {
		p.End()
	}
	s.Terminate()
}

// tick is how far the time of a file's change may lie behind the clock: it is that of the kernel's last tick.
const tick = 10 * time.Millisecond

// bearer is a client that came in with a token.
type bearer struct {
	returning
	deaf bool // it does not read
	asks bool // it asks all the time

	turn string // of its session
	err  error
	end  time.Time // when it saw its connection's end
}

// hear takes what comes until the connection ends.
func (c *bearer) hear(ctx context.Context) {
	if c.deaf {
		return
	}
	var asking sync.WaitGroup
	defer asking.Wait()
	if c.asks {
		asking.Go(testgo.Guard(c.s.T, func() { // ends with the connection
			for c.ws.Write(ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","method":"ping"}`)) == nil {
				time.Sleep(time.Millisecond)
			}
		}))
	}
	c.err = c.until(ctx, func() bool { return false })
	c.end = time.Now()
}

// visitor comes by with a token again and again, until it was refused some times and its company has seen enough.
type visitor struct {
	base, token string
	enough      chan struct{}

	let, refused int
	last         time.Time // that it was let in; before that it had asked
	wrong        error
}

func (v *visitor) run() {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	enough := v.enough
	for begun := time.Now(); time.Since(begun) < 2*proof.Patience; {
		select {
		case <-enough:
			enough = nil
		case <-time.After(5 * time.Millisecond):
		}
		r, err := http.NewRequest("GET", v.base+"readyz", nil)
		if err != nil {
			v.wrong = err
			return
		}
		r.Header.Set("Authorization", "Bearer "+v.token)
		if enough == nil && v.refused >= 3 {
			return
		}
		asked := time.Now()
		answer, err := client.Do(r)
		if err != nil {
			v.wrong = err
			return
		}
		answer.Body.Close()
		switch {
		case answer.StatusCode == http.StatusOK && v.refused == 0:
			v.let, v.last = v.let+1, asked
		case answer.StatusCode == http.StatusUnauthorized, answer.StatusCode == http.StatusTooManyRequests && v.refused > 0:
			v.refused++
		default:
			v.wrong = fmt.Errorf("%s after %d of 200 and %d refusals", answer.Status, v.let, v.refused)
			return
		}
	}
}
