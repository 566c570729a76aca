package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// command is what is said to this program and not to the model.
type command struct {
	name string
	word string // what may follow
	help string
	run  func(t *talk, word string)
}

func commands() []command {
	return []command{
		{"/models", "", "choose a model, then its level", func(t *talk, _ string) { t.pickModel() }},
		{"/thinking", "[LEVEL]", "choose the level of thinking", func(t *talk, level string) {
			if level != "" {
				t.setLevel(level)
			} else {
				t.pickLevel()
			}
		}},
		{"/sessions", "[TEXT]", "go to another session", func(t *talk, text string) { t.pickSession(text) }},
		{"/fork", "", "go on in a copy of this session", func(t *talk, _ string) { t.fork() }},
		{"/compact", "", "have the earlier turns summarised", func(t *talk, _ string) { t.compact() }},
		{"/grants", "", "list what runs without asking, and revoke it", func(t *talk, _ string) { t.pickGrant() }},
		{"/new", "", "begin a new session", func(t *talk, _ string) { t.create() }},
		{"/steer", "TEXT", "tell the running turn something", func(t *talk, text string) { t.say(text, true) }},
		{"/unqueue", "", "take the last waiting prompt out", func(t *talk, _ string) { t.unqueue() }},
		{"/resume", "", "let a held queue go on", func(t *talk, _ string) {
			t.ask("session/queue", map[string]any{"session_id": t.id, "resume": true}, nil)
		}},
		{"/cancel", "", "end the running turn", func(t *talk, _ string) {
			if !t.cancel() {
				t.note("no turn runs")
			}
		}},
		{"/help", "", "show this", func(t *talk, _ string) { t.help() }},
		{"/quit", "", "leave; a running turn goes on", func(t *talk, _ string) { t.quit() }},
	}
}

// enter takes what was typed: a command, or a prompt. A second slash says that it is no command.
func (t *talk) enter(text string, steer bool) {
	text = strings.TrimSpace(text)
	name, word, _ := strings.Cut(text, " ")
	switch {
	case text == "":
		return
	case strings.HasPrefix(text, "//"):
		t.say(text[1:], steer)
		return
	case !strings.HasPrefix(text, "/") || strings.ContainsAny(name[1:], "/\n"): // a path begins so as well
		t.say(text, steer)
		return
	}
	for _, c := range commands() {
		if c.name == name {
			c.run(t, strings.TrimSpace(word))
			return
		}
	}
	t.add(failure, "", fmt.Sprintf("there is no %s; /help lists the commands, //%s says it to the model", name, name[1:]))
}

// keys are those of the screen.
const keys = `Enter  sends; while a turn runs, the prompt waits
Tab  goes to a question and its answers; Enter takes the selected one
Ctrl+S  sends it into the running turn
Esc  ends the running turn
Ctrl+O  shows all thinking and output, and hides it
Ctrl+J  begins a new line
Ctrl+C  ends the turn, clears the input, leaves`

func (t *talk) help() {
	var b strings.Builder
	for _, c := range commands() {
		fmt.Fprintf(&b, "%s  %s\n", strings.TrimSpace(c.name+" "+c.word), c.help)
	}
	t.note("%s", b.String()+keys)
}

// pickModel is the first of two steps: the models that can be called come first.
func (t *talk) pickModel() {
	t.ask("models/list", nil, result(func(list struct {
		Models []modelRow `json:"models"`
	}) {
		slices.SortStableFunc(list.Models, func(a, b modelRow) int {
			if a.Available == b.Available {
				return 0
			}
			if a.Available {
				return -1
			}
			return 1
		})
		p := &picker{title: "model"}
		for _, m := range list.Models {
			r := row{label: m.String(), detail: levels(m), disabled: !m.Available}
			if r.disabled {
				r.detail = m.Why
			}
			if m.model.String() == t.model.String() {
				p.at, r.current = len(p.rows), true
			}
			p.rows = append(p.rows, r)
		}
		p.choose = func(i int) { t.pickLevelOf(list.Models[i]) }
		t.picker = p
	}))
}

func levels(m modelRow) string {
	if !m.Thinks {
		return "does not think"
	}
	var words []string
	for _, l := range m.Levels {
		words = append(words, string(l))
	}
	return strings.Join(words, " ")
}

// pickLevelOf is the second step. A model with one level or none leaves nothing to choose.
func (t *talk) pickLevelOf(m modelRow) {
	if len(m.Levels) < 2 {
		t.setModel(m.model, "")
		return
	}
	p := t.levelPicker(m, "level of "+m.String())
	p.choose = func(i int) { t.setModel(m.model, m.Levels[i]) }
	t.picker = p
}

func (t *talk) levelPicker(m modelRow, title string) *picker {
	p := &picker{title: title}
	p.at = max(slices.Index(m.Levels, m.Default), 0)
	for i, l := range m.Levels {
		r := row{label: string(l)}
		if l == m.Default {
			r.detail = "the model's default"
		}
		if l == t.level {
			p.at, r.current = i, true
		}
		p.rows = append(p.rows, r)
	}
	return p
}

// pickLevel chooses among the levels of the session's model.
func (t *talk) pickLevel() {
	t.ask("models/list", map[string]any{"provider": t.model.Provider}, result(func(list struct {
		Models []modelRow `json:"models"`
	}) {
		i := slices.IndexFunc(list.Models, func(m modelRow) bool { return m.ID == t.model.ID })
		switch {
		case i < 0:
			t.note("nobody knows the levels of %s; /thinking LEVEL sets one all the same", t.model)
		case len(list.Models[i].Levels) < 2:
			t.note("%s: %s", t.model, levels(list.Models[i]))
		default:
			m := list.Models[i]
			p := t.levelPicker(m, "level of thinking")
			p.choose = func(i int) { t.setLevel(string(m.Levels[i])) }
			t.picker = p
		}
	}))
}

func (t *talk) pickSession(query string) {
	params := map[string]any{"limit": 200}
	if query != "" {
		params["query"] = query
	}
	t.ask("session/list", params, result(func(list struct {
		Sessions []summary `json:"sessions"`
	}) {
		p := &picker{title: "session"}
		for _, s := range list.Sessions {
			title := s.Title
			if title == "" {
				title = "(nothing said yet)"
			}
			when := time.UnixMilli(s.Updated).Format("2006-01-02 15:04")
			p.rows = append(p.rows, row{label: title, detail: strings.Join([]string{when, s.Status, s.Model.String()}, " · "), current: s.ID == t.id})
		}
		p.choose = func(i int) {
			if id := list.Sessions[i].ID; id != t.id {
				t.follow(id, 0)
			}
		}
		if t.picker = p; len(p.rows) == 0 {
			t.picker = nil
			t.note("there is no such session")
		}
	}))
}

// fork goes on in a copy. What was said up to there is on the screen already.
func (t *talk) fork() {
	t.ask("session/fork", map[string]any{"session_id": t.id}, result(func(s settled) {
		t.ask("session/attach", map[string]any{"session_id": s.Session, "limit": 0}, result(func(a attached) {
			t.leave()
			t.close()
			t.turn, t.queue, t.held, t.questions = "", nil, false, nil
			if err := t.attach(a, t.now()); err != nil {
				t.add(failure, "", err.Error())
			}
			t.note("this is session %s, a fork", t.id)
		}))
	}))
}

// compact is answered when the summary is there. Prompts wait that long.
func (t *talk) compact() {
	t.compaction = t.ask("session/compact", map[string]any{"session_id": t.id}, result(func(r struct {
		Compacted bool `json:"compacted"`
	}) {
		if !r.Compacted {
			t.note("nothing was summarised")
		}
	}))
}

// pickGrant lists the standing approvals; the one that is chosen ends.
func (t *talk) pickGrant() {
	t.ask("session/grants", map[string]any{"session_id": t.id}, result(func(list struct {
		Grants []grant `json:"grants"`
	}) {
		if len(list.Grants) == 0 {
			t.note("nothing was granted in this session")
			return
		}
		p := &picker{title: "grants: Enter revokes"}
		for _, g := range list.Grants {
			p.rows = append(p.rows, row{label: visible(g.Text)})
		}
		p.choose = func(i int) {
			g := list.Grants[i]
			t.ask("session/grants", map[string]any{"session_id": t.id, "revoke": []string{g.ID}}, func(json.RawMessage) error {
				t.note("revoked: %s", g.Text)
				return nil
			})
		}
		t.picker = p
	}))
}

func (t *talk) unqueue() {
	if len(t.queue) == 0 {
		t.note("nothing waits")
		return
	}
	t.ask("session/queue", map[string]any{"session_id": t.id, "remove": []string{t.queue[len(t.queue)-1].Turn}}, nil)
}
