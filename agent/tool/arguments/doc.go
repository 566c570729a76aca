// Package arguments checks the arguments of a tool call against the schema of the tool.
//
// Schemas come from anybody and arguments from models, so a check is bounded: it takes at most about a second, loads no other
// document, and never panics.
//
// Inside the package, files depend in one direction: cost, check.
package arguments
