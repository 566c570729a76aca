package chat

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/thinkd/thinkd/cmd/thinkd/chat/menu"
	"github.com/thinkd/thinkd/cmd/thinkd/files"
)

// listed is a message to Update: the files of the folder.
type listed []menu.Entry

// suggest opens the menu for what stands before the cursor, or closes it. The list of files is made anew when a mention begins.
func (s *screen) suggest() tea.Cmd {
	before := s.input.of(span{0, s.input.at})
	from, word := s.lastWord()
	var next suggestion
	var cmd tea.Cmd
	command, rest, spaced := strings.Cut(before, " ")
	switch {
	case strings.HasPrefix(word, "@"):
		if s.menu == nil || s.menu.kind != ofFiles {
			cmd = s.listFiles()
		}
		next = suggestion{menu.New(s.files, word[1:], from), word, ofFiles, false}
	case strings.HasPrefix(before, "/") && !spaced && !strings.Contains(before, "\n"):
		next = suggestion{menu.New(commandEntries(), before, 0), before, ofCommands, false}
	case strings.HasPrefix(before, "/") && !strings.Contains(before, "\n"):
		next = suggestion{menu.New(s.wordsBehind(command, rest), word, from), word, ofWords, false}
	}
	old := s.menu
	if s.menu = nil; next.Menu != nil {
		if old != nil && old.moved && old.kind == next.kind {
			next.Keep(old.Selected().Text)
			next.moved = true
		}
		s.menu = &next
	}
	return cmd
}

// lastWord is the word before the cursor, and where it begins.
func (s *screen) lastWord() (from int, word string) {
	from = s.input.at
	for from > 0 && !s.input.text[from-1].blank() {
		from--
	}
	return from, s.input.of(span{from, s.input.at})
}

func commandEntries() (list []menu.Entry) {
	for _, c := range commands() {
		list = append(list, menu.Entry{Text: c.name, More: c.word, Detail: c.help})
	}
	return list
}

// wordsBehind are the words that may stand behind a command: models, and levels.
func (s *screen) wordsBehind(command, rest string) (list []menu.Entry) {
	first, _, second := strings.Cut(rest, " ")
	switch {
	case command == "/thinking" && !second:
		return levelEntries(s.modelNamed(s.model.String()))
	case command == "/models" && second:
		return levelEntries(s.modelNamed(first))
	case slices.Contains([]string{"/models", "/cost", "/resume"}, command) && !second:
		for _, m := range s.listedModels() {
			if m.Available {
				list = append(list, menu.Entry{Text: m.model.String(), Detail: levels(m)})
			}
		}
	}
	return list
}

func levelEntries(m modelRow) (list []menu.Entry) {
	for _, l := range m.Levels {
		e := menu.Entry{Text: string(l)}
		if l == m.Default {
			e.Detail = "the model's default"
		}
		list = append(list, e)
	}
	return list
}

func (s *screen) modelNamed(name string) modelRow {
	for _, m := range s.listedModels() {
		if m.model.String() == name || m.ID == name {
			return m
		}
	}
	return modelRow{}
}

// listedModels are the models, which are asked for once. The menu opens when they come.
func (s *screen) listedModels() []modelRow {
	if s.models == nil && s.daemon != nil {
		s.models = []modelRow{}
		s.ask("models/list", nil, result(func(list struct {
			Models []modelRow `json:"models"`
		}) {
			s.models = list.Models
			s.suggest() // it lists no files: a mention has another menu
		}))
	}
	return s.models
}

// listFiles lists the files of the folder, in the background: it may be large.
func (s *screen) listFiles() tea.Cmd {
	dir := s.folder
	return func() tea.Msg {
		ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
		defer stop()
		list := listed{}
		for _, f := range files.List(ctx, dir) {
			list = append(list, menu.Entry{Text: f.Path, Detail: size64(f.Size)})
		}
		return list
	}
}

// pressMenu takes a key for the menu; handled is false if the key is for the input. send says that the input is to be submitted.
func (s *screen) pressMenu(name string) (handled, send bool) {
	m := s.menu
	switch name {
	case "up", "ctrl+p":
		m.Move(-1)
		m.moved = true
	case "down", "ctrl+n":
		m.Move(1)
		m.moved = true
	case "tab":
		s.complete()
	case "esc":
		s.menu = nil
	case "enter":
		e := m.Selected()
		switch {
		case m.kind != ofFiles && (m.typed == e.Text || m.typed == "" && !m.moved):
			s.menu = nil
			return false, false
		case m.kind == ofFiles, m.kind == ofCommands && e.More != "":
			s.complete()
		default:
			s.complete()
			return true, true
		}
	default:
		return false, false
	}
	return true, false
}

// complete puts the selected entry in place of what was typed of it.
func (s *screen) complete() {
	m := s.menu
	text := m.Selected().Text
	if m.kind == ofFiles {
		text = files.Mention(text)
	}
	if m.kind != ofCommands || m.Selected().More != "" {
		text += " "
	}
	s.input.Replace(m.From, text)
	if s.menu = nil; m.kind != ofFiles {
		s.suggest() // what may follow; it lists no files
	}
}
