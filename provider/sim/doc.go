// Package sim is a strict stand-in for model APIs, served over HTTP.
//
// A [Server] checks what the vendor checks, and answers with the vendor's status, error format and the stable parts of
// its texts. It signs thinking with an HMAC over the data that the vendor's rule binds. So it refuses a changed, reordered
// or misplaced block as the vendor would. The signature contains everything that the check needs: the server stores no
// conversation, and after a restart it accepts what it signed before. For Messages and Responses it keeps a prompt cache
// by the vendors' rules, as digests. The other vendors document no rules that could be imitated.
//
// An answer depends only on the request: the same request gets the same answer, except for the counts of its cache. An
// [Answer] requests anything else: tests queue them with [Server.Script], and clients write a marker into the prompt
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
// models. It takes the way of a request from here: [Check], then [Exchange.Answer].
//
//	request -> Face.Claim -> Face.Serve -> Check (body, rules) -> Exchange.Answer (marker, script, faults) -> Reply -> Player
//
// The tables of models are the simulator's own on purpose: a judge who reads the rules in the defendant's notes finds no
// mistake. Nothing of the project outside of this folder is imported.
package sim
