// Package media decides which media a prompt may have, and makes images small enough for a model.
//
// [Describe] reads the headers of what a user or a tool shows: its type, its size in pixels, how long it plays. [Check] refuses what a
// model does not take, before anything is stored or sent, with an [Error] that names the model, the kind, and a model that takes it.
// Both look at headers only, and are pure.
//
// The log has images as they came. A [Scaler] makes those of a request smaller that are beyond a limit of its model, so another model
// gets the original. It decodes one image at once, keeps what it made, and is safe for concurrent use. It makes the same bytes each
// time: the prefix of a conversation stays as it is.
//
// A limit that no row states is not known, and nothing is refused or made smaller for it.
//
// Inside the package, files depend in one direction: scale and check, error, bounds.
package media
