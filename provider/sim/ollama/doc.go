// Package ollama is the simulator's face for Ollama's own API below /api.
//
// As Ollama does, it drops members that it does not know, and it cuts a conversation to the window without a word.
//
// Inside the package, files depend in one direction: errors and models at the bottom, then loaded, the request with its rules, the
// answer, and face on top.
package ollama
