package option

import (
	"slices"
	"strings"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

// Change is the change of a session that an editor's choice makes. now is the session as it stands, and model looks up a model.
// Errors: *conn.Error for what the option does not have, and those of model.
func Change(id string, value any, now session.Settings, model func(ref string) (session.ModelRef, error)) (change agent.Change, err error) {
	word, isWord := value.(string)
	on, isBool := value.(bool)
	switch {
	case id == Other && !isBool:
		return change, conn.InvalidParams("value", "must be true or false")
	case id != Other && !isWord:
		return change, conn.InvalidParams("value", "must be a string")
	}
	switch id {
	case Other:
		other := provider.OtherNotify
		if on {
			other = provider.OtherStop
		}
		change.OnOther = &other
	case Model:
		ref, err := model(word)
		change.Model = &ref
		return change, err
	case Level:
		level, err := provider.ParseLevel(word)
		change.Level = &level
		return change, err
	case Mode:
		mode, err := ReadMode("value", word)
		change.Mode = &mode
		return change, err
	case Display:
		display, err := provider.ParseDisplay(set(word))
		if err != nil {
			return change, conn.InvalidParams("value", "%v", err)
		}
		change.Display = &display
	default:
		change.Options, err = state(id, word, now)
	}
	return change, err
}

// state is the session's options of model calls with one of them as an editor chose it.
func state(id, word string, now session.Settings) (*provider.Options, error) {
	for _, s := range stated {
		if s.id != id {
			continue
		}
		if word != Unset && !slices.Contains(s.words, word) {
			return nil, conn.InvalidParams("value", "must be one of %s, %s", Unset, strings.Join(s.words, ", "))
		}
		options := now.Options.Or()
		s.set(&options, set(word))
		return &options, nil
	}
	return nil, conn.InvalidParams("configId", "there is no option %q", wire.Characters(id, 100))
}

// set is what the session states for a value of a select.
func set(value string) string {
	if value == Unset {
		return ""
	}
	return value
}

// ReadMode reads the name of a mode. member is where an editor said it.
func ReadMode(member, word string) (mode tool.Mode, err error) {
	if err := mode.UnmarshalText([]byte(word)); err != nil {
		return mode, conn.InvalidParams(member, "%v", err)
	}
	return mode, nil
}
