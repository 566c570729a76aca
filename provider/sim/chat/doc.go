// Package chat is the simulator's face for the Chat Completions of many hosts: /HOST/chat/completions, /HOST/models, and the lists
// of LM Studio and llama.cpp. If the path names no host, the header X-Sim-Dialect does; without both, the host is OpenAI.
//
// A host is a row of a table. The row has the rules that a request must keep, and the form of the answers.
//
// Inside the package, files depend in one direction: errors and host at the bottom, then the request, its rules, the
// answer, and face at the top.
package chat
