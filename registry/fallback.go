package registry

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/thinkd/thinkd/provider"
)

// FallbackModel is a model to call if another one cannot be called, as the config and clients write it.
type FallbackModel struct {
	Model string         `json:"model_id" toml:"model"`                          // for [Catalog.Find]
	Level provider.Level `json:"thinking_level,omitempty" toml:"thinking_level"` // empty: as for every other model
	Key   string         `json:"key,omitempty" toml:"key"`                       // the name of a key of the provider; empty: its first
}

// MaxFallbacks is the largest number of fallbacks of a session.
const MaxFallbacks = 10

// CheckFallbacks returns what is wrong with a list, except for its models. Errors are *[OverrideError], whose field begins with the
// index.
func CheckFallbacks(list []FallbackModel) error {
	if len(list) > MaxFallbacks {
		return &OverrideError{"fallbacks", fmt.Errorf("has %d models; the limit is %d", len(list), MaxFallbacks)}
	}
	for i, f := range list {
		at := fmt.Sprintf("fallbacks.%d.", i)
		if f.Model == "" {
			return &OverrideError{at + "model", fmt.Errorf("is missing")}
		}
		if f.Level != "" {
			if _, err := provider.ParseLevel(string(f.Level)); err != nil {
				return &OverrideError{at + "thinking_level", err}
			}
		}
		if f.Key != "" {
			if err := CheckKeyName(f.Key); err != nil {
				return &OverrideError{at + "key", err}
			}
		}
	}
	return nil
}

// CheckKeyName returns the reason why a word cannot be the name of a key, or nil.
func CheckKeyName(word string) error {
	if !keyName().MatchString(word) {
		return fmt.Errorf("the name of a key has letters, digits, dots, dashes and underscores, at most 32, and is not a key")
	}
	return nil
}

var keyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`) })
