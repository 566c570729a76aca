package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// A command is input for this program and not for the model.
type command struct {
	name string
	word string // what may follow
	help string
	run  func(t *talk, word string)
}

func commands() []command {
	return []command{
		{"/models", "[MODEL] [LEVEL]", "choose a model, then its level", func(t *talk, words string) {
			if name, level, _ := strings.Cut(words, " "); name != "" {
				t.setModel(model{ID: name}, provider.Level(strings.TrimSpace(level)))
			} else {
				t.pickModel()
			}
		}},
		{"/thinking", "[LEVEL]", "choose the level of thinking", func(t *talk, level string) {
			if level != "" {
				t.setLevel(level)
			} else {
				t.pickLevel()
			}
		}},
		{"/sessions", "[TEXT]", "open another session", func(t *talk, text string) { t.pickSession(text) }},
		{"/search", "TEXT", "find a text in all sessions, and open one", func(t *talk, text string) { t.search(text) }},
		{"/rename", "TITLE", "set the title of this session", func(t *talk, title string) { t.rename(title) }},
		{"/share", "[USER] [ACCESS]", "share this session to read or write, or end that with none", func(t *talk, words string) { t.share(words) }},
		{"/export", "[FILE]", "write this session to a file, as Markdown", func(t *talk, file string) { t.export(file) }},
		{"/delete", "", "delete this session, after a question", func(t *talk, _ string) { t.pickDelete() }},
		{"/copy", "", "copy the last answer, as Markdown", func(t *talk, _ string) { t.copyAnswer() }},
		{"/editor", "", "write the prompt in $EDITOR", func(t *talk, _ string) { t.edit() }},
		{"/fork", "", "continue in a copy of this session", func(t *talk, _ string) { t.fork() }},
		{"/compact", "", "summarise the earlier turns", func(t *talk, _ string) { t.compact() }},
		{"/summary", "", "show the last summary", func(t *talk, _ string) { t.openSummary() }},
		{"/uncompact", "", "undo the last summary, until the next prompt", func(t *talk, _ string) { t.uncompact() }},
		{"/pin", "", "keep a message word for word beside all summaries, or end that", func(t *talk, _ string) { t.pickPin() }},
		{"/cost", "[MODEL]", "say what the next prompt would cost, and what was spent", func(t *talk, model string) { t.showCost(model) }},
		{"/plan", "", "show the plan of the model", func(t *talk, _ string) { t.showPlan() }},
		{"/grants", "", "list and revoke what is allowed or denied without a question", func(t *talk, _ string) { t.pickGrant() }},
		{"/new", "", "start a new session", func(t *talk, _ string) { t.create() }},
		{"/steer", "TEXT", "steer the running turn", func(t *talk, text string) { t.say(text, true) }},
		{"/append", "TEXT", "add a message without asking; the next prompt sends it", func(t *talk, text string) { t.append(text) }},
		{"/ask", "TEXT", "ask a side question; it is not recorded, and the turn continues", func(t *talk, text string) { t.askAside(text) }},
		{"/keep", "", "ask the last side question again in a fork, which is recorded", func(t *talk, _ string) { t.keepAside() }},
		{"/edit", "TEXT", "change the last pending prompt", func(t *talk, text string) { t.editQueued(text) }},
		{"/first", "", "send the last pending prompt before the others", func(t *talk, _ string) { t.moveFirst() }},
		{"/unqueue", "", "remove the last pending prompt", func(t *talk, _ string) { t.unqueue() }},
		{"/resume", "[MODEL]", "resume a parked turn, or a held queue", func(t *talk, model string) { t.resume(model) }},
		{"/raise", "USD", "raise the limit at which the turn is parked", func(t *talk, usd string) { t.raise(usd) }},
		{"/continue", "", "continue the last answer, if it was cut off", func(t *talk, _ string) { t.goOn() }},
		{"/cancel", "", "stop the side question, or else the running turn", func(t *talk, _ string) {
			if !t.closeAside() && !t.cancel() {
				t.note("no turn runs")
			}
		}},
		{"/help", "", "show this", func(t *talk, _ string) { t.help() }},
		{"/quit", "", "leave; a running turn continues", func(t *talk, _ string) { t.quit() }},
	}
}

// enter handles a line of input: a command, or a prompt. A second slash marks a prompt.
func (t *talk) enter(text string, steer bool) {
	text = strings.TrimSpace(text)
	name, word, _ := strings.Cut(text, " ")
	switch {
	case text == "":
		return
	case t.changing > 0:
		t.early = append(t.early, entered{text, func() { t.enter(text, steer) }})
		return
	case strings.HasPrefix(text, "//"):
		t.say(text[1:], steer)
		return
	case !strings.HasPrefix(text, "/") || strings.ContainsAny(name[1:], "/\n"): // a path also begins with a slash
		t.say(text, steer)
		return
	}
	for _, c := range commands() {
		if c.name == name {
			c.run(t, strings.TrimSpace(word))
			return
		}
	}
	t.add(failure, "", fmt.Sprintf("unknown command %s; /help lists the commands, //%s sends it to the model", name, name[1:]))
}

// keys are the keys of the screen, and what they do.
var keys = [][2]string{
	{"Enter", "sends; while a turn runs, the prompt waits"},
	{"Tab", "completes; goes to a question and its answers, Enter selects one"},
	{"Ctrl+S", "steers the running turn with the input"},
	{"Esc", "closes a menu or a side question, or else stops the running turn"},
	{"Ctrl+T", "unfolds thinking, and folds it"},
	{"Ctrl+O", "shows all thinking and output, and hides it"},
	{"@", "offers files; a prompt takes those along that it names"},
	{"Ctrl+V", "attaches the image in the clipboard; so does the pasted path of an image, PDF or sound"},
	{"Ctrl+G", "opens the prompt in $EDITOR"},
	{"Ctrl+J", "starts a new line"},
	{"Ctrl+C", "stops the turn, clears the input, leaves"},
	{"Ctrl+Z", "suspends the chat; fg in the shell continues it"},
}

func (t *talk) help() {
	var b strings.Builder
	list := func(title string, rows [][2]string) {
		column := 0
		for _, r := range rows {
			column = max(column, len(r[0]))
		}
		b.WriteString(title)
		for _, r := range rows {
			fmt.Fprintf(&b, "\n%-*s  %s", column, r[0], r[1])
		}
	}
	var rows [][2]string
	for _, c := range commands() {
		rows = append(rows, [2]string{strings.TrimSpace(c.name + " " + c.word), c.help})
	}
	list("commands:", rows)
	list("\n\nkeys:", keys)
	t.note("%s", b.String())
}

// pickModel is the first of two steps. Available models come first.
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
			switch {
			case r.disabled:
				r.detail = m.Why
			case m.Price != nil && m.Price.Output > 0:
				r.detail += fmt.Sprintf(" · %g/%g USD", m.Price.Input, m.Price.Output)
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

// pickLevelOf is the second step. A model with one level or none offers no choice.
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

// pickLevel offers the levels of the session's model.
func (t *talk) pickLevel() {
	t.ask("models/list", map[string]any{"provider": t.model.Provider}, result(func(list struct {
		Models []modelRow `json:"models"`
	}) {
		i := slices.IndexFunc(list.Models, func(m modelRow) bool { return m.ID == t.model.ID })
		switch {
		case i < 0:
			t.note("the levels of %s are not known; /thinking LEVEL sets one anyway", t.model)
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
				title = "(no messages yet)"
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

// fork continues in a copy. The screen shows the conversation up to there already.
func (t *talk) fork() {
	t.change("session/fork", map[string]any{"session_id": t.id}, result(func(s settled) {
		t.change("session/attach", map[string]any{"session_id": s.Session, "limit": 0}, result(func(a attached) {
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

// pickGrant lists the standing answers, and revokes the selected one.
func (t *talk) pickGrant() {
	t.ask("session/grants", map[string]any{"session_id": t.id}, result(func(list struct {
		Grants []grant `json:"grants"`
	}) {
		if len(list.Grants) == 0 {
			t.note("nothing is allowed or denied without a question in this session")
			return
		}
		p := &picker{title: "grants: Enter revokes"}
		for _, g := range list.Grants {
			label := "allowed: "
			if g.Deny {
				label = "denied: "
			}
			p.rows = append(p.rows, row{label: label + visible(g.Text)})
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

// lastQueued is the turn of the last pending prompt, if there is one.
func (t *talk) lastQueued() (turn string, ok bool) {
	if len(t.queue) == 0 {
		t.note("no prompt is pending")
		return "", false
	}
	return t.queue[len(t.queue)-1].Turn, true
}

func (t *talk) unqueue() {
	if turn, ok := t.lastQueued(); ok {
		t.ask("session/queue", map[string]any{"session_id": t.id, "remove": []string{turn}}, nil)
	}
}

func (t *talk) editQueued(text string) {
	turn, ok := t.lastQueued()
	switch {
	case !ok:
	case text == "":
		t.note("/edit TEXT changes the last pending prompt")
	default:
		t.ask("queue/update", map[string]any{"session_id": t.id, "turn_id": turn, "text": text}, nil)
	}
}

func (t *talk) moveFirst() {
	if turn, ok := t.lastQueued(); ok {
		t.ask("queue/move", map[string]any{"session_id": t.id, "turn_id": turn, "before": t.queue[0].Turn}, nil)
	}
}
