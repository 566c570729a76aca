package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/ports"
)

// farm is three store servers, each a process.
type farm struct {
	dir     string
	servers []*exec.Cmd
	conns   jet.Conns
	store   *jet.Store
}

// startFarm builds the program and starts the servers.
func startFarm(ctx context.Context) (f *farm, err error) {
	f = &farm{}
	if f.dir, err = os.MkdirTemp("", "thinkd-cluster"); err != nil {
		return nil, err
	}
	program := filepath.Join(f.dir, "thinkd-store")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/thinkd/thinkd/cmd/thinkd-store").CombinedOutput(); err != nil {
		return f, fmt.Errorf("go build: %w\n%s", err, out)
	}
	free, err := ports.Free(6)
	if err != nil {
		return f, err
	}
	listen, cluster := free[:3], free[3:]
	for i := range 3 {
		name := fmt.Sprint("s", i+1)
		cmd := exec.CommandContext(ctx, program, "--name", name, "--dir", filepath.Join(f.dir, name), "--listen", listen[i], "--cluster-listen", cluster[i], "--routes", strings.Join(cluster, ","))
		if err := start(cmd); err != nil {
			return f, err
		}
		f.servers = append(f.servers, cmd)
		conn, err := jet.Dial(listen[i])
		if err != nil {
			return f, err
		}
		f.conns = append(f.conns, conn)
	}
	for {
		f.store, err = jet.Open(ctx, f.conns, jet.Options{Shards: shards, MaxGrowth: 1 << 26})
		if !errors.Is(err, session.ErrReadOnly) { // the servers have a leader
			return f, err
		}
	}
}

// start returns when the server accepts connections.
func start(cmd *exec.Cmd) error {
	read, write := io.Pipe()
	cmd.Stderr = write
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(read)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "accepts connections") {
			go io.Copy(io.Discard, read) // ends with the process
			return nil
		}
	}
	return fmt.Errorf("the server did not start: %w", lines.Err())
}

func (f *farm) stop() error {
	var errs []error
	if f.store != nil {
		errs = append(errs, f.store.Close())
	}
	for _, conn := range f.conns {
		conn.Close()
	}
	for _, s := range f.servers {
		errs = append(errs, s.Process.Kill())
		s.Wait() // it was killed, and says so
	}
	return errors.Join(append(errs, os.RemoveAll(f.dir))...)
}

// used is what the servers have used so far, on average.
type used struct {
	writes, written, stored, cpu float64
}

func (f *farm) used() (u used, err error) {
	for i, s := range f.servers {
		one, err := usedBy(s.Process.Pid, filepath.Join(f.dir, fmt.Sprint("s", i+1)))
		if err != nil {
			return u, err
		}
		n := float64(len(f.servers))
		u.writes, u.written, u.stored, u.cpu = u.writes+one.writes/n, u.written+one.written/n, u.stored+one.stored/n, u.cpu+one.cpu/n
	}
	return u, nil
}

func (u used) minus(before used) used {
	return used{u.writes - before.writes, u.written - before.written, u.stored - before.stored, u.cpu - before.cpu}
}

// usedBy reads what Linux counts of a process (proc_pid_io(5), proc_pid_stat(5)), and the size of its streams. The Raft logs below them are not counted: the server
// compacts them.
func usedBy(pid int, dir string) (u used, err error) {
	field := func(file, name string) float64 {
		text, failed := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		_, rest, ok := strings.Cut("\n"+string(text), "\n"+name+":")
		if failed == nil && !ok {
			failed = fmt.Errorf("process %d: %s has no %s", pid, file, name)
		}
		if failed != nil {
			err = errors.Join(err, failed)
			return 0
		}
		value, failed := strconv.ParseFloat(strings.Fields(rest)[0], 64)
		err = errors.Join(err, failed)
		return value
	}
	u.writes, u.written = field("io", "syscw"), field("io", "write_bytes")
	text, failed := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if failed != nil {
		return u, errors.Join(err, failed)
	}
	stat := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	for _, ticks := range stat[11:13] { // utime and stime, in hundredths of a second
		n, failed := strconv.ParseFloat(ticks, 64)
		u.cpu, err = u.cpu+n/100, errors.Join(err, failed)
	}
	failed = filepath.WalkDir(filepath.Join(dir, "jetstream", "$G", "streams"), func(_ string, d fs.DirEntry, failed error) error {
		if errors.Is(failed, fs.ErrNotExist) || failed == nil && d.IsDir() {
			return nil // removed meanwhile
		}
		if failed != nil {
			return failed
		}
		info, failed := d.Info()
		if failed == nil {
			u.stored += float64(info.Size())
		}
		if errors.Is(failed, fs.ErrNotExist) {
			return nil
		}
		return failed
	})
	return u, errors.Join(err, failed)
}

// work makes sessions, and appends to each, eight at once. It returns how long that took.
func (f *farm) work(ctx context.Context, from, sessions, appends int) (took time.Duration, err error) {
	since := time.Now()
	of := f.store.For(session.Operator)
	errs := make([]error, 8)
	var working sync.WaitGroup
	for w := range errs {
		working.Go(func() { // ends with its work
			for i := from + w; i < from+sessions && errs[w] == nil; i += len(errs) {
				errs[w] = f.one(ctx, of, session.ID(fmt.Sprintf("01K%023d", i)), appends)
			}
		})
	}
	working.Wait()
	return time.Since(since), errors.Join(errs...)
}

func (f *farm) one(ctx context.Context, of session.Sessions, id session.ID, appends int) error {
	err := of.Create(ctx, session.Session{ID: id, Title: "a session"})
	if err != nil || appends == 0 {
		return err
	}
	log, err := of.Claim(ctx, id)
	for n := 0; n < appends && err == nil; n++ {
		_, err = log.Append(ctx, session.Entry{Time: int64(n), Body: session.Repair{API: strings.Repeat("x", 100)}})
	}
	if err != nil {
		return err
	}
	return log.Release(ctx)
}

// measure measures constants: sessions first, then appends, and changes of one value.
func (f *farm) measure(ctx context.Context, sessions int) (c constants, serial float64, err error) {
	start, err := f.used()
	if err != nil {
		return c, 0, err
	}
	if _, err := f.work(ctx, 0, sessions, 0); err != nil {
		return c, 0, err
	}
	made, err := f.used()
	if err != nil {
		return c, 0, err
	}
	const appends = 40
	busy := max(sessions/appends, 8)
	if _, err := f.work(ctx, sessions, busy, appends); err != nil {
		return c, 0, err
	}
	end, err := f.used()
	if err != nil {
		return c, 0, err
	}
	m, a := made.minus(start), end.minus(made)
	n := float64(sessions)
	c.Create, c.CreateWrites, c.CreateWritten, c.CreateCPU = m.stored/n, m.writes/n, m.written/n, m.cpu/n
	stored := float64(busy * (appends + 1)) // and a claim; what making them cost is taken off
	extra := float64(busy) / n
	c.Writes, c.Written = (a.writes-m.writes*extra)/stored, (a.written-m.written*extra)/stored
	c.Stored, c.CPU = (a.stored-m.stored*extra)/stored, (a.cpu-m.cpu*extra)/stored
	serial, err = f.serial(ctx)
	return c, serial, err
}

// serial is how often in a second one value can be changed.
func (f *farm) serial(ctx context.Context) (float64, error) {
	const changes = 50
	ledger, since := f.store.Ledger(), time.Now()
	for n := range changes {
		ref := session.Ref{ID: session.ID(fmt.Sprintf("01K%023d", 0))}
		if err := ledger.Hold(ctx, ref, fmt.Sprint(n), session.Reserved{Budgets: &session.BudgetChange{Attended: true}}); err != nil {
			return 0, err
		}
	}
	return changes / time.Since(since).Seconds() * 2, nil // each also writes the reservation itself
}
