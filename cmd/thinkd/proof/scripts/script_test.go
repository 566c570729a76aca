package scripts

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tidwall/gjson"
	bolt "go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/cmd/thinkd/daemon"
	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
)

// TestScripts plays testdata/script: one story each, told to the real program. $SIM is the address of a simulator that
// takes the key sk-of-the-test, $OLLAMA that of one that asks for none. Commands of our own:
//
//	capture NAME REGEXP   sets a variable to what the group matched in the last standard output
//	hold DIR              runs a daemon on a data directory until the end; $HOLDER is its process
//	quit DIR              ends the daemon that commands have started on a data directory
//	readonly DIR          makes a directory unwritable, for root as well; skips where that cannot be done
//	newer FILE            gives a store the format version of a later build
//	asked TEXT MEMBER V   compares a member of the one call in which $OLLAMA was asked something
//	until REGEXP CMD ...  runs a command until its standard output matches: a server counts as there if it answers in
//	                      200 ms, and on a busy machine that may take a few looks
//	damage FILE           overwrites a page of a file in its middle
func TestScripts(t *testing.T) {
	keyless := sim.New(sim.Config{})
	address, ollama := proof.Serve(t, sim.New(sim.Config{Key: "sk-of-the-test"})), proof.Serve(t, keyless)
	testscript.RunT(brief{t}, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			for _, name := range []string{"HOME", "AppData", "LocalAppData"} {
				env.Setenv(name, home)
			}
			env.Setenv("SIM", address)
			env.Setenv("OLLAMA", ollama)
			for _, variable := range proof.NobodyHere {
				name, value, _ := strings.Cut(variable, "=")
				env.Setenv(name, value)
			}
			env.Setenv("PATH", filepath.Dir(proof.Program(t))+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("GORACE", proof.RaceOptions)
			env.Defer(func() { quitAll(t, env.WorkDir) })
			return os.Mkdir(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"capture": func(ts *testscript.TestScript, neg bool, args []string) {
				arguments(ts, neg, args, 2)
				found := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
				if found == nil {
					ts.Fatalf("standard output has no %q", args[1])
				}
				ts.Setenv(args[0], found[1])
			},
			"hold": func(ts *testscript.TestScript, neg bool, args []string) {
				arguments(ts, neg, args, 1)
				h := proof.Open(t, ts.MkAbs(args[0]), nil)
				h.Ready()
				ts.Setenv("HOLDER", strconv.Itoa(h.Cmd.Process.Pid))
				ts.Defer(h.End)
			},
			"quit": func(ts *testscript.TestScript, neg bool, args []string) {
				arguments(ts, neg, args, 1)
				ts.Check(proof.Quit(ts.MkAbs(args[0])))
			},
			"readonly": func(ts *testscript.TestScript, neg bool, args []string) {
				arguments(ts, neg, args, 1)
				undo, err := makeReadOnly(ts.MkAbs(args[0]))
				if err != nil {
					t.Skipf("needs: root, or a directory that can be made read-only: %v", err)
				}
				ts.Defer(undo)
			},
			"newer": func(ts *testscript.TestScript, neg bool, args []string) {
				arguments(ts, neg, args, 1)
				ts.Check(makeNewer(ts.MkAbs(args[0])))
			},
			"asked": func(ts *testscript.TestScript, neg bool, args []string) {
				arguments(ts, neg, args, 3)
				var got []string
				for _, r := range keyless.Requests() {
					if strings.Contains(gjson.GetBytes(r.Body, "messages.0.content").String(), args[0]) {
						got = append(got, gjson.GetBytes(r.Body, args[1]).String())
					}
				}
				if !slices.Equal(got, args[2:]) {
					ts.Fatalf("the calls with %q have the %s %v", args[0], args[1], got)
				}
			},
			"until": func(ts *testscript.TestScript, neg bool, args []string) {
				want := regexp.MustCompile(args[0])
				for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
					ts.Check(ts.Exec(args[1], args[2:]...))
					switch {
					case want.MatchString(ts.ReadFile("stdout")):
						return
					case time.Since(begun) > proof.Patience:
						ts.Fatalf("standard output never had %q", args[0])
					}
				}
			},
			"begun": func(ts *testscript.TestScript, neg bool, args []string) { // waits until a turn runs
				arguments(ts, neg, args, 1)
				for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
					if link, err := daemon.Greet(t.Context(), ts.MkAbs(args[0])); err == nil {
						running := link.Status.Running
						ts.Check(link.Close())
						if running > 0 {
							return
						}
					}
					if time.Since(begun) > proof.Patience {
						ts.Fatalf("no turn runs in %s", args[0])
					}
				}
			},
			"damage": func(ts *testscript.TestScript, neg bool, args []string) {
				arguments(ts, neg, args, 1)
				ts.Check(damageFile(ts.MkAbs(args[0])))
			},
		},
	})
}

// brief is a test whose failures show an excerpt of what a script printed.
type brief struct{ *testing.T }

func (b brief) Run(name string, f func(testscript.T)) {
	b.T.Run(name, func(t *testing.T) { f(brief{t}) })
}

func (b brief) Log(args ...any) { b.T.Log(proof.Excerpt(fmt.Sprint(args...))) }
func (b brief) Verbose() bool   { return testing.Verbose() }

// quitAll ends the daemons on all data directories of a story.
func quitAll(t testing.TB, dir string) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "thinkd.lock" {
			err = proof.Quit(filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func arguments(ts *testscript.TestScript, neg bool, args []string, n int) {
	if neg || len(args) != n {
		ts.Fatalf("must be %d arguments and no !", n)
	}
}

// makeNewer writes the version that a later format will have.
func makeNewer(path string) error {
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Update(func(tx *bolt.Tx) error {
		meta := tx.Bucket([]byte("meta"))
		if meta == nil || meta.Get([]byte("format")) == nil {
			return fmt.Errorf("%s has no format", path)
		}
		return meta.Put([]byte("format"), []byte("1000"))
	})
}

// damageFile spares the head pages, which are two, so that one of them is of no help.
func damageFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	page := int64(os.Getpagesize())
	for at := 2 * page; at < info.Size(); at += page {
		if _, err := f.WriteAt([]byte("this was a page of the store once"), at+16); err != nil {
			return err
		}
	}
	return nil
}
