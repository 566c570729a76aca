package config

import (
	"regexp"
	"strings"
	"sync"
)

// variableName takes the empty word, for a provider that needs no key.
var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)?$`) })

func variable(getenv func(string) string, name string) string {
	if name == "" {
		return ""
	}
	return strings.TrimSpace(getenv(name))
}
