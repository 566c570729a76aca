// Package ollama is the simulator's face for Ollama's own API below /api.
//
// As Ollama does, it drops members that it does not know, and it cuts a conversation to the window without a word.
package ollama
