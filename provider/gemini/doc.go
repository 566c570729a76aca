// Package gemini is the adapter for Google's generateContent, streamed and whole.
//
// The vendor's parts have no end: text arrives in pieces, and a signature belongs to a piece. A block is a run of parts of one
// kind. Its State is the list of its parts as they arrived. Only texts without other members are joined. The next request
// returns the list part by part, so that each thought signature is on its own part, even if the text of that part is empty.
// [docs: thought-signatures] Signatures are never decoded.
//
// Summaries of thinking are for people and are not returned. The signatures contain the thinking. If a request needs a
// signature and the model would accept none of those present, the documented bypass takes its place.
//
// An answer may take several requests. The newest models stop at the limit of a request, and the adapter asks them to
// continue. It resumes a broken stream at its last checkpoint, unless the continuation differs from content that was
// published. An answer is complete at the end of its body after a finish reason.
//
// Facts are from the vendor's documentation. "docs: x" names its page, and "SDK" is google.golang.org/genai.
//
// Inside the package, files depend in one direction: whole, stream, next, media, run, sources and reply; then listing, gemini, request, hops,
// history, ending and api.
package gemini
