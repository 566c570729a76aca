package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Inputs are what a config is made of: the document and the variables of the environment that were looked at. Equal inputs give
// equal configs, so that two processes compare their configs by a sum, and look for the difference only where the sums differ.
type Inputs struct {
	Sum       string   // see [Sum]
	Variables []string // sorted

	// Facts is a digest of each value: by key of the document, and by variable that is set. The digest of a value that may be a
	// secret begins with [secretMark]. Digests are for commands of the same user only.
	Facts map[string]string
}

// Sum is the sum of a document and variables. There are keys among the values, so it is for commands of the same user only.
func Sum(doc []byte, variables []string, getenv func(string) string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d %s", len(doc), doc)
	for _, name := range variables {
		fmt.Fprintf(h, "\n%s=%q", name, getenv(name))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// recorder remembers which variables are looked at.
type recorder struct {
	getenv func(string) string
	asked  []string
}

func (r *recorder) get(name string) string {
	r.asked = append(r.asked, name)
	return r.getenv(name)
}

// inputs are those that have been looked at so far. secret names the variables that hold keys.
func (r *recorder) inputs(doc []byte, secret []string) Inputs {
	slices.Sort(r.asked)
	in := Inputs{Variables: slices.Compact(r.asked), Facts: make(map[string]string)}
	in.Sum = Sum(doc, in.Variables, r.getenv)
	for _, name := range in.Variables {
		if value := r.getenv(name); value != "" {
			in.Facts[name] = digest(value, slices.Contains(secret, name))
		}
	}
	var document map[string]any
	if toml.Unmarshal(doc, &document) == nil { // else the config is an error as well
		in.addTable("", document)
	}
	return in
}

func (in Inputs) addTable(prefix string, table map[string]any) {
	for name, value := range table {
		key := prefix + strings.ToLower(name)
		if inner, ok := value.(map[string]any); ok {
			in.addTable(key+".", inner)
			continue
		}
		in.Facts[key] = digest(fmt.Sprintf("%T %v", value, value), strings.Contains(key, ".headers.") || strings.Contains(key, ".env."))
	}
}

// secretMark begins the digest of a value that may be a secret.
const secretMark = "secret "

func digest(value string, secret bool) string {
	sum := sha256.Sum256([]byte(value))
	text := hex.EncodeToString(sum[:4])
	if secret {
		return secretMark + text
	}
	return text
}

// Difference is a key of the config file, or a variable of the environment, whose value is not the same in two configs.
type Difference struct {
	Name   string
	Secret bool // both have a value, and it may be a secret
}

// Compare lists the differences between two configs by their [Inputs.Facts], sorted by name.
func Compare(a, b map[string]string) []Difference {
	var list []Difference
	for name, value := range a {
		if other, ok := b[name]; !ok {
			list = append(list, Difference{Name: name})
		} else if other != value {
			list = append(list, Difference{name, strings.HasPrefix(value, secretMark) && strings.HasPrefix(other, secretMark)})
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			list = append(list, Difference{Name: name})
		}
	}
	slices.SortFunc(list, func(a, b Difference) int { return strings.Compare(a.Name, b.Name) })
	return list
}
