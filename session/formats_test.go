package session

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
	"testing"

	"github.com/thinkd/thinkd/provider"
)

// TestFormats opens a store of each format that there was, made by the program of its time: three sessions of a turn each.
// Opening it changes nothing. The first write that needs a new bucket makes it and the new number in one commit, so
// that no crash can fall between; the sessions stay as they were.
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
			b, err := OpenBolt(dir, BoltOptions{})
			if err != nil {
				t.Fatal(err)
			}
			before := conversations(t, b)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, old) {
				t.Errorf("reading it has changed it, %v", err)
			}

			b = openTest(t, dir)
			made := Made{Stamp: Stamp{ID: "a", Digest: []byte("x")}, Session: testID(1), Answer: json.RawMessage(`{}`)}
			if _, err := b.CreateOnce(t.Context(), Session{ID: testID(1)}, made); err != nil {
				t.Fatal(err)
			}
			if err := b.Delete(t.Context(), testID(1)); err != nil {
				t.Fatal(err)
			}
			equal(t, "what was said", conversations(t, b), before)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			report, err := CheckFile(t.Context(), path)
			if err != nil || report.Sessions != 3 || len(report.Damaged) > 0 {
				t.Errorf("check: %+v, %v", report, err)
			}
		})
	}
	if names, err := os.ReadDir("testdata/formats"); err != nil || len(names) != formatVersion {
		t.Errorf("there are %d stores for %d formats, %v: keep one of each before the number changes", len(names), formatVersion, err)
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
func conversations(t *testing.T, b *Bolt) (said []string) {
	t.Helper()
	list, _, err := b.List(t.Context(), Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		v, err := Load(t.Context(), b, s.ID)
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
