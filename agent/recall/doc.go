// Package recall searches the part of a conversation that a summary replaces, for the model that has only the summary.
//
// [Search] ranks messages by the words that they have, a rare word before a common one, and quotes the place with most of them. With
// the id of a message it quotes that message, in parts if it is long. It reads texts, calls of tools and their results, never
// thinking. It is deterministic, and its answer is bounded whatever the messages are.
//
// Inside the package, files depend in one direction: text, search.
package recall
