package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	safe "github.com/thinkd/thinkd/cmd/thinkd/printable"
)

// search lists the sessions that have a text, and opens the selected one.
func (t *talk) search(text string) {
	if text == "" {
		t.note("/search TEXT finds a text in all sessions")
		return
	}
	t.ask("session/search", map[string]any{"text": text, "limit": 50}, result(func(r struct {
		Found []struct {
			Session  summary `json:"session"`
			Hits     int     `json:"hits"`
			Excerpts []struct {
				Text string `json:"text"`
			} `json:"excerpts"`
		} `json:"found"`
		Next string `json:"next_cursor"`
	}) {
		if len(r.Found) == 0 {
			t.note("no session has %q", line(text, 60))
			return
		}
		p := &picker{title: fmt.Sprintf("sessions with %q", line(text, 40))}
		if r.Next != "" {
			p.title += ", the newest ones"
		}
		for _, f := range r.Found {
			words := []string{time.UnixMilli(f.Session.Updated).Format("2006-01-02 15:04"), fmt.Sprintf("%d×", f.Hits)}
			for _, e := range f.Excerpts {
				words = append(words, e.Text)
			}
			p.rows = append(p.rows, row{label: line(cmp.Or(f.Session.Title, "(no title)"), 40), detail: safe.Clean(strings.Join(words, " · ")), current: f.Session.ID == t.id})
		}
		p.choose = func(i int) {
			if id := r.Found[i].Session.ID; id != t.id {
				t.follow(id, 0)
			}
		}
		t.picker = p
	}))
}

// reopen follows a session, with the model and the level that a new one would have been given. If the daemon refuses them, no session
// is followed, so that no prompt goes to a model that the person did not choose.
func (t *talk) reopen(id string) {
	model, level := t.begin["model_id"], t.begin["thinking_level"]
	params := map[string]any{"session_id": id}
	set := result(func(s settled) { t.followThen(id, 0, func() { t.settle(s) }) })
	switch {
	case model == nil && level == nil:
		t.follow(id, 0)
	case model == nil:
		params["level"] = level
		t.change("thinking/set", params, set)
	default:
		params["model_id"] = model
		if level != nil {
			params["thinking_level"] = level
		}
		t.change("model/set", params, set)
	}
}

// continueIn follows the last session of a folder, or begins one.
func (t *talk) continueIn(folder string) {
	params := map[string]any{"limit": 1, "shared": false}
	if folder != "" {
		params["cwd"] = folder
	}
	t.change("session/list", params, result(func(list struct {
		Sessions []summary `json:"sessions"`
	}) {
		if len(list.Sessions) == 0 {
			t.note("there is no session of this folder; this is a new one")
			t.create()
			return
		}
		t.reopen(list.Sessions[0].ID)
	}))
}

func (t *talk) rename(title string) {
	if title == "" {
		t.note("/rename TITLE sets the title")
		return
	}
	t.ask("session/update", map[string]any{"session_id": t.id, "title": title}, func(json.RawMessage) error {
		t.note("the title is %q", line(title, 60))
		return nil
	})
}

// share shows with whom the session is shared, after a change if the words have a user and an access.
func (t *talk) share(words string) {
	user, access, _ := strings.Cut(words, " ")
	params := map[string]any{"session_id": t.id}
	if user != "" {
		params["user"] = user
	}
	if access = strings.TrimSpace(access); access != "" {
		params["access"] = access
	}
	t.ask("session/share", params, result(func(r struct {
		Guests []struct{ User, Access string }
	}) {
		if len(r.Guests) == 0 {
			t.note("the session is shared with nobody; /share USER [read|write|none] changes that")
			return
		}
		var guests []string
		for _, g := range r.Guests {
			guests = append(guests, line(g.User, 60)+" ("+g.Access+")")
		}
		t.note("the session is shared with %s", strings.Join(guests, ", "))
	}))
}

// pickDelete asks whether to delete the session. A new one follows.
func (t *talk) pickDelete() {
	if t.id == "" {
		return
	}
	id := t.id
	p := &picker{title: "delete this session, with all that was said?", rows: []row{{label: "Keep it"}, {label: "Delete it", detail: "this cannot be undone"}}}
	p.choose = func(i int) {
		if i == 0 {
			return
		}
		t.change("session/delete", map[string]any{"session_id": id}, func(json.RawMessage) error {
			t.id, t.fresh = "", false // nothing is left to detach from
			t.create()
			t.note("deleted; this is a new session")
			return nil
		})
	}
	t.picker = p
}

// export writes the session to a file that does not exist yet.
func (t *talk) export(file string) {
	if t.id == "" {
		return
	}
	file = cmp.Or(file, "thinkd-"+t.id+".md")
	var text strings.Builder
	var next func(cursor string)
	next = func(cursor string) {
		params := map[string]any{"session_id": t.id, "format": "markdown"}
		if cursor != "" {
			params["cursor"] = cursor
		}
		t.ask("session/export", params, result(func(page struct {
			Text string `json:"text"`
			Next string `json:"next_cursor"`
		}) {
			text.WriteString(page.Text)
			if page.Next != "" {
				next(page.Next)
			} else if err := t.save(file, text.String()); err != nil {
				t.add(failure, "", "the session was not exported: "+err.Error())
			} else {
				t.note("exported to %s", file)
			}
		}))
	}
	next("")
}

// copyAnswer copies the last answer, as the model wrote it.
func (t *talk) copyAnswer() {
	text := ""
	for _, it := range t.items {
		if it.kind == answer && it.body.Len() > 0 {
			text = it.text()
		}
	}
	switch {
	case text == "":
		t.note("there is no answer to copy")
	case t.copy == nil:
		t.note("/copy needs a terminal that can move its cursor")
	default:
		t.copy(text)
	}
}

func (t *talk) edit() {
	if t.editor == nil {
		t.note("/editor needs a terminal that can move its cursor")
		return
	}
	t.editor("")
}
