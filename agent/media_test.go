package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/blob"
)

// keepBlobs starts the bench again with a folder for images and documents.
func keepBlobs(t *testing.T, b *bench, dir string) {
	t.Helper()
	blobs, err := blob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	b.group.Close()
	b.cfg.Blobs = blobs
	b.start()
}

// Media are stored once, next to the log. The session in memory has none, but each request has them. A lost one is reported.
func TestMediaAreKeptOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		image := bytes.Repeat([]byte("picture "), 10_000)
		scan := bytes.Repeat([]byte("scan "), 10_000)
		h := &host{run: func(context.Context, provider.ToolCall, func(string)) provider.ToolResult {
			return provider.ToolResult{Blocks: provider.Blocks{provider.Text{Text: "seen"}, provider.Media{Type: "image/png", Data: scan}}}
		}}
		b, id := toolBench(t, h)
		defer b.close()
		dir := t.TempDir()
		keepBlobs(t, b, dir)
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		say := func(content ...provider.Block) Ended {
			t.Helper()
			r, err := b.agent(id).Prompt(t.Context(), Prompt{Content: content})
			if err != nil {
				t.Fatal(err)
			}
			e, err := b.agent(id).Wait(t.Context(), r.Turn)
			if err != nil || e.End.StopReason != "end_turn" {
				t.Fatalf("%+v, %v", e.End, err)
			}
			return e
		}
		// A hash that somebody else gives names nothing.
		shown := provider.Media{Type: "image/png", Data: image, Hash: strings.Repeat("0", 64)}
		b.fake.scripts = []script{calls("a", `{}`)}
		say(provider.Text{Text: "What is this?"}, shown)
		say(provider.Media{Type: "image/png", Data: image})
		files, err := os.ReadDir(filepath.Join(dir, "blobs"))
		if err != nil || len(files) != 2 {
			t.Errorf("%d files, %v", len(files), err)
		}
		entries, err := b.store.Entries(t.Context(), id, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		log, err := json.Marshal(entries)
		if err != nil || len(log) > 20_000 || !bytes.Contains(log, []byte(`"hash":"`)) {
			t.Errorf("the log has %d bytes, %v", len(log), err)
		}
		media := func(n int) (list []string) {
			for _, m := range b.fake.requests[n].Messages {
				for _, block := range m.Blocks {
					inner := provider.Blocks{block}
					if r, ok := block.(provider.ToolResult); ok {
						inner = r.Blocks
					}
					for _, b := range inner {
						switch b := b.(type) {
						case provider.Media:
							list = append(list, string(b.Data[:4])+b.Hash)
						case provider.Text:
							if strings.Contains(b.Text, "missing") {
								list = append(list, b.Text)
							}
						}
					}
				}
			}
			return list
		}
		check(t, "sent", media(2), []string{"pict", "scan", "pict"})
		check(t, "told", notices(sub), []string(nil))
		for _, m := range b.said(id) {
			for _, p := range m.Parts {
				if media, ok := p.Block.(provider.Media); ok && (len(media.Data) > 0 || media.Size != len(image)) {
					t.Errorf("the session holds %d bytes of %d", len(media.Data), media.Size)
				}
			}
		}

		// After a restart, with one damaged.
		b.group.Close()
		b.start()
		if sub, err = b.agent(id).Subscribe(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			path := filepath.Join(dir, "blobs", f.Name())
			if data, err := os.ReadFile(path); err == nil && bytes.HasPrefix(data, []byte("scan")) {
				if err := os.WriteFile(path, data[1:], 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		say(provider.Text{Text: "And now?"})
		say(provider.Text{Text: "And now?"})
		check(t, "sent with one lost", media(3), []string{"pict", "[image/png that is missing]", "pict"})
		check(t, "told once", notices(sub), []string{noticeMissing})

		// Nowhere to keep it: nothing is said.
		if err := os.RemoveAll(filepath.Join(dir, "blobs")); err != nil {
			t.Fatal(err)
		}
		before := len(b.said(id))
		if _, err := b.agent(id).Prompt(t.Context(), Prompt{Content: provider.Blocks{provider.Media{Type: "image/png", Data: image}}}); err == nil {
			t.Error("a prompt whose picture cannot be kept was taken")
		}
		check(t, "messages", len(b.said(id)), before)
	})
}

func (b *bench) said(id session.ID) []Message {
	b.Helper()
	page, _, err := b.agent(id).History(b.Context(), Page{Limit: 1000})
	if err != nil {
		b.Fatal(err)
	}
	return page
}

// What a model makes is kept like what it is shown: the log has its name, the event its size, and the next request its
// data. Sources of a text are published and stored.
func TestMediaOfAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, id := toolBench(t, &host{})
		defer b.close()
		keepBlobs(t, b, t.TempDir())
		sub, err := b.agent(id).Subscribe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		drawn := bytes.Repeat([]byte("drawn "), 10_000)
		sources := []provider.Citation{{URL: "https://example.com/", Title: "Page", Start: 1, End: 4, Quote: "words"}}
		state := provider.State{Origin: provider.Origin{API: "gemini", Vendor: "google"}, Data: json.RawMessage(`[{"thoughtSignature":"s"}]`)}
		b.fake.scripts = []script{func(_ context.Context, yield func(provider.Event, error) bool) {
			for _, ev := range []provider.Event{
				provider.Begin{Index: 0, Block: provider.Text{}}, provider.Delta{Index: 0, Text: "Look:"},
				provider.End{Index: 0, Block: provider.Text{Text: "Look:", Sources: sources}},
				provider.Begin{Index: 1, Block: provider.Media{Type: "image/png"}},
				provider.End{Index: 1, Block: provider.Media{Type: "image/png", Data: drawn, State: state}},
				provider.Stop{Reason: provider.StopEndTurn},
			} {
				if !yield(ev, nil) {
					return
				}
			}
		}}
		for _, prompt := range []string{"Draw", "Again"} {
			r, err := b.agent(id).Prompt(t.Context(), text(prompt))
			if err != nil {
				t.Fatal(err)
			}
			if e, err := b.agent(id).Wait(t.Context(), r.Turn); err != nil || e.End.StopReason != "end_turn" {
				t.Fatalf("%+v, %v", e.End, err)
			}
		}
		var ends []feed.Event
		for len(ends) < 2 {
			u, err := sub.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			switch e := u.Event.(type) {
			case feed.TextEnd:
				e.Message = ""
				ends = append(ends, e)
			case feed.MediaEnd:
				if e.Hash == "" {
					t.Error("the event does not name what is kept")
				}
				e.Message, e.Hash = "", ""
				ends = append(ends, e)
			}
		}
		check(t, "told", ends, []feed.Event{feed.TextEnd{Message: "", Block: 0, Text: "Look:", Sources: sources}, feed.MediaEnd{Message: "", Block: 1, MimeType: "image/png", Size: len(drawn), Hash: ""}})
		entries, err := b.store.Entries(t.Context(), id, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if log, err := json.Marshal(entries); err != nil || len(log) > 20_000 || !bytes.Contains(log, []byte(`"sources":[{"url":"https://example.com/"`)) {
			t.Errorf("the log has %d bytes, %v: %s", len(log), err, log[:min(len(log), 4000)])
		}
		answer := b.fake.requests[1].Messages[1]
		check(t, "sent back", answer.Blocks, provider.Blocks{provider.Text{Text: "Look:", Sources: sources}, provider.Media{Type: "image/png", Data: drawn, State: state}})
	})
}
