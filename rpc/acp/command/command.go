// Package command has the commands that a prompt of an editor can begin with: their list, and what a text asks for.
//
// A text that begins with a slash and no known name is a prompt like any other.
package command

import (
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/agent/tool/toolhost"
)

// Names of the commands of thinkd. The other ones are prompts of MCP servers, see [PromptName].
const (
	Think     = "think"     // LEVEL PROMPT: one prompt with another level
	Model     = "model"     // ID: another model from the next turn on
	Compact   = "compact"   // stands alone
	Uncompact = "uncompact" // stands alone
	Export    = "export"    // [FILE]
)

// Command is a command as ACP lists it.
type Command struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Input       *Input `json:"input,omitempty"`
}

// Input says what follows the name.
type Input struct {
	Hint string `json:"hint"`
}

// List is all commands: those of thinkd, and the prompts of servers by server.
func List(prompts map[string][]toolhost.Prompt, servers []string) []Command {
	list := []Command{
		{Think, "Ask with another level of thinking, this time only", &Input{"LEVEL PROMPT, with a level of off, auto, on, minimal, low, medium, high, xhigh, max"}},
		{Model, "Use another model from the next turn on", &Input{"the id of a model, such as anthropic/claude-opus-5-5"}},
		{Compact, "Have the model summarise the earlier turns", nil},
		{Uncompact, "Undo the last summary. This is possible until the next prompt", nil},
		{Export, "Write the session to a Markdown file, or show it", &Input{"the name of a file; without one, session.md"}},
	}
	for _, server := range servers {
		for _, p := range prompts[server] {
			c := Command{Name: PromptName(server, p.Name), Description: p.Description}
			if c.Description == "" {
				c.Description = "A prompt of the MCP server " + server
			}
			if len(p.Arguments) > 0 {
				c.Input = &Input{usage(p)}
			}
			list = append(list, c)
		}
	}
	return list
}

// PromptName is the command of a server's prompt.
func PromptName(server, prompt string) string { return "mcp:" + server + ":" + prompt }

// Split returns the name of the command that a text begins with, and what follows it. ok is false for a text without one.
func Split(text string) (name, rest string, ok bool) {
	text, ok = strings.CutPrefix(strings.TrimLeft(text, " \t\n"), "/")
	if !ok {
		return "", "", false
	}
	end := strings.IndexAny(text, " \t\n")
	if end < 0 {
		return text, "", text != ""
	}
	return text[:end], strings.TrimSpace(text[end:]), end > 0
}

func usage(p toolhost.Prompt) string {
	var words []string
	for _, a := range p.Arguments {
		word := strings.ToUpper(a.Name)
		if !a.Required {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// Arguments reads the arguments of a prompt: a word for each, and the rest of the text for the last one. The error names the first that
// is missing.
func Arguments(p toolhost.Prompt, text string) (map[string]string, error) {
	given := make(map[string]string)
	for i, a := range p.Arguments {
		word := strings.TrimSpace(text)
		if i < len(p.Arguments)-1 {
			word, text, _ = strings.Cut(word, " ")
		}
		switch {
		case word != "":
			given[a.Name] = word
		case a.Required:
			return nil, fmt.Errorf("the argument %s is missing: /NAME %s", a.Name, usage(p))
		}
	}
	return given, nil
}
