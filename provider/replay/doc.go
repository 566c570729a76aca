// Package replay makes an earlier conversation fit for a request.
//
// A conversation has answers of several vendors, and each vendor refuses some of what others write: names of tools, ids of
// calls, empty texts, kinds of media. The functions here replace it. They are pure, and an adapter applies them from the
// first request on: the bytes of a prefix never change between two calls, so the vendor's prompt cache keeps them.
//
// Inside the package, media uses newest and file, newest uses file, and names uses text; no other file uses another. foreign has the rules for thinking after a change of model.
package replay
