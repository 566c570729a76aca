// Package chat is the simulator's face for Chat Completions of many hosts: /HOST/chat/completions and /HOST/models, and the
// lists of LM Studio and llama.cpp. Without a host in the path, the header X-Sim-Dialect names it; otherwise it is OpenAI.
//
// A host is a row of a table. What the row says about a request is checked; what it says about an answer is how answers
// come.
//
// Inside the package, files depend in one direction: errors and host at the bottom, then the request, its rules, the
// answer, and face on top.
package chat
