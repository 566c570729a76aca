// Package ollama is the simulator's face for Ollama's own API below /api.
//
// Like Ollama, it ignores unknown members, and silently cuts a conversation to the window.
//
// Inside the package, files depend in one direction: errors and models at the bottom, then loaded, the request with its rules, the
// answer, and face at the top.
package ollama
