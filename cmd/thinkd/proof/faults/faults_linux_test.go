package faults

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt"
)

var (
	faultsWanted = flag.Int("faults", 0, "TestFaults: every call from the first to this one fails; 0: some")
	faultsFrom   = flag.Int("faultsfrom", 1, "TestFaults: every call from this one on, for a run in parts")
)

const (
	// saysWithin is how soon clients hear that nothing can be stored, beyond what they wait for any answer, and resumesWithin
	// how soon writing goes on when it can.
	saysWithin    = time.Second
	resumesWithin = 5 * time.Second

	leisure = 50 * time.Millisecond // between prompts that are not what counts

	faultLanes = 6 // side by side
)

// TestFaults makes single system calls of the daemon fail while clients write: the first to the two hundredth of each kind, once,
// for a while, for ever, or half done. Whatever fails, all that was acknowledged is there after a kill and a start on a disk that
// works, reading works all the time, and clients that wait for a write learn that it failed.
func TestFaults(t *testing.T) {
	t.Parallel()
	vendor, env := proof.Simulator(t, sim.Config{})
	vendor.ScriptFunc(proof.Recite)
	begun := prepare(t, env)
	var all []harm
	for _, nth := range faultsAt() {
		all = append(all, harms(nth)...)
	}
	var beginnings []harm
	for _, nth := range beginningsAt() {
		beginnings = append(beginnings, harms(nth)...)
	}
	var sum faultTally
	t.Cleanup(func() { t.Log(&sum) })
	var next atomic.Int64
	for lane := range faultLanes {
		t.Run(fmt.Sprint(lane), func(t *testing.T) {
			t.Parallel()
			for n := int(next.Add(1)) - 1; n < len(all) && !t.Failed(); n = int(next.Add(1)) - 1 {
				l := &hardship{t: t, harm: all[n], env: env, sum: &sum}
				l.take(begun)
				l.live()
				if t.Failed() {
					t.Logf("it was: %v", all[n])
				}
			}
		})
	}
	t.Run("beginning", func(t *testing.T) {
		t.Parallel()
		for _, h := range beginnings {
			l := &hardship{t: t, harm: h, env: env, sum: &sum, data: t.TempDir(), made: map[string]string{}}
			if l.begin(); t.Failed() {
				t.Fatalf("it was: %v", h)
			}
		}
	})
}

// faultsAt is which calls fail: in the long form all up to one.
func faultsAt() (all []int) {
	if *faultsWanted == 0 {
		return []int{1, 7}
	}
	for nth := *faultsFrom; nth <= *faultsWanted; nth++ {
		all = append(all, nth)
	}
	return all
}

// beginningsAt is the same for the making of a store, which takes hardly more than two calls of a kind.
func beginningsAt() []int {
	if *faultsWanted == 0 {
		return []int{1}
	}
	return []int{1, 2}
}

// harms is all that may happen to the nth calls. The file grows by a megabyte with each of its kind, so that of these the long
// form takes each one to the twentieth and every tenth after that.
func harms(nth int) []harm {
	all := []harm{{call: "pwrite64", nth: nth, errno: unix.EIO, half: true}}
	for _, call := range []string{"pwrite64", "fdatasync", "ftruncate", "fsync"} {
		if grows(call) && nth > 20 && nth%10 != 0 {
			continue
		}
		all = append(all,
			harm{call: call, nth: nth, errno: unix.EIO},
			harm{call: call, nth: nth, errno: unix.EIO, lasts: -1},
			harm{call: call, nth: nth, errno: unix.ENOSPC, lasts: 300 * time.Millisecond})
	}
	return all
}

// grows reports whether a call belongs to the growth of the file.
func grows(call string) bool { return call == "ftruncate" || call == "fsync" }

// faultTally is what the faults came to.
type faultTally struct {
	mu                    sync.Mutex
	lives, starting, once int
	said, resumed         time.Duration // the longest
	slowest               time.Duration // write before that
	acknowledged          int
}

func (s *faultTally) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%d lives with faults: in %d the daemon did not start, %d single faults were borne by those that did; %d acknowledgements held; trouble told within %v, where writes took up to %v; writing again within %v",
		s.lives, s.starting, s.once, s.acknowledged, s.said.Round(time.Millisecond), s.slowest.Round(time.Millisecond), s.resumed.Round(time.Millisecond))
}

// hardship is the life of a daemon to which harm comes, and what its clients know.
type hardship struct {
	t    *testing.T
	harm harm
	env  []string
	sum  *faultTally
	data string

	p       *proof.Process  // nil: its daemon did not start
	talk    *proof.Received // prompted over and over
	quiet   string          // a session that is only watched
	over    chan struct{}   // closed when it is enough
	writers [2]writer
	made    map[string]string // title by session, of what was acknowledged
}

// writer is one of those who write, and what it was answered.
type writer struct {
	mu              sync.Mutex
	acks            int
	asked, answered time.Time     // of what was acknowledged last
	refusal         time.Time     // the first
	slowest         time.Duration // acknowledgement: on a busy machine all answers take their time
}

// beginning is a store that all lives but the very first begin with: what makes it is not what fails.
type beginning struct {
	files       map[string][]byte // of the data directory
	quiet, talk string            // ids
	made        map[string]string // as in hardship
	config      string            // a directory, whose configuration has the agent that is large
}

// large is an agent with a system prompt that lets the file grow with each session. That comes from the configuration: as a
// part of each request it would be most of the work.
const large = "large"

// prepare makes a store with sessions, on a disk that works.
//
// Records lie two and more to a page. The last two sessions keep the large ones, which come after them, out of the
// page of those that are spoken to: each word said there would be a megabyte to write.
func prepare(t *testing.T, env []string) beginning {
	t.Helper()
	l := &hardship{t: t, env: env, data: t.TempDir(), made: map[string]string{}}
	l.p = proof.Start(t, l.data, env)
	b := beginning{files: map[string][]byte{}, quiet: l.make(""), talk: l.make(""), config: t.TempDir()}
	for range 2 {
		l.make("")
	}
	l.p.End()
	config := fmt.Sprintf("[agents.%s]\nsystem_prompt = %q\n", large, strings.Repeat("x", 900<<10))
	path := filepath.Join(b.config, "thinkd", "config.toml")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	b.made = l.made
	for _, name := range []string{"thinkd.db", "thinkd.mark"} {
		content, err := os.ReadFile(filepath.Join(l.data, name))
		if err != nil {
			t.Fatal(err)
		}
		b.files[name] = content
	}
	return b
}

// take makes a data directory of its own of a beginning.
func (l *hardship) take(b beginning) {
	l.data, l.made = l.t.TempDir(), maps.Clone(b.made)
	l.quiet, l.talk = b.quiet, proof.NewReceived(b.talk)
	if grows(l.harm.call) {
		l.env = append(slices.Clone(l.env), "XDG_CONFIG_HOME="+b.config)
	}
	for name, content := range b.files {
		if err := os.WriteFile(filepath.Join(l.data, name), content, 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
}

// live is the life of a daemon that is harmed while it starts or while clients write.
func (l *hardship) live() {
	l.over = make(chan struct{})
	l.life(func(v *victim) { l.work(v) })
}

// begin is the life of a daemon that has no store yet.
func (l *hardship) begin() { l.life(func(*victim) { l.make("") }) }

// life starts a daemon, lets work use it, and kills it.
func (l *hardship) life(work func(*victim)) {
	v := openVictim(l.t, l.data, l.env, l.harm)
	l.count(func(s *faultTally) { s.lives++ })
	if l.start(v) {
		l.p = v.Client(l.env)
		work(v)
		l.p.Kill()
	} else {
		v.Kill()
		l.count(func(s *faultTally) { s.starting++ })
	}
	l.look()
}

func (l *hardship) count(f func(*faultTally)) {
	l.sum.mu.Lock()
	defer l.sum.mu.Unlock()
	f(l.sum)
}

// start waits for the daemon to be ready, false if it says in place of that why it is not, and ends.
func (l *hardship) start(v *victim) bool {
	select {
	case line, ok := <-v.Lines:
		switch {
		case !ok:
			l.t.Errorf("the daemon ends without a word\n%s", proof.Excerpt(v.Stderr.String()))
		case line != proof.DaemonReady:
			for range v.Lines { // until it has ended
			}
		}
		return line == proof.DaemonReady
	case <-time.After(proof.Patience):
		l.t.Fatal("the daemon neither starts nor ends")
	}
	return false
}

// work writes until the harm has come and has been borne.
func (l *hardship) work(v *victim) {
	for _, id := range []string{l.quiet, l.talk.Id} {
		if err := l.p.Call("session/attach", map[string]any{"session_id": id}, nil); err != nil {
			l.t.Errorf("session/attach: %v", err)
		}
	}
	v.watch()
	begun := time.Now()
	before, moved := 0, begun
	var load sync.WaitGroup
	load.Go(testgo.Guard(l.t, l.prompts)) // these end by over
	load.Go(testgo.Guard(l.t, l.makes))
	for {
		proof.Moment(5 * time.Millisecond)
		if first, seen := v.hit(); !first.IsZero() && l.borne(first, seen, begun) {
			break
		}
		if acks := l.acknowledged(); acks != before {
			before, moved = acks, time.Now()
		}
		if time.Since(moved) > proof.Patience {
			l.t.Errorf("it does not come to an end\n%s", proof.Excerpt(v.Stderr.String()))
			break
		}
	}
	if l.harm.lasts < 0 {
		l.reads()
	}
	close(l.over)
	load.Wait()
}

func (l *hardship) acknowledged() (acks int) {
	for i := range l.writers {
		l.writers[i].mu.Lock()
		acks += l.writers[i].acks
		l.writers[i].mu.Unlock()
	}
	return acks
}

// borne reports whether all that has to follow the fault has followed: clients were notified if anything failed for them, and, if
// calls succeed again, every client writes again. What comes too late is an error.
func (l *hardship) borne(first, seen, begun time.Time) bool {
	told := true
	if l.harm.lasts != 0 && !seen.IsZero() {
		var late bool
		if told, late = l.saidSo(seen); late {
			return true
		}
	}
	if l.harm.lasts < 0 {
		return told && !seen.IsZero()
	}
	again := first.Add(l.harm.lasts)
	if begun.After(again) {
		again = begun
	}
	resumed, all := l.resumed(again)
	limit := proof.Patience
	if proof.Alone() {
		limit = resumesWithin
	}
	if resumed > limit {
		l.t.Errorf("nothing was written %v after that was possible again\n%s", resumed, proof.Excerpt(l.p.House.Stderr.String()))
		return true
	}
	if !all {
		return false
	}
	l.count(func(s *faultTally) {
		s.resumed = max(s.resumed, resumed)
		if l.harm.lasts == 0 {
			s.once++
		}
	})
	return told
}

// resumed is how long it took, or takes, until anybody was acknowledged what was asked for after a moment, and whether everybody
// was.
func (l *hardship) resumed(again time.Time) (took time.Duration, all bool) {
	took, all = time.Since(again), true
	for i := range l.writers {
		w := &l.writers[i]
		w.mu.Lock()
		if w.asked.Before(again) {
			all = false
		} else {
			took = min(took, w.answered.Sub(again))
		}
		w.mu.Unlock()
	}
	return took, all
}

// saidSo reports whether clients learned that nothing can be stored: those that write and those that only watch.
func (l *hardship) saidSo(seen time.Time) (told, late bool) {
	var refused time.Time
	var slowest time.Duration
	for i := range l.writers {
		w := &l.writers[i]
		w.mu.Lock()
		slowest = max(slowest, w.slowest)
		if !w.refusal.IsZero() && (refused.IsZero() || w.refusal.Before(refused)) {
			refused = w.refusal
		}
		w.mu.Unlock()
	}
	l.p.Mu.Lock()
	at := slices.IndexFunc(l.p.Updates, func(u proof.Update) bool {
		return u.Method == "notice" && u.Kind == "store_readonly" && u.Session == l.quiet
	})
	var took time.Duration
	if told = !refused.IsZero() && at >= 0; told {
		took = max(refused.Sub(seen), time.UnixMilli(l.p.Updates[at].TS).Sub(seen))
	}
	l.p.Mu.Unlock()
	if !told {
		if late = time.Since(seen) > proof.Patience; late {
			l.t.Errorf("%v after the fault: a write was refused: %v; a watcher was notified: %v\n%s", proof.Patience, !refused.IsZero(), at >= 0, proof.Excerpt(l.p.House.Stderr.String()))
		}
		return false, late
	}
	if took > saysWithin+slowest && proof.Alone() {
		l.t.Errorf("told %v after the fault, on a machine where a write took at most %v\n%s", took, slowest, proof.Excerpt(l.p.House.Stderr.String()))
		return true, true
	}
	l.count(func(s *faultTally) { s.said, s.slowest = max(s.said, took), max(s.slowest, slowest) })
	return true, false
}

// prompts prompts one session over and over, at leisure where the file has to grow for the harm to come.
func (l *hardship) prompts() {
	w, s := &l.writers[0], l.talk
	for n := 0; !l.enough(); n++ {
		if grows(l.harm.call) {
			proof.Moment(leisure)
		}
		order := proof.Recital{Tag: fmt.Sprint("f", n), Thinking: 30, Blocks: 1, Words: 40, Pace: -1}
		prompt := &proof.Said{Text: order.Prompt(), Order: order}
		s.Prompts = append(s.Prompts, prompt)
		var receipt struct {
			Turn string `json:"turn_id"`
		}
		if !l.ask(w, "session/prompt", map[string]any{"session_id": s.Id, "text": prompt.Text}, &receipt) {
			continue
		}
		prompt.Turn = receipt.Turn
		var end struct {
			Stop string `json:"stop_reason"`
		}
		err := l.p.Call("turn/wait", map[string]any{"session_id": s.Id, "turn_id": receipt.Turn}, &end)
		if err != nil || end.Stop == "interrupted" { // its session was closed: who watches it attaches anew
			l.p.Call("session/attach", map[string]any{"session_id": s.Id}, nil) // if it cannot, the next round does
		}
	}
}

// makes makes sessions, one after the other: large ones where the file has to grow for the harm to come.
func (l *hardship) makes() {
	agent := ""
	if grows(l.harm.call) {
		agent = large
	}
	for !l.enough() {
		l.make(agent)
	}
}

// make makes a session of an agent, and returns its id if that is acknowledged.
func (l *hardship) make(agent string) string {
	title := session.NewID()
	params := map[string]any{"model_id": "anthropic/claude-opus-5-5", "thinking_level": "medium", "title": title}
	if agent == "" {
		params["system_prompt"] = strings.Repeat("x", 2<<10)
	} else {
		params["agent"] = agent
	}
	var s struct {
		ID string `json:"session_id"`
	}
	if l.ask(&l.writers[1], "session/new", params, &s) {
		l.made[s.ID] = string(title)
	}
	return s.ID
}

func (l *hardship) enough() bool {
	select {
	case <-l.over:
		return true
	case <-l.p.Gone:
		return true
	default:
		return false
	}
}

// ask is a call that writes. One that is refused because of the store may be tried again.
func (l *hardship) ask(w *writer, method string, params, result any) bool {
	from := time.Now()
	err := l.p.Call(method, params, result)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.acks++
		w.asked, w.answered = from, time.Now()
		w.slowest = max(w.slowest, w.answered.Sub(from))
		return true
	}
	e, ok := errors.AsType[*proof.CallError](err)
	var data struct{ Kind string }
	if !ok || json.Unmarshal(e.Data, &data) != nil || data.Kind != "store_readonly" {
		l.t.Errorf("%s: %v (%+v)", method, err, e)
	}
	if w.refusal.IsZero() {
		w.refusal = time.Now()
	}
	proof.Moment(10 * time.Millisecond)
	return false
}

// reads wants reading to work, whatever the disk does.
func (l *hardship) reads() {
	messages, err := l.p.History(l.talk.Id)
	if err != nil {
		l.t.Errorf("history while the disk fails: %v", err)
	}
	acked := 0
	for _, m := range messages {
		if m.Role == "user" {
			acked++
		}
	}
	l.writers[0].mu.Lock()
	defer l.writers[0].mu.Unlock()
	if acked < l.writers[0].acks {
		l.t.Errorf("the history has %d prompts while the disk fails, %d were acknowledged", acked, l.writers[0].acks)
	}
	if err := l.p.Call("session/list", map[string]any{"limit": 10}, nil); err != nil {
		l.t.Errorf("list while the disk fails: %v", err)
	}
}

// look starts a daemon on the same directory and compares what it has with what was acknowledged.
func (l *hardship) look() {
	p := proof.Start(l.t, l.data, l.env)
	l.lookForMade(p)
	if l.talk != nil {
		l.remember()
		check := &proof.Lane{T: l.t, Sessions: []*proof.Received{l.talk}}
		check.Check(p, func(*proof.Received) bool { return true })
		l.count(func(s *faultTally) { s.acknowledged += l.writers[0].acks + len(l.talk.Sealed) })
	}
	p.End()
	if l.talk != nil {
		l.talk.CheckLog(l.t, l.data)
	}
	l.count(func(s *faultTally) { s.acknowledged += len(l.made) })
	report, err := bolt.CheckFile(l.t.Context(), filepath.Join(l.data, "thinkd.db"))
	if err != nil || len(report.Damaged) > 0 {
		l.t.Errorf("the store is not sound: %+v, %v", report, err)
	}
	if err := os.RemoveAll(l.data); err != nil { // the long form would fill a disk
		l.t.Error(err)
	}
}

// lookForMade wants all sessions that were acknowledged in the list.
func (l *hardship) lookForMade(p *proof.Process) {
	titles := map[string]string{}
	for params := map[string]any{"limit": 1000}; ; {
		var page struct {
			Sessions []struct {
				ID     string `json:"session_id"`
				Title  string
				Status string
			}
			Next string `json:"next_cursor"`
		}
		if err := p.Call("session/list", params, &page); err != nil {
			l.t.Errorf("session/list: %v", err)
			return
		}
		for _, s := range page.Sessions {
			if s.Status == "damaged" {
				l.t.Errorf("session %s is damaged", s.ID)
			}
			titles[s.ID] = s.Title
		}
		if page.Next == "" {
			break
		}
		params["cursor"] = page.Next
	}
	for id, title := range l.made {
		if got, there := titles[id]; got != title {
			l.t.Errorf("session %s was acknowledged as %q and is %q, listed %v", id, title, got, there)
		}
	}
}

// remember takes in the updates of the session that was prompted.
func (l *hardship) remember() {
	s := l.talk
	if l.p == nil { // the daemon did not start
		return
	}
	for _, u := range l.p.Seen() {
		if u.Session != s.Id || u.Method == "stale" {
			continue
		}
		if method, twice := s.Numbers[u.Seq]; twice {
			l.t.Errorf("number %d was published as %s and as %s", u.Seq, method, u.Method)
		}
		s.Numbers[u.Seq] = u.Method
		if u.Method != "notice" { // of which the log knows nothing
			s.Seq = max(s.Seq, u.Seq)
		}
		switch u.Method {
		case "turn_start":
			s.Unended[u.Turn] = true
		case "turn_end":
			s.Ends[u.Turn] = u.Stop
			delete(s.Unended, u.Turn)
		case "thinking_end", "text_end":
			s.Sealed[proof.Place{Message: u.Message, Block: u.Block}] = proof.Sealed{Turn: u.Turn, Text: u.Text, Thinking: u.Method == "thinking_end", Signed: u.Signed}
		}
	}
}
