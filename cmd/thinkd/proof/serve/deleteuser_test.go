package serve

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/rpc/door"
)

// owned is what a user of TestDeleteUser has in files: words that occur nowhere else.
type owned struct {
	name, token string
	client      *proof.WsClient
	sessions    []string
	picture     []byte
}

func (o *owned) canary(part string) string { return "canary-of-the-" + part + "-of-" + o.name }

// talk makes a session, a fork of it, and a session by a stamp, with an image in the first.
func (o *owned) talk(t *testing.T, shade uint8) {
	img := image.NewRGBA(image.Rect(0, 0, 40, 40))
	for i := range img.Pix {
		img.Pix[i] = shade
	}
	img.Set(1, 1, color.White)
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, img); err != nil {
		t.Fatal(err)
	}
	o.picture = drawn.Bytes()
	var made struct {
		ID string `json:"session_id"`
	}
	c := o.client
	c.Must("session/new", map[string]any{"model_id": "sim/claude", "title": o.canary("title"), "system_prompt": o.canary("system")}, &made)
	o.sessions = append(o.sessions, made.ID)
	c.Must("session/prompt", map[string]any{"session_id": made.ID, "content": []any{map[string]any{"type": "text", "text": o.canary("prompt") + " [[sim: pace=0]]"},
		map[string]any{"type": "media", "mime_type": "image/png", "data": base64.StdEncoding.EncodeToString(o.picture)}}}, nil)
	c.TurnEnd()
	c.Must("session/fork", map[string]any{"session_id": made.ID}, &made)
	o.sessions = append(o.sessions, made.ID)
	c.Must("session/new", map[string]any{"model_id": "sim/claude", "title": o.canary("stamp"), "client_id": o.canary("client-id")}, &made)
	o.sessions = append(o.sessions, made.ID)
}

// found lists where something of the user's is in the files of a directory: its words, its sessions and its picture.
func (o *owned) found(t *testing.T, dir string) (where []string) {
	words := [][]byte{[]byte("canary-of-the-"), o.picture}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, words[1]) {
			where = append(where, path+" has the picture")
		}
		for _, part := range []string{"title", "system", "prompt", "stamp", "client-id"} {
			if bytes.Contains(text, []byte(o.canary(part))) {
				where = append(where, path+" has the "+part)
			}
		}
		for _, id := range o.sessions {
			if bytes.Contains(text, []byte(id)) && filepath.Base(path) != "thinkd.log" && filepath.Base(filepath.Dir(path)) != "audit" { // which may have ids
				where = append(where, path+" has a session")
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return where
}

// admin runs a command of thinkd admin, and returns what it prints.
func admin(t *testing.T, data, config string, args ...string) (string, error) {
	t.Helper()
	out, err := proof.Command(t, nil, append([]string{"--data", data, "--config", config, "admin"}, args...)...).Output()
	return string(out), err
}

// A user is deleted with all that is theirs, from all files, and another user has all of theirs.
func TestDeleteUser(t *testing.T) {
	data, config := t.TempDir(), proof.WriteConfig(t, "[auth]\n[auth.quotas.ann]\nmax_day_tokens = 100000\nmax_stored_bytes = 5000000\n")
	ann := &owned{name: "ann", token: token(t, data, config, "create", "--user", "ann")}
	bob := &owned{name: "bob", token: token(t, data, config, "create", "--user", "bob")}
	s := proof.StartServe(t, proof.Command(t, nil, append(proof.ServeArgs(data), "--config", config)...))
	for i, u := range []*owned{ann, bob} {
		u.client = proof.DialWS(t, s.Base, u.token, nil)
		u.talk(t, uint8(100*(i+1)))
		if len(u.found(t, data)) < 7 {
			t.Fatalf("of %s, only %q is in files: the test shows nothing", u.name, u.found(t, data))
		}
	}
	old := time.Now().Add(-time.Hour) // images of the last minute stay for a minute
	blobs, err := filepath.Glob(filepath.Join(data, "blobs", "*"))
	if err != nil || len(blobs) != 2 {
		t.Fatal(blobs, err)
	}
	for _, path := range blobs {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}

	var users door.Users
	text, err := admin(t, data, config, "users", "list", "--json")
	if err != nil {
		t.Fatal(text, err)
	}
	if err := json.Unmarshal([]byte(text), &users); err != nil || len(users.Users) != 2 || users.Users[0].User != "ann" || users.Users[0].Sessions != 3 || users.Users[0].Tokens != 1 ||
		users.Users[0].UsedDay.Tokens == 0 || users.Users[0].UsedMonth != users.Users[0].UsedDay || users.Users[0].Quota.DayTokens != 100000 || users.Users[1].Quota.DayTokens != 0 {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := admin(t, data, config, "quotas"); !strings.Contains(text, " of 100000") || !regexp.MustCompile(`\s[1-9]\d* of 5000000\s`).MatchString(text) || !regexp.MustCompile(`bob.*\s-\s`).MatchString(text) || err != nil {
		t.Errorf("%s, %v", text, err)
	}
	text, err = admin(t, data, config, "sessions", "list", "ann")
	if strings.Count(text, "\n") != 3 || !strings.Contains(text, ann.sessions[1]) || strings.Contains(text, "canary") || err != nil {
		t.Errorf("%s, %v", text, err)
	}
	if text, err := admin(t, data, config, "sessions", "delete", "ann", bob.sessions[0]); err == nil {
		t.Errorf("bob's session is deleted as ann's: %s", text)
	}
	if _, err := admin(t, data, config, "users", "delete", "ann"); err == nil || len(ann.found(t, data)) < 7 {
		t.Errorf("without --yes: %v, %q", err, ann.found(t, data))
	}

	text, err = admin(t, data, config, "users", "delete", "ann", "--yes")
	if err != nil || !strings.HasPrefix(text, "deleted ann: 3 sessions, 1 token, 0 keys, 1 file of") || !strings.Contains(text, "still occur in: audit/") {
		t.Errorf("%s, %v", text, err)
	}
	if code, reason := ann.client.Closed(); code != 4001 {
		t.Errorf("ann's connection is closed with %d %s", code, reason)
	}
	if got := s.Status("rpc", ann.token); got != http.StatusUnauthorized {
		t.Errorf("ann's token gets %d", got)
	}
	if where := ann.found(t, data); len(where) > 0 {
		t.Errorf("left of ann: %q", where)
	}
	if where := bob.found(t, data); len(where) < 7 {
		t.Errorf("of bob there is only %q", where)
	}
	for _, id := range bob.sessions {
		bob.client.Must("session/history", map[string]any{"session_id": id}, nil)
	}
	if text, err := admin(t, data, config, "users", "list"); strings.Contains(text, "canary") || !strings.Contains(text, "bob") || err != nil {
		t.Errorf("%s, %v", text, err)
	}
	s.Terminate()
	out, err := proof.Command(t, nil, "--data", data, "--config", config, "audit", "export").Output()
	text = string(out)
	for _, want := range []string{`"user":"ann","from":"127.0.0.1","token_id":"`, `"method":"session/new","new_session_id":"` + ann.sessions[0], `"method":"session/prompt","session_id":"` + ann.sessions[0],
		`"from":"command","token_id":"`, `"method":"token/create","about":{"user":"ann"},"code":0`, `"from":"socket","method":"daemon/delete_user","about":{"user":"ann"},"code":0`,
		`"method":"daemon/delete_user_session","session_id":"` + bob.sessions[0] + `","about":{"user":"ann"},"code":1001,"kind":"not_found"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the audit has no %s:\n%s", want, text)
		}
	}
	if err != nil || strings.Contains(text, "canary") {
		t.Errorf("the audit has something that was said, or %v:\n%s", err, text)
	}
	if where := ann.found(t, data); len(where) > 0 {
		t.Errorf("left of ann after the end: %q", where)
	}
}
