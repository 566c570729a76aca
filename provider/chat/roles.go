package chat

import (
	"slices"
	"strings"
)

// What is put between two messages that a host refuses side by side. The model has said neither.
const (
	goneOn = "OK."    // of the model, between what a tool returned and what a user says
	goOn   = "Go on." // of a user, between two answers
)

// strictTemplates are models whose chat templates refuse two messages of one role in a row, whoever serves them. Mistral's
// also refuse a user directly after a tool (error 3230).
var strictTemplates = []string{"mistral", "ministral", "magistral", "codestral", "devstral", "pixtral", "gemma"}

// alternates reports whether users and the assistant have to take turns.
func (d *Dialect) alternates(model string) bool {
	model = strings.ToLower(model)
	return d.Message.Alternate || slices.ContainsFunc(strictTemplates, func(name string) bool { return strings.Contains(model, name) })
}

// alternate has users and the assistant take turns: what a user says in several messages becomes one, and a sentence
// stands where two answers, or a tool and a user, would meet. It looks only backwards, so a message that follows changes
// nothing before what the user said last.
func alternate(list []tree) []tree {
	out := []tree{}
	for _, m := range list {
		before := ""
		if len(out) > 0 {
			before, _ = out[len(out)-1]["role"].(string)
		}
		switch role := m["role"]; {
		case role == "user" && before == "user":
			last := out[len(out)-1]
			out[len(out)-1] = tree{"role": "user", "content": joined(last["content"], m["content"])}
			continue
		case role == "user" && before == "tool":
			out = append(out, tree{"role": "assistant", "content": goneOn})
		case role == "assistant" && before == "assistant":
			out = append(out, tree{"role": "user", "content": goOn})
		}
		out = append(out, m)
	}
	return out
}

// joined is what a user says in two messages: a string, or parts where one of them has any.
func joined(first, second any) any {
	a, plain := first.(string)
	b, too := second.(string)
	if plain && too {
		return a + "\n\n" + b
	}
	return append(slices.Clone(partsOf(first)), partsOf(second)...)
}

func partsOf(content any) []tree {
	if text, ok := content.(string); ok {
		return []tree{{"type": "text", "text": text}}
	}
	parts, _ := content.([]tree)
	return parts
}
