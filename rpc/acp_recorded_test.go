package rpc

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var updateEditors = flag.Bool("update-editors", false, "write the answers in testdata/editors anew")

// TestACPEditors plays sessions of editors: files of testdata/editors, with the messages of the client after "> " and those of thinkd after
// "< ". SESSION stands for the session's id, and ASKED for the id of the last request to the client. In the answers, ids are
// numbered, and _meta, costs and the list of models are left out.
func TestACPEditors(t *testing.T) {
	files, err := filepath.Glob("testdata/editors/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, body, ok := strings.Cut(string(text), "\n\n")
		if !ok {
			t.Fatalf("%s: no empty line after its head", file)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			onStage(t, "think Read it first.\nthink Then fix it.\nsay Fixed.\n\nsay again", 0, func(s *stage) {
				r := &recorded{desk: s.connectEditor(8 << 20), ids: make(map[string]string)}
				defer r.stand()
				var said []string
				for line := range strings.Lines(body) {
					if message, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "> "); ok {
						said = append(said, "> "+message)
						r.say(r.fill(message))
						time.Sleep(time.Second)
						said = append(said, r.news()...)
					}
				}
				got := head + "\n\n" + strings.Join(said, "\n") + "\n"
				if *updateEditors {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				} else if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" {
					t.Errorf("(-file +now, -update-editors writes it anew)\n%s", diff)
				}
			})
		})
	}
}

// recorded is an editor of which the messages are compared with a file.
type recorded struct {
	*desk
	seen           int
	session, asked string
	ids            map[string]string
}

func (r *recorded) fill(message string) string {
	message = strings.ReplaceAll(message, "ASKED", r.asked)
	return strings.ReplaceAll(strings.ReplaceAll(message, "SESSION", r.session), "/srv/", srv+"/")
}

var editorID = regexp.MustCompile(`[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{8}-[0-9a-f-]{27}|thinkd-[A-Z2-7]{8}-\d+`)

// news is what came since the last call, one message in a line.
func (r *recorded) news() (lines []string) {
	all := r.got()
	for _, m := range all[r.seen:] {
		if id := m.Get("result.sessionId"); id.Exists() {
			r.session = id.String()
		}
		if m.Get("method").Exists() && m.Get("id").Exists() {
			r.asked = m.Get("id").String()
		}
		var value any
		if err := json.Unmarshal([]byte(m.Raw), &value); err != nil {
			r.Fatal(err)
		}
		text, err := json.Marshal(plainly(value))
		if err != nil {
			r.Fatal(err)
		}
		line := strings.ReplaceAll(string(text), srv+"/", "/srv/")
		if r.session != "" {
			line = strings.ReplaceAll(line, r.session, "SESSION")
		}
		lines = append(lines, "< "+editorID.ReplaceAllStringFunc(line, func(id string) string {
			if r.ids[id] == "" {
				r.ids[id] = fmt.Sprint("ID", len(r.ids)+1)
			}
			return r.ids[id]
		}))
	}
	r.seen = len(all)
	return lines
}

// plainly is a message without what changes with the catalog and the daemon's own members.
func plainly(value any) any {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "_meta")
		delete(v, "cost")
		if v["id"] == "model" {
			delete(v, "options")
		}
		for name, part := range v {
			v[name] = plainly(part)
		}
	case []any:
		for i, part := range v {
			v[i] = plainly(part)
		}
	}
	return value
}
