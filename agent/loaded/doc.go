// Package loaded knows which sessions use which models of servers that load models for calls, such as Ollama.
//
// A session may ask the server to keep its model after a call. When the last session that uses the model has ended, the model is
// unloaded, if a call before left it to stay.
package loaded
