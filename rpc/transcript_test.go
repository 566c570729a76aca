package rpc

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/quota"
	"github.com/thinkd/thinkd/provider/responses"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/blob"
	"github.com/thinkd/thinkd/session/mem"
	"github.com/thinkd/thinkd/session/share"
)

var rewrite = flag.Bool("update", false, "write what is played into the transcripts")

// A transcript is a note, what the model does (see scripted; without it there is no key), what a client says, and what
// comes back: replies and updates, each in order. Ids are named S1, T1, M1, C1 as they come up, and times of day count from
// the start, in milliseconds. Beside messages the client's lines are
//
//	wait 1s          time passes
//	stop reading     the client takes nothing any more
//	read             it takes again
//	park 12h         the daemon comes again, with an operator who lets turns and questions wait, turns for so long
//	restart          the daemon ends and comes again over the same store and settings; the client connects anew
//	paid KIND NAME   the calls from now on are paid so
//	second MESSAGE   another client says it; its replies, then its updates stand in a section of their own
//
// A section tomorrow says from where a model is known that was released tomorrow, see releasedTomorrow.
//
// What each message causes at once is over before the next is sent.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	judge := newSchemas(t)
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var replies, updates, second string
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, sectionOf(archive, "model"), 0, strings.TrimSpace(sectionOf(archive, "tomorrow")))
				s.play(sectionOf(archive, "client"))
				s.close()
				s.checkSeq()
				s.checkShapes(judge)
				replies, updates = s.shown(s.heard)
				if s.other != nil {
					answers, told := s.shown(s.other.heard)
					second = answers + told
				}
			})
			if *rewrite {
				setSection(archive, "replies", replies)
				setSection(archive, "updates", updates)
				if second != "" {
					setSection(archive, "second", second)
				}
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for part, got := range map[string]string{"replies": replies, "updates": updates, "second": second} {
				if diff := cmp.Diff(strings.Split(sectionOf(archive, part), "\n"), strings.Split(got, "\n")); diff != "" {
					t.Errorf("%s differ; look at what changed, and write it with -update (-transcript +played)\n%s", part, diff)
				}
			}
		})
	}
}

func sectionOf(a *txtar.Archive, name string) string {
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return ""
	}
	return string(a.Files[i].Data)
}

func setSection(a *txtar.Archive, name, text string) {
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		a.Files = append(a.Files, txtar.File{Name: name})
		i = len(a.Files) - 1
	}
	a.Files[i].Data = []byte(text)
}

// stage is a daemon and one client of it.
type stage struct {
	*testing.T
	begun time.Time

	messageBytes int // 0: the default

	shares *share.Shares // nil: none are shared
	store  session.Local
	kept   durable.Memory // the settings
	config agent.Config
	group  *agent.Group

	conn   net.Conn
	served chan error
	read   chan struct{} // closed when the reader has ended
	gate   chan struct{} // has a token while the client reads

	paid atomic.Pointer[session.Payer] // nil: not known

	server *Server
	other  *guest // nil: there was no second client

	selects bool // the client gets some notifications only, so that their numbers have gaps

	mu    sync.Mutex
	heard []string // messages, in order; an empty one stands where the client connected anew
	sent  map[string]string
	ids   map[string]string // by name
	names map[string]string // by id
	hosts []toolhost.Host   // of all sessions
}

func newStage(t *testing.T, script string, messageBytes int, tomorrow string) *stage {
	s := &stage{T: t, messageBytes: messageBytes, begun: time.Now(), store: mem.New(),
		gate: make(chan struct{}, 1), sent: map[string]string{}, ids: map[string]string{}, names: map[string]string{}}
	catalog, err := registry.New([]registry.Provider{{ID: "anthropic", Vendor: "anthropic"}, releasedTomorrow(t, tomorrow), {ID: "sim", Vendor: "sim"}, {ID: "openai", Vendor: "openai"}})
	if err != nil {
		t.Fatal(err)
	}
	// It refuses before it looks for the host, which does not exist.
	keyless := messages.New(exchange.Config{Provider: "anthropic", Vendor: "anthropic", BaseURL: "https://keyless.invalid", KeyVar: "ANTHROPIC_API_KEY"}, messages.Host{})
	api := provider.Provider(keyless)
	if script != "" {
		api = newScripted(script, map[string]adapter{"messages": keyless,
			"responses": responses.New(exchange.Config{Provider: "openai", Vendor: "openai", BaseURL: "https://keyless.invalid"}, responses.Host{})})
	}
	blobs, err := blob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.config = agent.Config{Store: s.store, Left: s.store.OpenTurns, Blobs: blobs, Catalog: catalog, Log: slog.New(slog.DiscardHandler), Simulator: "sim",
		Provider: func(string) provider.Provider { return api }, Payer: func(string, string) *session.Payer { return s.paid.Load() }}
	s.config.Hosts = func(session.Owner, session.Session) []toolhost.Host { return s.hosts }
	s.gate <- struct{}{}
	s.connect()
	return s
}

// releasedTomorrow is the provider mirror as it knows claude-opus-6, which no catalog of today has: by hand, from the config,
// from a refresh that has no more than the id, or from a public table.
func releasedTomorrow(t *testing.T, from string) registry.Provider {
	p := registry.Provider{ID: "mirror", Vendor: "anthropic"}
	switch from {
	case "", "hand":
	case "config":
		p.Rows = []registry.Row{{ID: "claude-opus-6", Control: provider.ControlEffort, Levels: []provider.Level{provider.Low, provider.High}, Default: provider.High, Window: 500_000, MaxOutput: 64_000,
			Options: provider.Options{MaxOutput: 9000, Stop: []string{"END"}}}}
	case "refresh":
		p.Refreshed = []provider.Model{{ID: "claude-opus-6", Tools: true, Source: provider.FromRefreshed, AsOf: "2026-12-01", Lifecycle: &provider.Lifecycle{State: provider.LifecycleCurrent}}}
	case "table":
		rows, ok := registry.ModelsDev(gjson.Parse(`{"anthropic":{"models":{"claude-opus-6":{"id":"claude-opus-6","name":"Claude Opus 6","reasoning":true,
			"reasoning_options":[{"type":"effort","values":["low","medium","high"]}],"limit":{"context":2000000,"output":128000},"cost":{"input":3,"output":15}}}}}`), "2026-12-01")
		if !ok {
			t.Fatal("no table")
		}
		p.Noted = rows["anthropic"]
	default:
		t.Fatalf("tomorrow: %q", from)
	}
	return p
}

func (s *stage) connect() {
	settings, err := registry.OpenSettings([]registry.Agent{{Name: "reviewer", Model: "anthropic/claude-opus-4-6", System: "Review.",
		Reasoning: registry.Override{Mode: registry.Custom, Level: provider.XHigh, Policy: provider.Downgrade}}},
		map[string]registry.Defaults{"mirror": {Level: provider.Low}}, &s.kept)
	if err != nil {
		s.Fatal(err)
	}
	s.config.Defaults = settings.Defaults
	if s.group, err = agent.NewGroup(s.Context(), s.config); err != nil {
		s.Fatal(err)
	}
	s.server = NewServer(Config{Version: "1.2.3", Shares: s.shares, MessageBytes: s.messageBytes, Blobs: s.config.Blobs, DefaultsChanged: s.group.DefaultsChanged, Config: service.Config{
		Log: s.config.Log, Sessions: service.SharedAgentsOf(s.group, s.shares), Catalog: s.config.Catalog, Settings: settings,
		Providers: func() []service.ProviderStatus {
			list := []service.ProviderStatus{{ID: "anthropic", Why: "no key: run `thinkd auth set anthropic`, or set ANTHROPIC_API_KEY", Auth: "missing"}, {ID: "mirror", Available: true, Auth: "not_needed", Limits: quota.Read(http.Header{"X-Codex-Primary-Used-Percent": {"37.5"}, "X-Codex-Primary-Window-Minutes": {"300"},
				"X-Ratelimit-Limit-Tokens": {"30000"}, "X-Ratelimit-Remaining-Tokens": {"1500"}}, time.Now())}, {ID: "sim", Available: true, Auth: "not_needed"}}
			for i := range list {
				list[i].Defaults = settings.Defaults(list[i].ID)
			}
			return list
		},
		DefaultModel: func(session.Owner) session.ModelRef { return session.ModelRef{Provider: "sim", ID: "claude"} }}})
	ours, theirs := net.Pipe()
	s.conn, s.served, s.read = ours, make(chan error, 1), make(chan struct{})
	server, served := s.server, s.served                                 // a test may put others in their places
	testgo.Go(s, func() { served <- server.Serve(s.Context(), theirs) }) // disconnect waits
	testgo.Go(s, func() { s.listen(ours, s.read) })                      // ends with the connection; disconnect waits
}

// guest is a second client, who takes all at once.
type guest struct {
	conn   net.Conn
	served chan error
	read   chan struct{}
	heard  []string
}

// welcome connects the second client, unless it is there.
func (s *stage) welcome() *guest {
	if s.other != nil {
		return s.other
	}
	ours, theirs := net.Pipe()
	g := &guest{conn: ours, served: make(chan error, 1), read: make(chan struct{})}
	s.other = g
	testgo.Go(s, func() { g.served <- s.server.Serve(s.Context(), theirs) }) // leave waits
	testgo.Go(s, func() {                                                    // ends with the connection; leave waits
		defer close(g.read)
		in := bufio.NewScanner(ours)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			g.heard = append(g.heard, in.Text())
		}
	})
	return g
}

func (g *guest) leave() {
	g.conn.Close()
	<-g.served
	<-g.read
}

func (s *stage) listen(conn io.Reader, done chan struct{}) {
	defer close(done)
	in := bufio.NewReaderSize(gated{conn, s.gate}, 64<<10)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		s.mu.Lock()
		s.heard = append(s.heard, shorten(strings.TrimSuffix(line, "\n")))
		s.mu.Unlock()
	}
}

// shorten tells how long the text of a script's grow is, in place of all of it.
func shorten(line string) string {
	const long = 100
	begin := strings.Index(line, strings.Repeat("x", long))
	if begin < 0 {
		return line
	}
	rest := strings.TrimLeft(line[begin:], "x")
	return fmt.Sprintf("%sx…%d%s", line[:begin], len(line)-begin-len(rest), shorten(rest))
}

// gated reads only while its gate has a token.
type gated struct {
	io.Reader
	gate chan struct{}
}

func (g gated) Read(p []byte) (int, error) {
	g.gate <- <-g.gate
	return g.Reader.Read(p)
}

func (s *stage) disconnect() {
	s.conn.Close()
	<-s.served
	<-s.read
	s.heard = append(s.heard, "")
}

func (s *stage) close() {
	s.disconnect()
	if s.other != nil {
		s.other.leave()
	}
	s.group.Close()
	s.store.Close()
}

func (s *stage) play(lines string) {
	synctest.Wait()
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || word == "#":
		case word == "wait":
			d, err := time.ParseDuration(rest)
			if err != nil {
				s.Fatal(err)
			}
			time.Sleep(d)
		case line == "stop reading":
			<-s.gate
		case line == "read":
			s.gate <- struct{}{}
		case line == "restart":
			s.restart()
		case word == "park":
			d, err := time.ParseDuration(rest)
			if err != nil {
				s.Fatal(err)
			}
			s.config.Jitter = func(time.Duration) time.Duration { return 0 }
			s.config.Limits.Park, s.config.Limits.ConfirmPark = d, true
			s.restart()
		case strings.HasPrefix(line, "{") || strings.HasPrefix(line, "["):
			s.send(line)
		case word == "paid":
			kind, name, _ := strings.Cut(rest, " ")
			s.paid.Store(&session.Payer{Payer: provider.Payer{Kind: provider.PayerKind(kind), Name: name}})
		case word == "second":
			s.sendTo(s.welcome().conn, rest)
		default:
			s.Fatalf("no such line for a client: %s", line)
		}
		synctest.Wait()
	}
}

func (s *stage) restart() {
	s.group.Close()
	synctest.Wait()
	s.disconnect()
	s.connect()
}

// send says a message in which names stand for ids.
func (s *stage) send(line string) { s.sendTo(s.conn, line) }

func (s *stage) sendTo(to io.Writer, line string) {
	line = regexp.MustCompile(`"([STMCY]\d+)"`).ReplaceAllStringFunc(line, func(name string) string {
		s.name()
		id, ok := s.ids[strings.Trim(name, `"`)]
		if !ok {
			s.Fatalf("nobody has told the client the id %s", name)
		}
		return strconv.Quote(id)
	})
	if m := gjson.Parse(line); m.IsObject() && m.Get("id").Exists() {
		s.selects = s.selects || m.Get("params.notifications").Exists()
		s.sent[m.Get("id").Raw] = m.Get("method").String()
	}
	if _, err := io.WriteString(to, line+"\n"); err != nil {
		s.Fatalf("send: %v", err)
	}
}

// ids as they stand in messages.
var idMember = regexp.MustCompile(`"(session_id|turn_id|message_id|summary_id|id|next_cursor|confirm_id)":"([0-7][0-9A-HJKMNP-TV-Z]{25})"`)

// name gives names to the ids that came up.
func (s *stage) name() {
	s.mu.Lock()
	defer s.mu.Unlock()
	letters := map[string]string{"session_id": "S", "turn_id": "T", "message_id": "M", "id": "M", "next_cursor": "M", "confirm_id": "C", "summary_id": "Y"}
	counts := map[string]int{}
	for name := range s.ids {
		counts[name[:1]]++
	}
	for _, message := range s.heard {
		for _, m := range idMember.FindAllStringSubmatch(message, -1) {
			if _, known := s.names[m[2]]; !known {
				letter := letters[m[1]]
				counts[letter]++
				name := fmt.Sprint(letter, counts[letter])
				s.names[m[2]], s.ids[name] = name, m[2]
			}
		}
	}
}

var (
	anyID   = regexp.MustCompile(`"[0-7][0-9A-HJKMNP-TV-Z]{25}"`)
	anyTime = regexp.MustCompile(`"(ts|created|updated|since|until|warm_until)":(\d+)`)
)

// shown is what came back, without what differs from one play to the next.
func (s *stage) shown(heard []string) (replies, updates string) {
	s.name()
	stale := -1 // where the last run of them begins; each session ends by itself, so they come in any order
	var told []string
	for i, message := range heard {
		if message == "" || i+1 < len(heard) && mayMerge(message) != "" && mayMerge(message) == mayMerge(heard[i+1]) {
			continue
		}
		text := anyID.ReplaceAllStringFunc(message, func(id string) string { return strconv.Quote(s.names[strings.Trim(id, `"`)]) })
		text = anyTime.ReplaceAllStringFunc(text, func(member string) string {
			m := anyTime.FindStringSubmatch(member)
			ms, _ := strconv.ParseInt(m[2], 10, 64)
			return fmt.Sprintf(`"%s":%d`, m[1], ms-s.begun.UnixMilli())
		})
		if gjson.Get(message, "method").Exists() {
			told = append(told, text+"\n")
			switch {
			case gjson.Get(message, "method").Str != "stale":
				stale = -1
			case stale < 0:
				stale = len(told) - 1
			default:
				slices.Sort(told[stale:])
			}
		} else {
			replies += text + "\n"
		}
	}
	return replies, strings.Join(told, "")
}

// mayMerge is what a change of the list has in common with a later one that takes its place if the client is slow: it is slow in some
// plays, and not in others. It is empty for anything else.
func mayMerge(message string) string {
	m := gjson.Parse(message)
	if m.Get("method").Str != "list_update" || m.Get("params.changed.#").Int() != 1 {
		return ""
	}
	s := m.Get("params.changed.0")
	return s.Get("session_id").Str + s.Get("status").Str + s.Get("needs").Str
}

// checkSeq checks that the numbers of a session's updates have no gap, except where the client attached again.
func (s *stage) checkSeq() {
	last := map[string]int64{}
	for _, message := range s.heard {
		m := gjson.Parse(message)
		id := m.Get("params.session_id").String()
		switch {
		case message == "":
			clear(last)
		case m.Get("method").String() == "stale":
			delete(last, id)
		case m.Get("method").String() == "list_update": // it has no number
		case m.Get("result.seq").Exists():
			id, seq := m.Get("result.session.session_id").String(), m.Get("result.seq").Int()
			last[id] = seq
			updates := m.Get("result.updates").Array()
			for i, u := range updates {
				if i > 0 && firstSeq(u) != updates[i-1].Get("params.seq").Int()+1 || u.Get("params.session_id").String() != id {
					s.Errorf("update %d does not follow in %.200s", i, message)
				}
			}
			if n := len(updates); n > 0 && updates[n-1].Get("params.seq").Int() != seq {
				s.Errorf("the last update is not %d: %.200s", seq, message)
			}
		case m.Get("method").Exists():
			if before, ok := last[id]; ok && firstSeq(m) != before+1 && !(s.selects && firstSeq(m) > before) {
				s.Errorf("seq %d follows %d: %.200s", firstSeq(m), before, message)
			}
			last[id] = m.Get("params.seq").Int()
		}
	}
}

// firstSeq is the first number that an update stands for.
func firstSeq(u gjson.Result) int64 {
	if f := u.Get("params.first_seq"); f.Exists() {
		return f.Int()
	}
	return u.Get("params.seq").Int()
}

// checkShapes: all is as rpc.discover and protocol.md say.
func (s *stage) checkShapes(judge schemas) {
	heard := s.heard
	if s.other != nil {
		heard = slices.Concat(heard, s.other.heard)
	}
	for _, message := range heard {
		m := gjson.Parse(message)
		var schema any
		part := "params"
		switch {
		case m.IsArray() || !m.IsObject():
			continue
		case m.Get("method").Exists():
			schema = judge.updates[m.Get("method").String()]
		case m.Get("error").Exists():
			schema, part = judge.components["Error"], "error"
			if method := s.sent[m.Get("id").Raw]; !returns(method, conn.Code(m.Get("error.code").Int())) {
				s.Errorf("the table of methods does not say that %s returns this error: %.200s", method, message)
			}
		default:
			schema, part = judge.results[s.sent[m.Get("id").Raw]], "result"
		}
		if schema == nil {
			s.Errorf("nothing is known of %.200s", message)
			continue
		}
		if !json.Valid([]byte(message)) {
			s.Errorf("no JSON: %.200s", message)
		}
		if why := judge.judge(schema, m.Get(part).Raw); why != "" {
			s.Errorf("%s: %.300s", why, message)
		}
		for _, u := range m.Get("result.updates").Array() {
			if why := judge.judge(judge.updates[u.Get("method").String()], u.Get("params").Raw); why != "" {
				s.Errorf("%s: %.300s", why, u.Raw)
			}
		}
	}
}
