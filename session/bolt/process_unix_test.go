//go:build unix

package bolt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

// The test binary runs itself for what needs a process of its own.
const (
	childEnv = "THINKD_SESSION_TEST_CHILD" // what to be
	dirEnv   = "THINKD_SESSION_TEST_DIR"
)

// childMain is the other process, false if this is the test itself.
func childMain() bool {
	run := map[string]func(dir string) error{"upgrade": childUpgrade, "write": childWrite, "compact": childCompact, "hold": childHold, "limit": childLimit}[os.Getenv(childEnv)]
	if run == nil {
		return false
	}
	if err := run(os.Getenv(dirEnv)); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	return true
}

// startChild starts the other process. Its words come line by line; the end of the test kills it.
func startChild(t *testing.T, what, dir string) (cmd *exec.Cmd, lines *bufio.Scanner, stdin io.WriteCloser) {
	t.Helper()
	cmd = exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+what, dirEnv+"="+dir)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		stdin, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, bufio.NewScanner(stdout), stdin
}

func childHold(dir string) error {
	b, err := openStore(dir, Options{})
	if err != nil {
		return err
	}
	fmt.Println("open")
	io.Copy(io.Discard, os.Stdin)
	return b.Close()
}

func TestOtherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, lines, _ := startChild(t, "hold", dir)
	if !lines.Scan() || lines.Text() != "open" {
		t.Fatalf("the other process says %q", lines.Text())
	}
	_, err := openStore(dir, Options{})
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || locked.PID != cmd.Process.Pid {
		t.Errorf("open while process %d: %v", cmd.Process.Pid, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	openTest(t, dir)
}

func childUpgrade(dir string) error {
	fmt.Println("begins")
	b, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	fmt.Println("upgraded")
	return b.Close()
}

// TestKillDuringUpgrade kills a process that upgrades a store, in place or by rewriting it. The next process finds everything.
func TestKillDuringUpgrade(t *testing.T) {
	t.Parallel()
	for format := 1; format < formatVersion; format++ {
		t.Run(fmt.Sprint(format), func(t *testing.T) {
			t.Parallel()
			var said []string
			for kill := range 8 {
				dir := t.TempDir()
				old := unpack(t, fmt.Sprintf("testdata/formats/%d.db.gz", format))
				if err := os.WriteFile(filepath.Join(dir, fileName), old, 0o600); err != nil {
					t.Fatal(err)
				}
				cmd, lines, _ := startChild(t, "upgrade", dir)
				if !lines.Scan() || lines.Text() != "begins" {
					t.Fatalf("the other process says %q", lines.Text())
				}
				for begun := time.Now(); time.Since(begun) < time.Duration(kill)*time.Millisecond; { // a part of the upgrade; none is waited for
				}
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				cmd.Wait()
				b := openTest(t, dir)
				now := conversations(t, b)
				if kill == 0 {
					said = now
				}
				storetest.Equal(t, "what was said", now, said)
			}
		})
	}
}

const killWriters = 4

// childCompact is childWrite, and meanwhile makes and deletes sessions and rewrites the file, again and again.
func childCompact(dir string) error {
	b, err := openStore(dir, Options{})
	if err != nil {
		return err
	}
	ctx := context.Background()
	go func() { // until the process ends
		for {
			id := session.NewID()
			err := b.Create(ctx, session.Session{ID: id})
			if err == nil {
				_, err = b.writes().Append(ctx, id, storetest.Said(storetest.TurnA, strings.Repeat(deletedText, 200)))
			}
			if err == nil {
				err = b.Delete(ctx, id)
			}
			if err == nil {
				_, _, err = b.Compact(ctx)
			}
			if err != nil {
				fmt.Println("error", err)
			}
		}
	}()
	return writeTo(b)
}

// deletedText is in sessions that are deleted.
const deletedText = "this was deleted "

// childWrite appends until it is killed, and prints what was acknowledged. Each append is two entries with the same
// number, so that a torn one shows.
func childWrite(dir string) error {
	b, err := openStore(dir, Options{})
	if err != nil {
		return err
	}
	return writeTo(b)
}

func writeTo(b operators) error {
	ctx := context.Background()
	var out sync.Mutex
	var wg sync.WaitGroup
	for w := range killWriters {
		wg.Go(func() {
			id := storetest.ID(w)
			if err := b.Create(ctx, session.Session{ID: id}); err != nil && !errors.Is(err, session.ErrExists) {
				fmt.Println("error", err)
				return
			}
			for n := 0; ; n++ {
				text := strings.Repeat(fmt.Sprint(n, " "), n%500)
				e := session.Entry{Seq: uint64(n), Body: session.Prompt{Content: provider.Blocks{provider.Text{Text: text}}}}
				b.writes().Checkpoint(id, session.BlockRef{Turn: storetest.TurnA, Message: storetest.MsgA, Number: n, Kind: provider.KindText}, 0, text)
				last, err := b.writes().Append(ctx, id, e, e)
				out.Lock()
				if err != nil {
					fmt.Println("error", err)
				} else {
					fmt.Println("ack", w, last)
				}
				out.Unlock()
			}
		})
	}
	wg.Wait()
	return nil
}

func TestKill(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"write", "compact"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			killWriter(t, what, dir)
			b, err := openStore(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			page, _, err := b.List(t.Context(), session.Query{})
			for _, s := range page {
				if !strings.HasPrefix(string(s.ID), "01K000") { // a kill came before its deletion
					err = errors.Join(err, b.Delete(t.Context(), s.ID))
				}
			}
			_, _, failed := b.Compact(t.Context())
			if err = errors.Join(err, failed, b.Close()); err != nil {
				t.Error(err)
			}
			if occurs(t, dir, deletedText) {
				t.Error("a deleted session is still in a file")
			}
		})
	}
}

// killWriter kills a process that writes again and again, and checks that all that was acknowledged is there.
func killWriter(t *testing.T, what, dir string) {
	const kills = 20
	rng := rand.New(rand.NewPCG(kills, uint64(len(what)))) // always the same numbers; what the child does until the kill differs
	var acked [killWriters]uint64
	total := 0
	for kill := range kills {
		cmd, lines, _ := startChild(t, what, dir)
		acks := killWriters + rng.IntN(60) // until the kill
		for seen := 0; lines.Scan(); {
			var w int
			var last uint64
			if _, err := fmt.Sscanf(lines.Text(), "ack %d %d", &w, &last); err != nil {
				t.Fatalf("the other process says %q", lines.Text())
			}
			acked[w] = last
			total++
			if seen++; seen == acks {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()

		b, err := openStore(dir, Options{})
		if err != nil {
			t.Fatalf("after kill %d: %v", kill, err)
		}
		for w := range killWriters {
			_, err := b.Get(t.Context(), storetest.ID(w))
			if errors.Is(err, session.ErrNotFound) && acked[w] == 0 {
				continue // the kill came before it was made
			}
			entries := storetest.Entries(t, b, storetest.ID(w))
			if n := uint64(len(entries)); n < acked[w] || n > acked[w]+2 || n%2 != 0 {
				t.Errorf("kill %d, session %d: %d entries, %d were acknowledged", kill, w, n, acked[w])
			}
			acked[w] = uint64(len(entries)) // the next life goes on from here
			for i := 0; i+1 < len(entries); i += 2 {
				one, two := entries[i], entries[i+1]
				if one.Seq != two.Seq || i > 0 && one.Seq != 0 && one.Seq != entries[i-1].Seq+1 {
					t.Fatalf("kill %d, session %d: entry %d is torn, doubled or out of order", kill, w, i)
				}
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	report, err := CheckFile(t.Context(), filepath.Join(dir, fileName))
	if err != nil {
		t.Errorf("check: %v", err)
	}
	for _, d := range report.Damaged {
		if !strings.Contains(d.Err.Error(), "has a prompt already") { // the child's logs are no conversations
			t.Errorf("session %s: %v", d.Session, d.Err)
		}
	}
	if total < kills*killWriters {
		t.Errorf("only %d appends in all: the test shows nothing", total)
	}
}

// childLimit runs into a limit on file size, which it then lifts.
func childLimit(dir string) error {
	states, looked := make(chan error, 10), make(chan struct{})
	b, err := openStore(dir, Options{OnState: func(readOnly bool, why error) { states <- why }, testLooked: looked})
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := b.Create(ctx, session.Session{ID: storetest.ID(1)}); err != nil {
		return err
	}
	info, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil {
		return err
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(info.Size()), Max: old.Max}); err != nil {
		return err
	}
	return fillUp(b, states, looked, 1, func() error { return unix.Setrlimit(unix.RLIMIT_FSIZE, &old) })
}

// fillUp appends until there is no room, checks that the store is read-only and sound, makes room, and checks that it
// writes again.
func fillUp(b operators, states <-chan error, looked <-chan struct{}, number int, makeRoom func() error) error {
	ctx, id := context.Background(), storetest.ID(number)
	e := session.Entry{Body: session.Repair{API: strings.Repeat("x", 50_000)}}
	acked := uint64(0)
	for {
		last, err := b.writes().Append(ctx, id, e)
		if err == nil {
			acked = last
			if acked > 10_000 {
				return fmt.Errorf("it is never full")
			}
			continue
		}
		if !errors.Is(err, session.ErrReadOnly) || !diskFull(err) {
			return fmt.Errorf("full after %d: %w", acked, err)
		}
		break
	}
	if why := <-states; !errors.Is(why, session.ErrReadOnly) {
		return fmt.Errorf("state: %w", why)
	}
	if _, err := b.writes().Append(ctx, id, session.Entry{Body: session.Setting{}}); !errors.Is(err, session.ErrReadOnly) {
		return fmt.Errorf("append while full: %w", err)
	}
	b.writes().Checkpoint(id, session.BlockRef{Turn: storetest.TurnA, Message: storetest.MsgA, Number: 0, Kind: provider.KindText}, 0, "grew while full")
	entries, err := b.Entries(ctx, id, 0, 20_000)
	if err != nil || uint64(len(entries)) != acked {
		return fmt.Errorf("%d entries while full, %d acknowledged: %w", len(entries), acked, err)
	}
	<-looked // the store has tried whether there is room
	select {
	case why := <-states:
		return fmt.Errorf("it writes again though nothing has changed: %w", why)
	default:
	}
	if err := makeRoom(); err != nil {
		return err
	}
	select {
	case why := <-states:
		if why != nil {
			return fmt.Errorf("state: %w", why)
		}
	case <-time.After(time.Minute): // a bound for failures
		return fmt.Errorf("it does not write again")
	}
	last, err := b.writes().Append(ctx, id, e)
	if err != nil || last != acked+1 {
		return fmt.Errorf("append afterwards at %d, want %d: %w", last, acked+1, err)
	}
	if err := b.Close(); err != nil {
		return err
	}
	report, err := CheckFile(ctx, b.path)
	if err != nil || len(report.Damaged) > 0 || report.Entries != int(last) {
		return fmt.Errorf("check: %+v, %w", report, err)
	}
	fmt.Println("done")
	return nil
}

func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	_, lines, _ := startChild(t, "limit", t.TempDir())
	for lines.Scan() {
		if lines.Text() == "done" {
			return
		}
		t.Error(lines.Text())
	}
	t.Error("the other process ended early")
}

// TestModes has files and directory closed to others whatever the umask, and whatever they were before.
func TestModes(t *testing.T) { // not parallel: the umask is the process's
	for _, umask := range []int{0, 0o022, 0o777} {
		dir := filepath.Join(t.TempDir(), "data")
		old := unix.Umask(umask)
		b, err := openStore(dir, Options{})
		unix.Umask(old)
		if err != nil {
			t.Fatalf("umask %o: %v", umask, err)
		}
		checkModes(t, fmt.Sprintf("umask %o", umask), dir)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{fileName, lockName} {
			if err := os.Chmod(filepath.Join(dir, name), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		openTest(t, dir)
		checkModes(t, "opened before", dir)
	}
}

func checkModes(t *testing.T, what, dir string) {
	t.Helper()
	for name, want := range map[string]os.FileMode{"": 0o700, fileName: 0o600, lockName: 0o600, markName: 0o600} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %q has mode %v, want %v; %v", what, name, info.Mode().Perm(), want, err)
		}
	}
}

// TestLinks puts a link, a directory or a pipe where a file of the store belongs.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{fileName, fileName + ".new", lockName, markName, markName + ".new"} {
		for kind, put := range map[string]func(path, target string) error{
			"link":      func(path, target string) error { return os.Symlink(target, path) },
			"directory": func(path, target string) error { return os.MkdirAll(filepath.Join(path, "in"), 0o700) },
			"pipe":      func(path, target string) error { return unix.Mkfifo(path, 0o600) },
		} {
			dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
			if err := errors.Join(os.WriteFile(outside, nil, 0o644), put(filepath.Join(dir, name), outside)); err != nil {
				t.Fatal(err)
			}
			b, err := openStore(dir, Options{})
			if err == nil {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			}
			if leftover := name == fileName+".new" && kind != "directory"; (err == nil) != leftover { // removed, not opened
				t.Errorf("%s is a %s: %v", name, kind, err)
			}
			if info, err := os.Stat(outside); err != nil || info.Size() != 0 || info.Mode().Perm() != 0o644 {
				t.Errorf("%s is a %s: the file outside was touched: %v, %v", name, kind, info, err)
			}
		}
	}
}

// Root may write into a data directory of another user, and is refused: that user could put anything there.
func TestForeignDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs: root, to give a directory away")
	}
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if b, err := openStore(dir, Options{}); err == nil {
		b.Close()
		t.Error("a directory of another user was taken")
	} else if !strings.Contains(err.Error(), "belongs to user 12345") {
		t.Error(err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("something was made there: %v, %v", list, err)
	}
}
