package powercut

import (
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

var (
	cuts = flag.Int("cuts", 20, "how many power cuts TestCuts makes")
	seed = flag.Uint64("seed", 0, "its seed; 0: any")
)

// program is the thinkd that TestMain has built.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "powercut")
	if err == nil {
		program = filepath.Join(dir, "thinkd")
		build := exec.Command("go", "build", "-o", program, "./cmd/thinkd")
		build.Dir, build.Stderr = "../..", os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

const (
	lanes  = 4  // side by side
	kinds  = 8  // of disks that each cut leaves
	atOnce = 3  // sessions under load
	anew   = 10 // lives after which a lane begins with an empty disk

	mostPromises = 60 // of a life, or a few more
)

// TestCuts cuts the power at random moments under load. On every disk that may be left the store is sound, a daemon
// starts, and it has all that was acknowledged, each prompt once and in order.
func TestCuts(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed %d", *seed)
	needDisk(t)
	var sum tally
	t.Run("lanes", func(t *testing.T) {
		for n := range lanes {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				l := &lane{t: t, rng: rand.New(rand.NewPCG(*seed, uint64(n))), sum: &sum}
				for life := range max(*cuts/lanes, 1) {
					if life%anew == 0 {
						l.files, l.known = nil, newLedger()
					}
					if err := l.live(hears); err != nil {
						t.Fatalf("life %d, -seed %d: %v", life, *seed, err)
					}
				}
			})
		}
	})
	t.Log(&sum)
	if !t.Failed() && (sum.promises == 0 || sum.images == 0 || sum.unsynced == 0) {
		t.Error("no cut fell where anything could be lost")
	}
}

// TestCutsWithoutSyncs is the control: on a disk that only says that it syncs, the same cuts must lose what was
// acknowledged, or TestCuts would see nothing. So for images alone: without the sync of any of the three that make one
// durable, it is an image that is lost.
func TestCutsWithoutSyncs(t *testing.T) {
	needDisk(t)
	for _, deaf := range []deafness{toAll, toFolders, toInnerNames, toInnerFiles} {
		t.Run(deaf.String(), func(t *testing.T) {
			var sum tally
			for life := range 10 {
				l := &lane{t: t, rng: rand.New(rand.NewPCG(*seed, uint64(life))), sum: &sum, known: newLedger()}
				err := l.live(deaf)
				if err == nil {
					continue
				}
				if deaf != toAll && !errors.Is(err, errImage) {
					t.Fatalf("something else than an image was lost: %v", err)
				}
				t.Logf("as it has to be at cut %d: %v", life+1, err)
				return
			}
			t.Errorf("syncing is off, and nothing was lost: %v", &sum)
		})
	}
}

// TestKilledBeforeCut has an image whose file a daemon has named and not yet made durable when it is killed. The next one is
// given the same image and finds it: what it acknowledges has to outlive a cut all the same.
func TestKilledBeforeCut(t *testing.T) {
	needDisk(t)
	home, dir, disk := t.TempDir(), t.TempDir(), newDisk(nil)
	disk.hang = make(chan struct{})
	server, err := disk.mount(dir)
	if err != nil {
		t.Fatal(err)
	}
	l := &lane{t: t, rng: rand.New(rand.NewPCG(*seed, 0)), sum: new(tally), known: newLedger()}
	p := &prompt{text: "And? [[sim: thinking=5 text=5 pace=0]]", image: image(l.rng)}
	err = func() error {
		d, err := run(home, dir, func(update) {})
		if err != nil {
			return err
		}
		prompted := make(chan error, 1)
		go func() { // ends with the daemon
			_, err := l.ask(d, p)
			prompted <- err
		}()
		select {
		case <-disk.hang:
			d.kill()
			<-prompted // nothing came back
		case err := <-prompted:
			d.kill()
			return fmt.Errorf("the image was acknowledged before its name was synced: %w", err)
		}
		if d, err = run(home, dir, l.known.hear); err != nil {
			return err
		}
		p.turn, err = l.ask(d, p)
		disk.cut()
		d.kill()
		return err
	}()
	if err := errors.Join(err, unmount(server)); err != nil {
		t.Fatal(err)
	}
	for kind := range kinds {
		if err := l.look(home, disk.image(kind, l.rng), false); err != nil {
			t.Errorf("disk of kind %d: %v", kind, err)
		}
	}
}

// ask makes a session and prompts it, and returns the turn once that is acknowledged, when the ledger has it.
func (l *lane) ask(d *daemon, p *prompt) (turn string, err error) {
	var made struct {
		ID string `json:"session_id"`
	}
	if err := d.call("session/new", map[string]any{"model_id": "sim/claude"}, &made); err != nil {
		return "", err
	}
	var receipt struct {
		Turn string `json:"turn_id"`
	}
	content := []map[string]any{{"type": "text", "text": p.text}, {"type": "media", "mime_type": "image/png", "data": p.image}}
	if err := d.call("session/prompt", map[string]any{"session_id": made.ID, "content": content}, &receipt); err != nil {
		return "", err
	}
	c := l.known.add(made.ID)
	c.prompts = append(c.prompts, p)
	return receipt.Turn, nil
}

// needDisk skips where no file system in user space can be had.
func needDisk(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	server, err := newDisk(nil).mount(dir)
	if err != nil {
		t.Skipf("needs: FUSE, on which power cuts are staged: %v", err)
	}
	if err := unmount(server); err != nil {
		t.Fatal(err)
	}
}

// tally is what the cuts came to.
type tally struct {
	mu                                             sync.Mutex
	cuts, disks, promises, images, unsynced, syncs int
	slowest                                        time.Duration // start of a daemon on a disk
}

func (s *tally) String() string {
	return fmt.Sprintf("%d cuts, %d disks, %d acknowledgements compared with each, %d of them images; %d syncs; %d cuts with unsynced writes; a daemon was ready in at most %v",
		s.cuts, s.disks, s.promises, s.images, s.syncs, s.unsynced, s.slowest.Round(time.Millisecond))
}

// lane is a disk that sees one cut after the other, and what the clients of its daemons know.
type lane struct {
	t     *testing.T
	rng   *rand.Rand
	files map[string][]byte
	known *ledger
	sum   *tally
	plain bool // prompts have no images
}

// live is the life of a daemon up to a cut, and a look at what may be left. The lane goes on with one of these disks.
func (l *lane) live(deaf deafness) error {
	home := l.t.TempDir()
	dir := l.t.TempDir()
	disk := newDisk(l.files)
	disk.deaf = deaf
	server, err := disk.mount(dir)
	if err != nil {
		return err
	}
	err = l.load(home, dir, disk)
	if err := errors.Join(err, unmount(server)); err != nil {
		return err
	}
	l.sum.mu.Lock()
	l.sum.cuts++
	promises, images := l.known.promises()
	l.sum.promises += promises
	l.sum.images += images
	l.sum.syncs += disk.syncs
	if disk.unsynced() > 0 {
		l.sum.unsynced++
	}
	l.sum.mu.Unlock()
	for i, kind := range l.rng.Perm(kinds) { // the last one settles what is known
		if err := l.look(home, disk.image(kind, l.rng), i == kinds-1); err != nil {
			return fmt.Errorf("disk of kind %d: %w", kind, err)
		}
	}
	return nil
}

// load puts a daemon under load and cuts the power, a moment after it has acknowledged so and so much: as much on a busy
// machine as on a quiet one. After the cut every sync fails, so whatever is acknowledged until the daemon is gone must have
// been safe by then: all of it counts.
func (l *lane) load(home, dir string, disk *disk) error {
	d, err := run(home, dir, l.known.hear)
	if err != nil {
		return err
	}
	l.work(d, disk.cut)
	return nil
}

// work is load for a daemon that runs.
func (l *lane) work(d *daemon, cut func()) {
	before, _ := l.known.promises()
	goal, moment := before+l.rng.IntN(mostPromises), time.Duration(l.rng.IntN(20))*time.Millisecond
	var work sync.WaitGroup
	for n := range atOnce {
		rng := rand.New(rand.NewPCG(l.rng.Uint64(), 0))
		work.Go(func() { l.talk(d, n, rng) }) // ends with the daemon
	}
	for begun := time.Now(); time.Since(begun) < patience; {
		if now, _ := l.known.promises(); now >= goal {
			break
		}
		<-time.After(time.Millisecond)
	}
	<-time.After(moment)
	cut()
	d.kill()
	work.Wait()
}

// talk prompts in a session of its own until the daemon is gone.
func (l *lane) talk(d *daemon, n int, rng *rand.Rand) {
	l.known.mu.Lock()
	var c *conversation
	if len(l.known.sessions) > n && rng.IntN(4) > 0 {
		c = l.known.sessions[len(l.known.sessions)-1-n]
	}
	l.known.mu.Unlock()
	if c == nil {
		var made struct {
			ID string `json:"session_id"`
		}
		if d.call("session/new", map[string]any{"model_id": "sim/claude"}, &made) != nil {
			return
		}
		c = l.known.add(made.ID)
	} else if d.call("session/attach", map[string]any{"session_id": c.id}, nil) != nil {
		return
	}
	for number := 0; ; number++ {
		pace := []int{0, 0, 500}[rng.IntN(3)]
		p := &prompt{text: fmt.Sprintf("Prompt %d %x. [[sim: thinking=%d text=%d pace=%d]]", number, rng.Uint64(), 5+rng.IntN(40), 5+rng.IntN(40), pace)}
		content := []map[string]any{{"type": "text", "text": p.text}}
		if rng.IntN(3) == 0 && !l.plain {
			p.image = image(rng)
			content = append(content, map[string]any{"type": "media", "mime_type": "image/png", "data": p.image})
		}
		title := fmt.Sprintf("title %d %x", number, rng.Uint64())
		l.known.mu.Lock()
		c.prompts = append(c.prompts, p)
		l.known.mu.Unlock()
		var receipt struct {
			Turn string `json:"turn_id"`
		}
		if d.call("session/prompt", map[string]any{"session_id": c.id, "content": content}, &receipt) != nil {
			return // the cut; whatever else it is, what follows is missing
		}
		l.known.mu.Lock()
		p.turn, c.asked = receipt.Turn, title
		l.known.mu.Unlock()
		if d.call("session/update", map[string]any{"session_id": c.id, "title": title}, nil) != nil {
			return
		}
		l.known.mu.Lock()
		c.title = title
		l.known.mu.Unlock()
		if d.call("turn/wait", map[string]any{"session_id": c.id, "turn_id": receipt.Turn}, nil) != nil {
			return
		}
	}
}

// image is one that no other prompt has.
func image(rng *rand.Rand) string {
	data := []byte("\x89PNG\r\n\x1a\n")
	for range 100 + rng.IntN(5000) {
		data = append(data, byte(rng.Uint32()))
	}
	return base64.StdEncoding.EncodeToString(data)
}

// look starts a daemon on a disk that was left. If the lane goes on with this one, what it has is what is known from
// then on, and it must take a prompt.
func (l *lane) look(home string, files map[string][]byte, goOn bool) error {
	dir := l.t.TempDir()
	defer os.RemoveAll(dir)
	if err := put(dir, files); err != nil {
		return err
	}
	if err := sound(home, dir); err != nil {
		return err
	}
	d, err := run(home, dir, func(update) {})
	if err != nil {
		return err
	}
	defer d.kill()
	l.sum.mu.Lock()
	l.sum.disks++
	l.sum.slowest = max(l.sum.slowest, d.start)
	l.sum.mu.Unlock()
	if err := l.known.check(d); err != nil || !goOn {
		return err
	}
	l.files = files
	if err := l.known.adopt(d); err != nil {
		return err
	}
	return works(d)
}

// works has the daemon do a turn in a new session.
func works(d *daemon) error {
	var made struct {
		ID string `json:"session_id"`
	}
	if err := d.call("session/new", map[string]any{"model_id": "sim/claude"}, &made); err != nil {
		return err
	}
	var turn struct {
		ID   string `json:"turn_id"`
		Stop string `json:"stop_reason"`
	}
	if err := d.call("session/prompt", map[string]any{"session_id": made.ID, "text": "And? [[sim: thinking=5 text=5 pace=0]]"}, &turn); err != nil {
		return err
	}
	if err := d.call("turn/wait", map[string]any{"session_id": made.ID, "turn_id": turn.ID}, &turn); err != nil {
		return err
	}
	if turn.Stop != "end_turn" {
		return fmt.Errorf("a turn after the cut ends with %s", turn.Stop)
	}
	return nil
}
