package chat

import "github.com/thinkd/thinkd/cmd/thinkd/chat/menu"

// menuRowsMost is how many entries of a menu are shown.
const menuRowsMost = 8

// suggestion is what the menu below the input is for.
type suggestion struct {
	*menu.Menu
	typed string // that an entry replaces
	kind  suggestionKind
	moved bool // the person has chosen an entry
}

type suggestionKind int

const (
	ofCommands suggestionKind = iota
	ofWords                   // behind a command
	ofFiles
)
