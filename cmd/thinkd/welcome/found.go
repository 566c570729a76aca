package welcome

import (
	"fmt"
	"slices"
	"strings"
)

// account is an entry of auth/status.
type account struct {
	Provider string
	State    string // ready, missing, refused or not_needed
	Source   string // environment, keys or login
	Login    bool   // auth/login is available
}

// model is an entry of models/list.
type model struct {
	Provider  string
	Available bool
	Why       string // it is not available
}

// simulator is the provider inside the daemon, which is always there.
const simulator = "sim"

// found is what thinkd can use, and what it could.
type found struct {
	usable   []line
	unusable []line // has a key, and cannot be called
	offers   []account
}

// A line has a provider, and what is known about it.
type line struct{ provider, about string }

// look sorts the providers. A provider is usable if one of its models is.
func look(accounts []account, models []model) found {
	available, why := make(map[string]int), make(map[string]string)
	for _, m := range models {
		if m.Available {
			available[m.Provider]++
		} else if why[m.Provider] == "" {
			why[m.Provider] = m.Why
		}
	}
	var f found
	for _, a := range accounts {
		n := available[a.Provider]
		switch {
		case a.Provider == simulator:
		case a.State == "not_needed":
			if n > 0 {
				f.usable = append(f.usable, line{a.Provider, "a server without a key, " + count(n)})
			}
		case a.State != "ready":
			f.offers = append(f.offers, a)
		case n > 0:
			f.usable = append(f.usable, line{a.Provider, source(a.Source)})
		default:
			f.unusable = append(f.unusable, line{a.Provider, strings.TrimSuffix(source(a.Source)+", but: "+why[a.Provider], ", but: ")})
		}
	}
	return f
}

func count(models int) string {
	if models == 1 {
		return "1 model"
	}
	return fmt.Sprintf("%d models", models)
}

func source(word string) string {
	switch word {
	case "environment":
		return "a key in the environment"
	case "keys":
		return "a stored key"
	}
	return "a login"
}

// table lists providers, one in each row.
func table(lines []line) string {
	width := 0
	for _, l := range lines {
		width = max(width, len(l.provider))
	}
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, l.provider, l.about)
	}
	return b.String()
}

// offered returns the provider with this name.
func (f found) offered(name string) (account, bool) {
	i := slices.IndexFunc(f.offers, func(a account) bool { return a.Provider == name })
	if i < 0 {
		return account{}, false
	}
	return f.offers[i], true
}

// names lists the providers that take a key or a login, in rows of at most 78 characters.
func (f found) names() string {
	var b strings.Builder
	row := ""
	for i, a := range f.offers {
		word := a.Provider
		if a.Login {
			word += " (login)"
		}
		if i < len(f.offers)-1 {
			word += ", "
		}
		if row != "" && len(row)+len(word) > 76 {
			b.WriteString("  " + strings.TrimRight(row, " ") + "\n")
			row = ""
		}
		row += word
	}
	if row != "" {
		b.WriteString("  " + row + "\n")
	}
	return b.String()
}
