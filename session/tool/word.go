package tool

import (
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// readWord reads one of a type's words.
func readWord[T interface {
	~string
	provider.Worded
}](text []byte) (T, error) {
	word := T(text)
	if !provider.IsWord(word) {
		return "", fmt.Errorf("%q is not one of %s", text, strings.Join(word.Words(), ", "))
	}
	return word, nil
}
