// Package ollama is the adapter for Ollama's native chat API.
//
// This API signs nothing. Requests return earlier thinking verbatim with every message, and the server's renderer selects
// what the model sees. Full thinking of other vendors is sent too, and is counted as converted; summaries are not. Thinking
// never becomes a part of the answer's text. [docs: thinking, tool-calling]
//
// If a prompt does not fit, the server would silently drop the oldest messages. The adapter forbids that. It always requests
// the same window, because a different one would load the model again. [docs: context-length]
//
// If thinking is off, a model whose template cannot switch it off writes tags into the text. The adapter looks for tags until
// thinking arrives in its own member. If only a closing tag shows that a text was thinking, that text was published already.
// From then on, the adapter treats the beginning of that model's text as thinking.
//
// Facts are from the vendor's documentation and source. "docs: x" names the page.
//
// Inside the package, files depend in one direction: stream, ollama, request, models, history and api.
package ollama
