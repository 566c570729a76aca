package bolt

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt/page"
	"github.com/thinkd/thinkd/session/storetest"
)

var damagesWanted = flag.Int("damages", 30, "how many damaged copies TestDamage opens")

// TestDamage opens damaged copies of a store. None may panic, hang, or hand out something that was never stored;
// where the start refuses, no byte has changed.
func TestDamage(t *testing.T) {
	t.Parallel()
	file, mark, want := damageSample(t)
	heads, err := page.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	used := int(heads.Head.Count) * heads.PageSize()
	const shards = 4
	each := max(*damagesWanted/shards, 1)
	outcomes := make([][3]int, shards)
	t.Run("shards", func(t *testing.T) {
		for shard := range shards {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				for i := range each {
					seed := uint64(shard*each + i)
					what, data := mutate(rand.New(rand.NewPCG(seed, 1)), int(seed), bytes.Clone(file), used, heads.PageSize())
					outcomes[shard][openDamaged(t, fmt.Sprintf("seed %d, %s", seed, what), data, mark, want, i%2 == 0)]++
				}
			})
		}
	})
	var sum [3]int
	for _, o := range outcomes {
		for i := range sum {
			sum[i] += o[i]
		}
	}
	t.Logf("refused %d, some sessions damaged %d, no harm %d", sum[0], sum[1], sum[2])
	for i, n := range sum {
		if n == 0 {
			t.Errorf("outcome %d never came: the mutations do not reach it", i)
		}
	}
}

// damageSample is a store with logs of one page, of many, and inside of a page, and with free pages.
func damageSample(t *testing.T) (file, mark []byte, want map[session.ID][]session.Entry) {
	t.Helper()
	dir := t.TempDir()
	b := openTest(t, dir)
	want = make(map[session.ID][]session.Entry)
	for i := range 8 {
		id := storetest.ID(i)
		record := session.Session{ID: id, Updated: int64(i), System: strings.Repeat("s", 300)}
		if _, err := b.CreateOnce(t.Context(), record, sampleCreation(id)); err != nil {
			t.Fatal(err)
		}
		entries := []session.Entry{storetest.Said(storetest.TurnA, "x"), storetest.Started(storetest.TurnA)}
		for n := range []int{0, 3, 16, 40}[i%4] {
			entries = append(entries, storetest.Sealed(storetest.TurnA, storetest.MsgA, n, strings.Repeat(fmt.Sprint("text ", n), 1+n%25)))
		}
		for len(entries) > 0 {
			n := min(len(entries), 50)
			storetest.Add(t, b, id, entries[:n]...)
			want[id] = append(want[id], entries[:n]...)
			entries = entries[n:]
		}
	}
	gone := storetest.ID(99)
	storetest.Create(t, b, session.Session{ID: gone})
	storetest.Add(t, b, gone, storetest.Sealed(storetest.TurnA, storetest.MsgA, 0, strings.Repeat("gone", 20_000)))
	if err := b.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	b.writes().Checkpoint(storetest.ID(1), session.BlockRef{Turn: storetest.TurnA, Message: storetest.MsgB, Number: 0, Kind: provider.KindThinking}, 0, strings.Repeat("thought ", 100))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(b.path)
	if err == nil {
		mark, err = os.ReadFile(filepath.Join(dir, markName))
	}
	if err != nil {
		t.Fatal(err)
	}
	return file, mark, want
}

// A changed byte in the part of a record that never changes is found, also where the JSON stays JSON.
func TestDamageToTheFixedPart(t *testing.T) {
	b, err := openStore(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	id := storetest.ID(1)
	storetest.Create(t, b, session.Session{ID: id, System: "Say yes."})
	storetest.Create(t, b, session.Session{ID: storetest.ID(2), System: "Say no."})
	err = b.db.Update(func(tx *bbolt.Tx) error {
		fixed := tx.Bucket(fixedBucket)
		changed := bytes.Replace(fixed.Get([]byte(id)), []byte("Say yes."), []byte("Say YES."), 1)
		if bytes.Equal(changed, fixed.Get([]byte(id))) {
			t.Error("the system prompt is not in the fixed part")
		}
		return fixed.Put([]byte(id), changed)
	})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := b.Get(t.Context(), id); !errors.Is(err, session.ErrDamaged) {
		t.Errorf("the system prompt is %q, %v", s.System, err)
	}
	if s, err := b.Get(t.Context(), storetest.ID(2)); err != nil || s.System != "Say no." {
		t.Errorf("the other session's system prompt is %q, %v", s.System, err)
	}
}

// sampleCreation is what is kept of how a session of the sample was made.
func sampleCreation(id session.ID) session.Creation {
	return session.Creation{Stamp: session.Stamp{ID: string(id), Digest: []byte(id)}, Session: id, Answer: json.RawMessage(`"` + strings.Repeat("answer", 100) + `"`)}
}

func mutate(r *rand.Rand, n int, data []byte, used, page int) (string, []byte) {
	at := r.IntN(used)
	switch n % 8 {
	case 0:
		return fmt.Sprintf("cut to %d", at), data[:at]
	case 1:
		at = at / page * page
		clear(data[at : at+page])
		return fmt.Sprintf("page %d zeroed", at/page), data
	case 2:
		other := r.IntN(used) / page * page
		at = at / page * page
		copy(data[at:at+page], bytes.Clone(data[other:other+page]))
		return fmt.Sprintf("page %d overwritten by %d", at/page, other/page), data
	case 3:
		at = at/page*page + r.IntN(16+64) // heads of pages are where it hurts
		data[at] ^= 1 << r.IntN(8)
		return fmt.Sprintf("bit of byte %d of page %d", at%page, at/page), data
	case 4:
		for i := range min(64, used-at) {
			data[at+i] = byte(r.Uint32())
		}
		return fmt.Sprintf("noise at %d", at), data
	case 5:
		if n/8%5 == 0 {
			return "empty", nil
		}
		data[at%(2*page)] ^= 1 << r.IntN(8)
		return fmt.Sprintf("bit at %d in the head", at%(2*page)), data
	}
	data[at] ^= 1 << r.IntN(8)
	return fmt.Sprintf("bit at %d", at), data
}

// openDamaged is 0 if the start refused, 1 if sessions are damaged, 2 if nothing is.
func openDamaged(t *testing.T, what string, data, mark []byte, want map[session.ID][]session.Entry, whole bool) int {
	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	if err := errors.Join(os.WriteFile(path, data, 0o600), os.WriteFile(filepath.Join(dir, markName), mark, 0o600)); err != nil {
		t.Fatal(err)
	}
	opt := Options{}
	if !whole {
		opt.testSmall = -1
	}
	b, err := openStore(dir, opt)
	if err != nil {
		if !errors.Is(err, session.ErrDamaged) && !errors.Is(err, session.ErrNewer) {
			t.Errorf("%s: refused with %v", what, err)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, data) {
			t.Errorf("%s: refused, and the file was changed; %v", what, err)
		}
		if _, err := CheckFile(t.Context(), path); err == nil {
			t.Errorf("%s: the check finds nothing", what)
		}
		return 0
	}
	harm := useDamaged(t, what, b, want)
	if err := b.Close(); err != nil {
		t.Errorf("%s: close: %v", what, err)
	}
	if report, err := CheckFile(t.Context(), path); err == nil && harm && len(report.Damaged) == 0 {
		t.Errorf("%s: a session is damaged, and the check finds nothing", what)
	} else if err != nil && !errors.Is(err, session.ErrDamaged) {
		t.Errorf("%s: check: %v", what, err)
	}
	if b, err = openStore(dir, opt); err != nil {
		if whole || !errors.Is(err, session.ErrDamaged) {
			t.Errorf("%s: opened, and not again: %v", what, err)
		}
		return 1
	}
	if err := b.Close(); err != nil {
		t.Errorf("%s: second close: %v", what, err)
	}
	if harm {
		return 1
	}
	return 2
}

// useDamaged reads and writes, and reports whether a session is damaged.
func useDamaged(t *testing.T, what string, b operators, want map[session.ID][]session.Entry) (harm bool) {
	ctx := t.Context()
	more := session.Entry{Body: session.Setting{}}
	for id, entries := range want {
		if m, ok, err := b.Creation(ctx, string(id)); err != nil || !ok || !reflect.DeepEqual(m, sampleCreation(id)) {
			t.Errorf("%s: session %s was made by %+v, %v, %v", what, id, m, ok, err)
		}
		for range 2 {
			got, err := b.Entries(ctx, id, 0, 1000)
			switch {
			case err == nil && !reflect.DeepEqual(got, entries):
				t.Errorf("%s: session %s reads as something that was never stored", what, id)
			case err != nil && !errors.Is(err, session.ErrDamaged):
				t.Errorf("%s: session %s: %v", what, id, err)
			case err != nil:
				harm = true
			}
			if err != nil || id > storetest.ID(4) {
				break
			}
			if _, err := b.writes().Append(ctx, id, more); err == nil {
				entries = append(entries[:len(entries):len(entries)], more)
			} else if !errors.Is(err, session.ErrDamaged) {
				t.Errorf("%s: session %s: append: %v", what, id, err)
			}
		}
		if _, err := b.writes().Checkpoints(ctx, id); err != nil && !errors.Is(err, session.ErrDamaged) {
			t.Errorf("%s: session %s: checkpoints: %v", what, id, err)
		}
	}
	page, _, err := b.List(ctx, session.Query{})
	if err != nil || len(page) < len(want) {
		t.Errorf("%s: %d of %d sessions are listed; %v", what, len(page), len(want), err)
	}
	if _, err := b.OpenTurns(ctx); err != nil {
		t.Errorf("%s: open turns: %v", what, err)
	}
	return harm
}

// FuzzExamine looks at files whose head pages are right, whatever they point to.
func FuzzExamine(f *testing.F) {
	dir := f.TempDir()
	b, err := openStore(dir, Options{})
	if err != nil {
		f.Fatal(err)
	}
	for i := range 3 {
		storetest.Create(f, b, session.Session{ID: storetest.ID(i)})
		storetest.Add(f, b, storetest.ID(i), storetest.Said(storetest.TurnA, "x"), storetest.Started(storetest.TurnA), storetest.Sealed(storetest.TurnA, storetest.MsgA, 0, strings.Repeat("y", i*1500)))
	}
	if err := b.Close(); err != nil {
		f.Fatal(err)
	}
	const size, header, head = 1024, 16, 64 // a small page makes a small seed; each begins with a header
	from, err := bbolt.Open(b.path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		f.Fatal(err)
	}
	to, err := bbolt.Open(filepath.Join(dir, "small"), 0o600, &bbolt.Options{PageSize: size})
	if err != nil {
		f.Fatal(err)
	}
	if err := errors.Join(bbolt.Compact(to, from, 0), from.Close(), to.Close()); err != nil {
		f.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "small"))
	if err != nil {
		f.Fatal(err)
	}
	p, err := page.Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		f.Fatal(err)
	}
	file = file[:p.Head.Count*size]
	if _, err := examine(bytes.NewReader(file), int64(len(file)), walkLogs); err != nil {
		f.Fatalf("the seed is no store: %v", err)
	}
	f.Add(file)
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.Clone(data)
		for _, at := range []int{header, size + header} {
			if len(data) < at+head {
				return
			}
			sum := fnv.New64a()
			sum.Write(data[at : at+head-8])
			binary.NativeEndian.PutUint64(data[at+head-8:], sum.Sum64())
		}
		inv, err := examine(bytes.NewReader(data), int64(len(data)), walkLogs)
		if err != nil && !errors.Is(err, session.ErrDamaged) && !errors.Is(err, session.ErrNewer) {
			t.Errorf("refused with %v", err)
		}
		if err == nil && inv.store == "" {
			t.Error("a store without an id was taken")
		}
	})
}
