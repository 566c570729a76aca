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
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

// TestFormats opens a store of each format that there was, made by the program of its time: three sessions of a turn each.
// Opening one of an older format upgrades it and keeps the old file as it was; nothing that was said changes. Opening it again
// changes nothing.
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
			if report, err := CheckFile(t.Context(), path); err != nil || report.Sessions != 3 || len(report.Damaged) > 0 {
				t.Errorf("check before: %+v, %v", report, err)
			}
			var upgrades []string
			open := func() *Store {
				b, err := Open(dir, Options{Upgraded: func(format int, kept string) { upgrades = append(upgrades, fmt.Sprint(format, kept)) }})
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
			kept, now := path+".format-"+strconv.Itoa(format), path
			if format == formatVersion {
				kept = path
				storetest.Equal(t, "upgrades", len(upgrades), 0)
			} else {
				storetest.Equal(t, "upgrades", upgrades, []string{fmt.Sprint(format, kept)})
			}
			if text, err := os.ReadFile(kept); err != nil || !bytes.Equal(text, old) {
				t.Errorf("the old file is not what it was, %v", err)
			}
			text, err := os.ReadFile(now)
			if err != nil {
				t.Fatal(err)
			}

			b = open()
			storetest.Equal(t, "what was said", conversations(t, b), before)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if again, err := os.ReadFile(now); err != nil || !bytes.Equal(again, text) {
				t.Errorf("reading it has changed it, %v", err)
			}
			b = open()
			made := session.Made{Stamp: session.Stamp{ID: "a", Digest: []byte("x")}, Session: storetest.ID(1), Answer: json.RawMessage(`{}`)}
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
			if report, err := CheckFile(t.Context(), path); err != nil || report.Sessions != 3 || len(report.Damaged) > 0 {
				t.Errorf("check: %+v, %v", report, err)
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
	b, err := Open(dir, Options{Upgraded: func(_ int, kept string) { second = kept }})
	if err != nil {
		t.Fatal(err)
	}
	conversations(t, b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{kept: []byte("of another store"), second: old} {
		if text, err := os.ReadFile(name); err != nil || !bytes.Equal(text, want) {
			t.Errorf("%s is not what it was, %v", name, err)
		}
	}
}

// TestUpgradeWithDamage: a session that cannot be read is as damaged afterwards, and the others are whole.
func TestUpgradeWithDamage(t *testing.T) {
	t.Parallel()
	for _, part := range []string{`"kind":"turn_end"`, `"title":"`} { // of an entry, and of a record
		dir := t.TempDir()
		path := filepath.Join(dir, fileName)
		old := unpack(t, "testdata/formats/3.db.gz")
		at := bytes.LastIndex(old, []byte(part))
		old[at+2] ^= 1
		if err := os.WriteFile(path, old, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := Open(dir, Options{})
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
func conversations(t *testing.T, b *Store) (said []string) {
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
