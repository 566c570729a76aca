package bolt

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

// TestFormats opens a store of each format that there was, made by the program of its time: three sessions of a turn each, and from
// format 5 on one of another owner. Opening one of an older format upgrades it, and nothing that was said changes. The old file is kept as
// it was. Opening a store again changes nothing.
func TestFormats(t *testing.T) {
	t.Parallel()
	for format := 1; format <= formatVersion; format++ {
		t.Run(strconv.Itoa(format), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, fileName)
			old := unpack(t, fmt.Sprintf("testdata/formats/%d.db.gz", format))
			if err := os.WriteFile(path, old, 0o600); err != nil {
				t.Fatal(err)
			}
			sessions := 3
			if format >= 5 {
				sessions++
			}
			if report, err := CheckFile(t.Context(), path); err != nil || report.Sessions != sessions || len(report.Damaged) > 0 {
				t.Errorf("check before: %+v, %v", report, err)
			}
			var upgrades []string
			open := func() operators {
				b, err := openStore(dir, Options{Upgraded: func(format int, kept string) { upgrades = append(upgrades, fmt.Sprint(format, kept)) }})
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			b := open()
			before := conversations(t, b)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			kept := path + ".format-" + strconv.Itoa(format)
			var want []string
			if format < formatVersion {
				want = []string{fmt.Sprint(format, kept)}
			} else {
				kept = path
			}
			storetest.Equal(t, "upgrades", upgrades, want)
			if text, err := os.ReadFile(kept); err != nil || !sameStore(text, old) {
				t.Errorf("the old file is not what it was, %v", err)
			}
			if others, err := filepath.Glob(path + ".*"); err != nil || len(others) != len(want) {
				t.Errorf("the upgrade has left %q, %v", others, err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}

			b = open()
			storetest.Equal(t, "what was said", conversations(t, b), before)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, text) {
				t.Errorf("reading it has changed it, %v", err)
			}
			b = open()
			made := session.Creation{Stamp: session.Stamp{ID: "a", Digest: []byte("x")}, Session: storetest.ID(1), Answer: json.RawMessage(`{}`)}
			if _, err := b.CreateOnce(t.Context(), session.Session{ID: storetest.ID(1)}, made); err != nil {
				t.Fatal(err)
			}
			if page, _, err := b.List(t.Context(), session.Query{Limit: 1}); err != nil || len(page) != 1 || page[0].ID != storetest.ID(1) {
				t.Errorf("the newest is %v, %v", page, err)
			}
			if err := b.Delete(t.Context(), storetest.ID(1)); err != nil {
				t.Fatal(err)
			}
			storetest.Equal(t, "what was said, at last", conversations(t, b), before)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if report, err := CheckFile(t.Context(), path); err != nil || report.Sessions != sessions || len(report.Damaged) > 0 {
				t.Errorf("check: %+v, %v", report, err)
			}
			b = open()
			theirs := b.For(session.Owner{Tenant: "acme", User: "ann"})
			others, _, err := theirs.List(t.Context(), session.Query{})
			if err != nil || len(others) != sessions-3 {
				t.Errorf("another owner has %d sessions, %v", len(others), err)
			}
			for _, s := range others {
				first, ok, err := theirs.Creation(t.Context(), "a")
				if s.Title != "hello" || first.Session != s.ID || !ok || err != nil {
					t.Errorf("another owner has %q, made by %+v, %v", s.Title, first, err)
				}
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if len(upgrades) > 1 {
				t.Errorf("it was upgraded again: %q", upgrades)
			}
		})
	}
	if names, err := os.ReadDir("testdata/formats"); err != nil || len(names) != formatVersion {
		t.Errorf("there are %d stores for %d formats, %v: keep one of each before the number changes", len(names), formatVersion, err)
	}
}

// TestUpgradeIsBegunAnew: what an upgrade that was killed has left is replaced, and an older file of the same name stays.
func TestUpgradeIsBegunAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	old := unpack(t, "testdata/formats/3.db.gz")
	kept := path + ".format-3"
	for name, text := range map[string][]byte{path: old, path + ".new": []byte("half"), kept: []byte("of another store")} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var second string
	b, err := openStore(dir, Options{Upgraded: func(_ int, kept string) { second = kept }})
	if err != nil {
		t.Fatal(err)
	}
	conversations(t, b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{kept: []byte("of another store"), second: old} {
		if text, err := os.ReadFile(name); err != nil || !sameStore(text, want) {
			t.Errorf("%s is not what it was, %v", name, err)
		}
	}
}

// sameStore reports whether a store's file is as it was.
func sameStore(text, was []byte) bool { return bytes.Equal(withoutGrowth(text, len(was)), was) }

// withoutGrowth is a store's file without the zeros that opening it adds on Windows, where a file is as long as its mapping.
func withoutGrowth(text []byte, was int) []byte {
	if runtime.GOOS == "windows" && len(text) > was && len(bytes.TrimRight(text[was:], "\x00")) == 0 {
		return text[:was]
	}
	return text
}

// TestUpgradeInPlaceKeepsOneCopy: a start that was killed after the copy, or while it was made, is begun again with the same name. An older
// file of that name stays. If there can be no copy, the store stays as it is.
func TestUpgradeInPlaceKeepsOneCopy(t *testing.T) {
	t.Parallel()
	old := unpack(t, "testdata/formats/4.db.gz")
	other := bytes.Clone(old)
	other[len(other)-1] ^= 1
	for name, tt := range map[string]struct {
		left map[string][]byte // by the end of the name
		want int               // names that begin with thinkd.db.format-4
	}{
		"killed after the copy":     {map[string][]byte{".format-4": old}, 1},
		"killed in the copy":        {map[string][]byte{".format-4.new": old[:5000]}, 1},
		"another store":             {map[string][]byte{".format-4": other}, 2},
		"another store, and a part": {map[string][]byte{".format-4": other[:9000], ".format-4.new": old}, 3},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, fileName)
		if err := os.WriteFile(path, old, 0o600); err != nil {
			t.Fatal(err)
		}
		for end, text := range tt.left {
			if err := os.WriteFile(path+end, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var kept string
		b, err := openStore(dir, Options{Upgraded: func(_ int, name string) { kept = name }})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(kept); err != nil || !sameStore(text, old) {
			t.Errorf("%s: the copy %s is not the old file, %v", name, kept, err)
		}
		names, err := filepath.Glob(path + ".format-4*")
		if err != nil || len(names) != tt.want {
			t.Errorf("%s: there are %q, %v", name, names, err)
		}
		if text, err := os.ReadFile(path + ".format-4"); err != nil || tt.left[".format-4"] != nil && !bytes.Equal(text, tt.left[".format-4"]) {
			t.Errorf("%s: the older copy has changed, %v", name, err)
		}
	}

	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	if err := errors.Join(os.WriteFile(path, old, 0o600), os.Mkdir(path+".format-4.new", 0o700), os.WriteFile(filepath.Join(path+".format-4.new", "a"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if b, err := openStore(dir, Options{}); err == nil || !strings.Contains(err.Error(), "upgrade of thinkd.db from format 4 to 5: ") {
		t.Errorf("without a copy: %v, %v", b, err)
	}
	if text, err := os.ReadFile(path); err != nil || !bytes.Equal(text, old) {
		t.Errorf("without a copy the store has changed, %v", err)
	}
}

// TestUpgradeInPlaceIsOneCommit opens what a crash during the upgrade of a file in place may leave. bbolt writes the pages of a
// commit in any order, waits for the disk, and then writes one of the two head pages. So there is each set of the new pages without
// the new head, and all of them with a part of it. Each of these files has all that was said, and is upgraded by the next start.
func TestUpgradeInPlaceIsOneCommit(t *testing.T) {
	t.Parallel()
	const pageSize, sector = 4096, 512
	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	before := unpack(t, "testdata/formats/4.db.gz")
	write := func(file []byte) {
		t.Helper()
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	upgrade := func(want int) (said []string) {
		t.Helper()
		upgrades := 0
		b, err := openStore(dir, Options{Upgraded: func(int, string) { upgrades++ }})
		if err != nil {
			t.Fatal(err)
		}
		said = conversations(t, b)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		storetest.Equal(t, "upgrades", upgrades, want)
		report, err := CheckFile(t.Context(), path)
		if err != nil || report.Sessions != 3 || len(report.Damaged) > 0 {
			t.Errorf("check: %+v, %v", report, err)
		}
		return said
	}
	write(before)
	said := upgrade(1)
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	after = bytes.Clone(withoutGrowth(after, len(before)))
	if len(after) != len(before) {
		t.Fatalf("the file had %d bytes and has %d", len(before), len(after))
	}
	head := -1
	var changed []int // pages
	for at := 0; at < len(before); at += pageSize {
		switch {
		case bytes.Equal(before[at:at+pageSize], after[at:at+pageSize]):
		case at < 2*pageSize:
			head = at
		default:
			changed = append(changed, at)
		}
	}
	if head < 0 || len(changed) == 0 || len(changed) > 8 {
		t.Fatalf("it has written pages at %v, and the head at %d", changed, head)
	}
	for set := range 1 << len(changed) {
		file := bytes.Clone(before)
		for i, at := range changed {
			if set&(1<<i) != 0 {
				copy(file[at:at+pageSize], after[at:])
			}
		}
		write(file)
		storetest.Equal(t, fmt.Sprintf("with the new pages %b", set), upgrade(1), said)
	}
	for part := 0; part <= pageSize; part += sector {
		file := bytes.Clone(after)
		copy(file[head+part:head+pageSize], before[head+part:])
		want := 0
		if !bytes.Equal(file, after) {
			want = 1
		}
		write(file)
		storetest.Equal(t, fmt.Sprintf("with %d bytes of the head", part), upgrade(want), said)
	}
}

// TestUpgradeWithDamage: a session that cannot be read is as damaged afterwards, and the others are whole.
func TestUpgradeWithDamage(t *testing.T) {
	t.Parallel()
	for i, part := range []string{`"kind":"turn_end"`, `"title":"`, `"kind":"turn_end"`, `"title":"`} { // of an entry, and of a record
		dir := t.TempDir()
		path := filepath.Join(dir, fileName)
		old := unpack(t, fmt.Sprintf("testdata/formats/%d.db.gz", 3+i/2)) // written anew, and in place
		at := bytes.LastIndex(old, []byte(part))
		old[at+2] ^= 1
		if err := os.WriteFile(path, old, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := openStore(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		page, _, err := b.List(t.Context(), session.Query{})
		whole := 0
		for _, s := range page {
			if _, err := session.Load(t.Context(), b, s.ID); err == nil && s.Status != session.Damaged {
				whole++
			}
		}
		if err != nil || len(page) != 3 || whole < 2 {
			t.Errorf("damage in %s: %d sessions of %d are whole, %v", part, whole, len(page), err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func unpack(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return data
}

// conversations is all that was said in a store of three prompts, each with its title, its thinking and its answer.
func conversations(t *testing.T, b operators) (said []string) {
	t.Helper()
	list, _, err := b.List(t.Context(), session.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		v, err := session.Load(t.Context(), b, s.ID)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, turn := range v.Turns {
			if turn.End == nil || turn.End.StopReason != "end_turn" {
				t.Errorf("session %s: a turn ended with %+v", s.ID, turn.End)
			}
			for _, m := range turn.Messages {
				for _, block := range m.Parts {
					text, err := json.Marshal(block)
					if err != nil {
						t.Fatal(err)
					}
					kinds = append(kinds, string(provider.KindOf(block.Block)))
					said = append(said, string(text))
				}
			}
		}
		if want := []string{"text", "thinking", "text"}; !slices.Equal(kinds, want) {
			t.Errorf("session %s has %v, want %v", s.ID, kinds, want)
		}
		said = append(said, s.Title)
	}
	if len(list) != 3 {
		t.Errorf("there are %d sessions", len(list))
	}
	return said
}

// TestLargePromptIsStoredOnce: commits and lists of a session cost nothing for a system prompt of megabytes.
func TestLargePromptIsStoredOnce(t *testing.T) {
	t.Parallel()
	const size = 6 << 20
	b := openTest(t, t.TempDir())
	storetest.Create(t, b, session.Session{ID: storetest.ID(1), System: strings.Repeat("s", size)})
	for range 20 {
		storetest.Add(t, b, storetest.ID(1), session.Entry{Time: 1, Body: session.Setting{}})
	}
	info, err := os.Stat(b.path)
	if err != nil {
		t.Fatal(err)
	}
	if most := int64(size + 3*growBy); info.Size() > most { // to write it anew would take as much again
		t.Errorf("the file has %d bytes, want at most %d", info.Size(), most)
	}
	page, _, err := b.List(t.Context(), session.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(page); err != nil || len(page) != 1 || len(text) > 1<<10 {
		t.Errorf("a list of %d sessions has %d bytes, %v", len(page), len(text), err)
	}
}
