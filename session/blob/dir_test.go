package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/bolt"
	"github.com/thinkd/thinkd/session/mem"
	"github.com/thinkd/thinkd/session/storetest"
)

func openBlobs(t *testing.T) *Dir {
	t.Helper()
	b, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func keep(t *testing.T, b *Dir, text string) string {
	t.Helper()
	hash, err := b.Keep([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// age makes files older than a sweep spares.
func age(t *testing.T, b *Dir) {
	t.Helper()
	then := time.Now().Add(-2 * youngest)
	for _, name := range kept(t, b) {
		if err := os.Chtimes(b.path(name), then, then); err != nil {
			t.Fatal(err)
		}
	}
}

func kept(t *testing.T, b *Dir) (names []string) {
	t.Helper()
	files, err := os.ReadDir(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

func TestBlobs(t *testing.T) {
	b := openBlobs(t)
	storetest.Equal(t, "the directory's name is durable before anything is kept", b.named, false)
	hash := keep(t, b, "picture")
	storetest.Equal(t, "the directory's name is durable", b.named, true)
	storetest.Equal(t, "the same again", keep(t, b, "picture"), hash)
	keep(t, b, "")
	storetest.Equal(t, "files", len(kept(t, b)), 2)
	data, err := b.Read(hash)
	if err != nil || string(data) != "picture" {
		t.Errorf("%q, %v", data, err)
	}
	info, err := os.Stat(b.path(hash))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, name := range []string{"", "..", "../thinkd.db", strings.Repeat("0", 64), strings.ToUpper(hash)} {
		if _, err := b.Read(name); !errors.Is(err, session.ErrBlob) {
			t.Errorf("read of %q: %v", name, err)
		}
	}
	if err := os.WriteFile(b.path(hash), []byte("pictura"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Read(hash); !errors.Is(err, session.ErrBlob) {
		t.Errorf("a damaged one: %v", err)
	}
	keep(t, b, "picture")
	if data, err = b.Read(hash); err != nil || string(data) != "picture" {
		t.Errorf("kept again: %q, %v", data, err)
	}
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Keep([]byte("x")); !errors.Is(err, session.ErrReadOnly) {
		t.Errorf("without a directory: %v", err)
	}
}

func TestSweep(t *testing.T) {
	b, all := openBlobs(t), mem.New()
	s := all.For(session.Operator)
	media := func(hash string) provider.Blocks {
		return provider.Blocks{provider.Media{Type: "image/png", Hash: hash, Size: 1}}
	}
	prompt := func(turn session.TurnID, hash string) session.Entry {
		return session.Entry{Turn: turn, Body: session.Prompt{Message: session.MessageID("U" + turn), Content: media(hash)}}
	}
	parent, child, other := storetest.ID(0), storetest.ID(1), storetest.ID(2)
	shared, later, of, result, lost := keep(t, b, "shared"), keep(t, b, "later"), keep(t, b, "of"), keep(t, b, "result"), keep(t, b, "lost")
	storetest.Create(t, s, session.Session{ID: parent})
	storetest.Add(t, s, parent, prompt(storetest.TurnA, shared), storetest.Started(storetest.TurnA), storetest.Ended(storetest.TurnA), prompt(storetest.TurnB, later), storetest.Started(storetest.TurnB), storetest.Ended(storetest.TurnB))
	v, err := session.Load(t.Context(), s, parent)
	if err != nil {
		t.Fatal(err)
	}
	record, _, err := v.Fork(session.MessageID("U" + storetest.TurnA))
	if err != nil {
		t.Fatal(err)
	}
	record.ID = child
	storetest.Create(t, s, record)
	storetest.Create(t, s, session.Session{ID: other})
	storetest.Add(t, s, other, prompt(storetest.TurnA, of), storetest.Started(storetest.TurnA), session.Entry{Turn: storetest.TurnA, Body: session.Sealed{Message: storetest.MsgA, Number: 0, Block: provider.ToolCall{ID: "c", Name: "n"}}},
		storetest.MessageEnded(storetest.TurnA, storetest.MsgA, 1), session.Entry{Turn: storetest.TurnA, Body: session.ToolEnd{Message: "R", Reply: storetest.MsgA, CallID: "c", Content: media(result)}})
	sweep := func(want int) {
		t.Helper()
		if n, err := b.Sweep(t.Context(), all); n != want || err != nil {
			t.Errorf("%d were removed, want %d; %v", n, want, err)
		}
	}
	age(t, b)
	sweep(0) // nothing was deleted
	remove := func(id session.ID) {
		t.Helper()
		if err := errors.Join(b.Forget(), s.Delete(t.Context(), id)); err != nil {
			t.Fatal(err)
		}
	}
	remove(parent)
	young := keep(t, b, "young")
	sweep(1) // lost; all of the parent's log stays for its fork
	for _, hash := range []string{shared, later, of, result, young} {
		if _, err := b.Read(hash); err != nil {
			t.Errorf("%.8s: %v", hash, err)
		}
	}
	if _, err := b.Read(lost); err == nil {
		t.Error("what nobody had is there")
	}
	remove(child)
	age(t, b)
	sweep(3) // shared, later, young
	sweep(0)
	remove(other)
	if err := os.WriteFile(filepath.Join(b.dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	age(t, b)
	sweep(2)
	storetest.Equal(t, "what is left", kept(t, b), []string{"notes.txt"})
}

// TestTend deletes sessions while somebody tends the blobs: theirs go without a new start, and soon.
func TestTend(t *testing.T) {
	b, all := openBlobs(t), mem.New()
	s := all.For(session.Operator)
	image := func(n int) {
		hash := keep(t, b, fmt.Sprint("picture ", n))
		storetest.Create(t, s, session.Session{ID: storetest.ID(n)})
		storetest.Add(t, s, storetest.ID(n), session.Entry{Turn: storetest.TurnA, Body: session.Prompt{Message: "U", Content: provider.Blocks{provider.Media{Type: "image/png", Hash: hash, Size: 1}}}})
	}
	remove := func(n int) {
		if err := errors.Join(b.Forget(), s.Delete(t.Context(), storetest.ID(n))); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b.due = make(chan struct{}, 1) // of this bubble
		for n := range 3 {
			image(n)
		}
		age(t, b)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		testgo.Go(t, func() { // ends with ctx
			defer close(done)
			b.Tend(ctx, all, func(_ int, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		})
		synctest.Wait()
		remove(0)
		time.Sleep(2 * youngest)
		synctest.Wait()
		storetest.Equal(t, "files after one was deleted", len(kept(t, b)), 2)
		remove(1)
		remove(2)
		time.Sleep(2 * youngest)
		synctest.Wait()
		storetest.Equal(t, "files at last", len(kept(t, b)), 0)
		stop()
		<-done
	})
}

// TestSweepWithDamage sweeps while one session cannot be read: what that session may have stays, and what a deleted one had goes.
func TestSweepWithDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := bolt.Open(dir, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := all.For(session.Operator)
	path := filepath.Join(dir, "thinkd.db")
	hashes := make([]string, 3)
	for n := range hashes {
		hashes[n] = keep(t, b, fmt.Sprint("picture ", n))
		storetest.Create(t, s, session.Session{ID: storetest.ID(n)})
		storetest.Add(t, s, storetest.ID(n), session.Entry{Turn: storetest.TurnA, Body: session.Prompt{Message: "U", Content: provider.Blocks{
			provider.Media{Type: "image/png", Hash: hashes[n], Size: 1}, provider.Text{Text: fmt.Sprintf("mark %d %s", n, strings.Repeat("x", 5000))}}}})
	}
	if err := all.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.ReplaceAll(data, []byte("mark 1 x"), []byte("mark 1 y"))
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err = bolt.Open(dir, bolt.Options{}); err != nil {
		t.Fatal(err)
	}
	s = all.For(session.Operator)
	defer all.Close()
	if _, err := s.Get(t.Context(), storetest.ID(1)); !errors.Is(err, session.ErrDamaged) {
		t.Fatalf("the session is not damaged: %v", err)
	}
	age(t, b)
	if err := errors.Join(b.Forget(), s.Delete(t.Context(), storetest.ID(0))); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Sweep(t.Context(), all); n != 1 || err != nil {
		t.Errorf("%d were removed, %v", n, err)
	}
	left := hashes[1:]
	slices.Sort(left)
	storetest.Equal(t, "what is left", kept(t, b), left)
}

func TestBlobsCopy(t *testing.T) {
	t.Parallel()
	b := openBlobs(t)
	to := filepath.Join(t.TempDir(), "copy")
	if copied, damaged, err := b.Copy(t.Context(), to); copied+damaged != 0 || err != nil || exists(to) {
		t.Errorf("of nothing: %d, %d, %v", copied, damaged, err)
	}
	hash, bad := keep(t, b, "picture"), keep(t, b, "another")
	if err := os.WriteFile(b.path(bad), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if copied, damaged, err := b.Copy(t.Context(), to); copied != 1 || damaged != 1 || err != nil {
		t.Errorf("of one whole and one damaged: %d, %d, %v", copied, damaged, err)
	}
	storetest.Equal(t, "files", kept(t, &Dir{dir: to}), []string{hash})
	_, _, err := b.Copy(t.Context(), to)
	storetest.WantErr(t, "over a copy", err, os.ErrExist)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// meanwhile is a store in whose logs something is kept and not yet said while they are listed.
type meanwhile struct {
	session.Local
	keep func()
}

func (m meanwhile) Owners(ctx context.Context) ([]session.Owner, error) {
	m.keep()
	return m.Local.Owners(ctx)
}

// TestSweepAndAClockSetBack keeps something during a sweep, under a clock that was set back to before it.
func TestSweepAndAClockSetBack(t *testing.T) {
	b := openBlobs(t)
	again := keep(t, b, "again")
	keep(t, b, "lost")
	if err := b.Forget(); err != nil {
		t.Fatal(err)
	}
	age(t, b)
	var late string
	n, err := b.Sweep(t.Context(), meanwhile{mem.New(), func() {
		late = keep(t, b, "late")
		storetest.Equal(t, "the same again", keep(t, b, "again"), again)
		age(t, b)
	}})
	if n != 1 || err != nil {
		t.Errorf("%d were removed, %v", n, err)
	}
	for _, hash := range []string{late, again} {
		if _, err := b.Read(hash); err != nil {
			t.Error(err)
		}
	}
	age(t, b)
	if n, err := b.Sweep(t.Context(), mem.New()); n != 2 || err != nil {
		t.Errorf("%d were removed by the next one, %v", n, err)
	}
}

// TestSweepReadsAllOwners: a blob stays while a log of any owner refers to it.
func TestSweepReadsAllOwners(t *testing.T) {
	b, all := openBlobs(t), mem.New()
	var hashes []string
	owners := []session.Owner{session.Operator, {Tenant: "a", User: "u"}, {Tenant: "b", User: "u"}}
	both := keep(t, b, "of all")
	for _, owner := range owners {
		s, own := all.For(owner), keep(t, b, "of "+owner.String())
		hashes = append(hashes, own)
		storetest.Create(t, s, session.Session{ID: storetest.ID(1)})
		storetest.Add(t, s, storetest.ID(1), session.Entry{Turn: storetest.TurnA, Body: session.Prompt{Message: "U", Content: provider.Blocks{
			provider.Media{Type: "image/png", Hash: own, Size: 1}, provider.Media{Type: "image/png", Hash: both, Size: 1}}}})
	}
	left := append(slices.Clone(hashes), both)
	for n, owner := range owners {
		age(t, b)
		if err := errors.Join(b.Forget(), all.For(owner).Delete(t.Context(), storetest.ID(1))); err != nil {
			t.Fatal(err)
		}
		left = slices.DeleteFunc(left, func(hash string) bool { return hash == hashes[n] })
		slices.Sort(left)
		if n == len(owners)-1 {
			left = nil
		}
		if _, err := b.Sweep(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		storetest.Equal(t, "what is left", kept(t, b), left)
	}
}
