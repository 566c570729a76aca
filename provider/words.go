package provider

import "slices"

// Worded is a type of fixed words, such as [Level]. Its method Words lists all of them: the protocol's schema and the
// types of its clients come from that list.
type Worded interface{ Words() []string }

// Words returns a list of words as text, for the method of that name.
func Words[T ~string](list ...T) []string {
	text := make([]string, len(list))
	for i, word := range list {
		text[i] = string(word)
	}
	return text
}

// IsWord reports whether a word is one of its type's.
func IsWord[T interface {
	~string
	Worded
}](word T) bool {
	return slices.Contains(word.Words(), string(word))
}
