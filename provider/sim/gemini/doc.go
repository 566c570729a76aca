// Package gemini is the simulator's face for Google's generateContent: the verbs of a model and the list of models below
// /v1beta/models.
//
// It refuses what Google refuses, in particular a call without its thought signature.
//
// Inside the package, files depend in one direction: errors and models at the bottom, then the request, its rules, the
// answer, and face at the top.
package gemini
