// Package sim is a strict stand-in for model APIs, served over HTTP.
//
// A [Server] checks what the vendor checks. It answers with the vendor's status, error format and the stable parts of its
// texts. It signs thinking with an HMAC over the data that the vendor's rule binds, so it refuses a changed, reordered or
// misplaced block as the vendor would. The signature contains everything that the check needs: the server stores no
// conversation, and after a restart it accepts what it signed before. For Messages and Responses it imitates the prompt
// cache by the vendors' rules, and stores only digests. The other vendors document no rules that could be imitated.
//
// An answer depends only on the request: equal requests get equal answers, except for the counts of cached tokens. An
// [Answer] describes any other one. Tests queue answers with [Server.Script]. Clients write a marker into the prompt
// ([Help]).
//
// Faults happen on the real HTTP stack: a cut is a broken connection, a stall is silence. A waiting answer ends as soon as
// its client disconnects, and a handler starts no goroutine.
//
// # Faces
//
// This package knows no API. Each wire API is a [Face] in a package of its own below this one. It registers itself when
// it is imported; package faces imports all of them. A request that no face claims is refused with status 501 and the
// name of the missing import. A face contains the API's checks, its words, the form of its answers and its table of
// models. It gets the steps of a request from here: [Check], then [Exchange.Answer].
//
//	request -> Face.Claim -> Face.Serve -> Check (body, rules) -> Exchange.Answer (marker, script, faults) -> Reply -> Player
//
// The simulator has tables of models of its own, and imports nothing of the project outside of this folder. Otherwise a
// wrong fact in an adapter would be wrong in its test as well.
//
// Inside the package, files depend in one direction: serve, listen, help, face, answer, exchange, server, sign, dialect, play,
// example, cache, compose, media, marker, script, journal, fault.
package sim
