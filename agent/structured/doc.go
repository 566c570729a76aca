// Package structured asks a model for an answer in JSON where its API has no parameter for that, and checks answers.
//
// [Ask] adds a tool to a request whose arguments are the answer, and [Read] turns a call of this tool into a text, so the tool
// is visible nowhere else: the log, clients and later requests have an answer like any other. [Check] compares an answer with the schema.
//
// Guarantees:
//
//   - a call of the tool is never run, and never has a result;
//   - Read passes on everything else as it comes, and keeps the contract of [provider.Provider];
//   - Check is pure, and takes at most about a second.
//
// Inside the package, files depend in one direction: check, tool.
package structured
