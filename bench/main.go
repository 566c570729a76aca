// Bench measures thinkd against a floor: a program that does only what any program in its place has to do (bench/floor). Both read the
// same streams from the same upstream in the same run. They take turns, so a busy machine affects both equally. docs/performance.md
// describes the command and has the latest results.
//
//	go run ./bench          the table
//	go run ./bench plots    how costs grow, drawn
//
// It builds the programs and runs them as they are released: everything is on, the store is synced, and the daemon and its door are
// separate processes. It measures their resources from outside, through the system.
//
// Inside the package, files depend in one direction: main, long, growth, hold, store, flow, start, plot, curve, bench, peer, codex, goose,
// opencode, pi, subject, websocket, client, upstream, stream, process, figure.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// groups are the measurements, in the order of the table.
var groups = []struct {
	name string
	most int                // the largest number of repetitions
	who  func(subject) bool // selects the subjects
	f    func(*bench, subject) error
}{
	{"start", 100, everyone, (*bench).measureStart},
	{"latency", 100, everyone, (*bench).measureLatency},
	{"flow", 100, everyone, (*bench).measureFlow},
	{"many", 100, everyone, (*bench).measureMany},
	{"memory", 100, everyone, (*bench).measureMemory},
	{"stored", 3, alone, (*bench).measureStored},
	{"crowd", 3, alone, (*bench).measureCrowd},
	{"long", 5, alone, (*bench).measureLong},
	{"viewers", 3, alone, (*bench).measureViewers},
	{"crash", 100, keeping, (*bench).measureCrash},
}

func everyone(subject) bool  { return true }
func keeping(s subject) bool { return !s.floor }
func alone(s subject) bool   { return s.name == stdio.name }

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	again := flags.Int("n", 5, "the `NUMBER` of measurements of each value; the table has medians")
	only := flags.String("only", "", "a `REGEXP`: measure only matches of start, latency, flow, many, memory, stored, crowd, long, viewers, crash, apis; of plots: messages, sessions, subscribers, thinking")
	who := flags.String("subject", "", "a `REGEXP`: measure only these columns")
	which := flags.String("api", "", "a `REGEXP`: compare only these wire APIs")
	tiny := flags.Bool("small", false, "measure as little as possible, to check that everything works")
	pictures := flags.String("pictures", "docs", "plots: the `DIR` of the pictures")
	page := flags.String("page", "", "replace the results in this `FILE` too")
	profiles := flags.String("profile", "", "let thinkd write its profiles into `DIR`")
	traces := flags.String("trace", "", "let thinkd write its execution traces into `DIR`")
	program := flags.String("program", "", "measure this `FILE` instead of a build of the source: to compare versions in turn")
	others := flags.Bool("peers", false, "compare also with the peers in PATH: codex, opencode, pi, goose")
	command := ""
	if len(args) > 0 && (args[0] == "plots" || args[0] == "upstream") {
		command, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if command == "upstream" {
		return runUpstream()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := &bench{began: time.Now(), scale: whole, again: *again, compared: subjects}
	if *tiny {
		b.scale = small
	}
	var err error
	if b.only, err = regexp.Compile(*only); err != nil {
		return err
	}
	chosen, err := regexp.Compile(*who)
	if err != nil {
		return err
	}
	if b.apis, err = regexp.Compile(*which); err != nil {
		return err
	}
	if b.house, err = openHouse(ctx, *program, *profiles, *traces); err != nil {
		return err
	}
	defer b.house.Close()
	b.where = fmt.Sprintf("%s, %d cores, %s, %s", b.began.Format("2006-01-02 15:04"), runtime.NumCPU(), machine(), runtime.Version())
	if *others {
		found, lines := findPeers(ctx, b.dir)
		b.compared = append(slices.Clip(subjects), found...)
		b.where += "\n\n" + strings.Join(lines, "\n")
	}
	b.columns = columnsOf(b.compared)
	fmt.Fprintf(out, "%s\n\n", b.where)
	mark, measure := "table", func() (string, error) { return b.measure(func(s subject) bool { return chosen.MatchString(s.name) }) }
	if command == "plots" {
		mark, measure = "growth", func() (string, error) { return b.plots(*pictures) }
	}
	text, err := measure()
	if err != nil {
		return err
	}
	fmt.Fprint(out, text)
	if *page == "" {
		return nil
	}
	return b.write(*page, mark, text)
}

// write replaces the text between two marks of a page.
func (b *bench) write(page, mark, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := "<!-- "+mark+" -->\n", "<!-- end of "+mark+" -->"
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return fmt.Errorf("%s lacks the marks %q and %q", page, strings.TrimSpace(begin), end)
	}
	return os.WriteFile(page, []byte(before+begin+b.where+"\n\n"+text+end+after), 0o644)
}

// miss records why a peer has no figure in a group. The rest of the table is still of use.
func (b *bench) miss(group string, s subject, err error) {
	line := fmt.Sprintf("- Not measured: %s of %s: %.200s", group, s.name, strings.ReplaceAll(err.Error(), "\n", "; "))
	if !slices.Contains(b.missing, line) {
		b.missing = append(b.missing, line)
	}
}

// measure returns the tables.
func (b *bench) measure(chosen func(subject) bool) (string, error) {
	if err := b.warm(); err != nil {
		return "", err
	}
	for _, g := range groups {
		if !b.only.MatchString(g.name) {
			continue
		}
		times := min(b.again, g.most)
		for n := range times {
			for _, s := range b.compared {
				if !g.who(s) || !chosen(s) {
					continue
				}
				began := time.Now()
				switch err := g.f(b, s); {
				case err != nil && s.peer != nil && b.ctx.Err() == nil:
					b.miss(g.name, s, err)
				case err != nil:
					return "", fmt.Errorf("%s of %s: %w", g.name, s.name, err)
				}
				b.progress(fmt.Sprintf("%s %d/%d %s", g.name, n+1, times, s.name), began)
			}
		}
	}
	out := ""
	if len(b.rows) > 0 {
		out = b.markdown() + "\n"
		for _, line := range b.missing {
			out += line + "\n"
		}
	}
	if !b.only.MatchString("apis") {
		return out, nil
	}
	t := &table{}
	for _, a := range apis {
		t.columns = append(t.columns, column{a.name, true})
	}
	for n := range b.again {
		for _, a := range apis {
			if !b.apis.MatchString(a.name) {
				continue
			}
			began := time.Now()
			if err := b.measureAPI(t, a); err != nil {
				return "", fmt.Errorf("the wire API %s: %w", a.name, err)
			}
			b.progress(fmt.Sprintf("apis %d/%d %s", n+1, b.again, a.name), began)
		}
	}
	return out + "The wire APIs, thinkd stdio:\n\n" + t.markdown() + "\n", nil
}
