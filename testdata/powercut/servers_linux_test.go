//go:build long

package powercut

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var serverCuts = flag.Int("servercuts", 3, "how many power cuts TestServerCuts makes")

// serverKinds is how many sets of disks each cut of the servers leaves: with none, all or any part of what was not synced.
const serverKinds = 3

// stores are three store servers of a cluster, each a process.
type stores struct {
	program string
	listen  []string
	cluster []string
	cmds    []*exec.Cmd
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// runStores starts servers on three directories, and returns when they accept connections.
func runStores(program, home string, dirs []string) (s *stores, err error) {
	s = &stores{program: program}
	for range 2 * len(dirs) {
		address, err := freeAddress()
		if err != nil {
			return nil, err
		}
		if s.listen = append(s.listen, address); len(s.listen) > len(dirs) {
			s.listen, s.cluster = s.listen[:len(dirs)], append(s.cluster, address)
		}
	}
	for i, dir := range dirs {
		if err := s.run(home, fmt.Sprint("s", i+1), dir, i); err != nil {
			s.kill()
			return nil, err
		}
	}
	return s, nil
}

func (s *stores) run(home, name, dir string, i int) error {
	cmd, _ := command(home, "--name", name, "--dir", dir, "--listen", s.listen[i], "--cluster-listen", s.cluster[i], "--routes", strings.Join(s.cluster, ","), "--max-disk", "1GiB")
	cmd.Path, cmd.Args[0] = s.program, s.program
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stderr = write
	if err := errors.Join(cmd.Start(), write.Close()); err != nil {
		return err
	}
	s.cmds = append(s.cmds, cmd)
	lines := bufio.NewReader(read)
	for log := ""; ; {
		line, err := lines.ReadString('\n')
		if log += line; err != nil {
			return fmt.Errorf("server %s: %w\n%s", name, err, log)
		}
		if strings.Contains(line, "accepts connections") {
			break
		}
	}
	go func() { // ends with the server
		_, _ = io.Copy(io.Discard, lines) // an error is its end
		read.Close()
	}()
	return nil
}

// kill ends all servers at one moment.
func (s *stores) kill() {
	for _, cmd := range s.cmds {
		cmd.Process.Kill()
	}
	for _, cmd := range s.cmds {
		cmd.Wait() // its status is the kill's
	}
}

// node runs a new node of the cluster.
func (s *stores) node(t *testing.T, told func(update)) (*daemon, error) {
	home, dir := t.TempDir(), t.TempDir()
	config := filepath.Join(home, "config.toml")
	text := fmt.Sprintf("[cluster]\nservers = [\"nats://%s\"]\nname = \"a\"\n", strings.Join(s.listen, `", "nats://`))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	for begun := time.Now(); ; {
		d, err := run(home, dir, told, "--config", config, "--idle", "0")
		if err == nil || time.Since(begun) > patience { // the servers may elect a leader for longer than a node waits
			return d, err
		}
	}
}

// serverLane is a lane for three disks.
type serverLane struct {
	lane
	program string
	disks   [3]map[string][]byte
}

// live is the life of three servers and a node up to a cut of the power of all servers, and a look at what may be left.
func (l *serverLane) live(deaf deafness) error {
	var dirs []string
	var disks []*disk
	var unmounts []func() error
	for _, files := range l.disks {
		dir, d := l.t.TempDir(), newDisk(files)
		d.deaf, d.journal = deaf, true // NATS does not sync the folder in which it makes or renames another folder
		server, err := d.mount(dir)
		if err != nil {
			return err
		}
		dirs, disks = append(dirs, dir), append(disks, d)
		unmounts = append(unmounts, func() error { return unmount(server) })
	}
	err := func() error {
		s, err := runStores(l.program, l.t.TempDir(), dirs)
		if err != nil {
			return err
		}
		defer s.kill()
		d, err := s.node(l.t, l.known.hear)
		if err != nil {
			return err
		}
		l.work(d, func() {
			s.kill() // a server that is gone writes nothing more: nothing is acknowledged after the cut
			for _, d := range disks {
				d.cut()
			}
		})
		return nil
	}()
	for _, unmount := range unmounts {
		err = errors.Join(err, unmount())
	}
	if err != nil {
		return err
	}
	l.count(disks)
	for kind := range serverKinds { // the last one settles what is known
		var images [3]map[string][]byte
		for n, d := range disks {
			images[n] = d.image(kind, l.rng)
		}
		if err := l.look(images, kind == serverKinds-1); err != nil {
			return fmt.Errorf("disks of kind %d: %w", kind, err)
		}
	}
	return nil
}

func (l *serverLane) count(disks []*disk) {
	l.sum.cuts++
	promises, _ := l.known.promises()
	l.sum.promises += promises
	for _, d := range disks {
		l.sum.syncs += d.syncs
		if d.unsynced() > 0 {
			l.sum.unsynced++
		}
	}
}

// look starts servers and a new node on disks that were left.
func (l *serverLane) look(images [3]map[string][]byte, goOn bool) error {
	var dirs []string
	for _, files := range images {
		dir := l.t.TempDir()
		defer os.RemoveAll(dir)
		dirs = append(dirs, dir)
		if err := put(dir, files); err != nil {
			return err
		}
	}
	s, err := runStores(l.program, l.t.TempDir(), dirs)
	if err != nil {
		return err
	}
	defer s.kill()
	d, err := s.node(l.t, func(update) {})
	if err != nil {
		return err
	}
	defer d.kill()
	l.sum.disks++
	l.sum.slowest = max(l.sum.slowest, d.start)
	if err := l.known.check(d); err != nil || !goOn {
		return err
	}
	l.disks = images
	if err := l.known.adopt(d); err != nil {
		return err
	}
	return works(d)
}

func newServerLane(t *testing.T, n uint64) *serverLane {
	t.Helper()
	l := &serverLane{lane: lane{t: t, rng: rand.New(rand.NewPCG(*seed, n)), sum: new(tally), known: newLedger(), plain: true}, program: filepath.Join(t.TempDir(), "thinkd-store")}
	build := exec.Command("go", "build", "-o", l.program, "./cmd/thinkd-store")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return l
}

// TestServerCuts cuts the power of all three store servers of a cluster at once, under load. With the disks that may be left, the servers start, and a
// new node has all that was acknowledged, each prompt once and in order.
func TestServerCuts(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed %d", *seed)
	needDisk(t)
	l := newServerLane(t, 100)
	for life := range *serverCuts {
		if err := l.live(hears); err != nil {
			t.Fatalf("life %d, -seed %d: %v", life, *seed, err)
		}
		t.Log(l.sum)
	}
	if l.sum.promises == 0 || l.sum.unsynced == 0 {
		t.Error("no cut fell where anything could be lost")
	}
}

// TestServerCutsWithoutSyncs is the control: on disks that only say that they sync, the same cut must lose what was acknowledged.
func TestServerCutsWithoutSyncs(t *testing.T) {
	needDisk(t)
	l := newServerLane(t, 101)
	err := l.live(toAll)
	if err == nil {
		t.Fatalf("syncing is off, and nothing was lost: %v", l.sum)
	}
	t.Logf("as it has to be: %v", err)
}
