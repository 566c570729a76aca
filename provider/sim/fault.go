package sim

// Fault is a failure to play. Its values are words of the marker.
type Fault string

const (
	// Refusals: an HTTP status, or, with After, an error in mid-stream.
	FaultRateLimit  Fault = "rate_limit" // 429 with a Retry-After header
	FaultSpendCap   Fault = "spend_cap"  // 429 without it
	FaultOverloaded Fault = "overloaded"
	FaultServer     Fault = "server_error"
	FaultTimeout    Fault = "timeout"
	FaultConflict   Fault = "conflict"
	FaultBadRequest Fault = "bad_request"
	FaultAuth       Fault = "auth"
	FaultPermission Fault = "permission"
	FaultBilling    Fault = "billing"
	FaultNotFound   Fault = "not_found"
	FaultTooLarge   Fault = "too_large"

	// Faults of a stream.
	FaultCut      Fault = "cut"      // the connection breaks
	FaultEnd      Fault = "end"      // the body ends properly before the answer is complete
	FaultStall    Fault = "stall"    // nothing more is sent; without After, not even the header
	FaultPings    Fault = "pings"    // only pings follow
	FaultComments Fault = "comments" // only comments follow
	FaultNoise    Fault = "noise"    // unknown events, unknown deltas and comments between the known ones, as the APIs allow

	// Complete answers in an unusual form.
	FaultNoLastEvent Fault = "no_last_event" // the finish reason comes, but not [DONE] or message_stop
	FaultMislabelled Fault = "mislabelled"   // a stream with the Content-Type application/json, after blank lines
	FaultCallIDs     Fault = "call_ids"      // each piece of a tool call has a different id

	// Complete answers in an unusual form, over Chat Completions only.
	FaultDetailsAlone     Fault = "details_alone"     // thinking in reasoning_details next to empty content (Snowflake)
	FaultNoFinishReason   Fault = "no_finish_reason"  // [DONE] without a finish reason, as from a gateway that lost its host
	FaultMessageSignature Fault = "message_signature" // the signature is on the message, and calls have no id (Google's compatible endpoint)

	// Answers to a request for a stream that are not the stream.
	FaultWhole    Fault = "whole"      // the whole answer as one JSON value
	FaultHTML     Fault = "html"       // a web page with status 200
	FaultJSON     Fault = "json_error" // an error with status 200
	FaultEmpty    Fault = "empty"      // an empty body with status 200
	FaultGzip     Fault = "gzip"       // compressed, although the client did not offer to accept that
	FaultBomb     Fault = "gzip_bomb"  // compressed; inflates to 4 GiB
	FaultRedirect Fault = "redirect"   // 307 to another host

	// Endless answers.
	FaultEndlessThinking Fault = "endless_thinking"
	FaultEndlessText     Fault = "endless_text"
)

// faults are all words that a marker accepts for fault=. Never written.
var faults = []Fault{
	FaultRateLimit, FaultSpendCap, FaultOverloaded, FaultServer, FaultTimeout, FaultConflict, FaultBadRequest, FaultAuth,
	FaultPermission, FaultBilling, FaultNotFound, FaultTooLarge, FaultCut, FaultEnd, FaultStall, FaultPings,
	FaultComments, FaultNoise, FaultNoLastEvent, FaultMislabelled, FaultCallIDs, FaultDetailsAlone, FaultMessageSignature, FaultNoFinishReason, FaultWhole, FaultHTML, FaultJSON, FaultEmpty, FaultGzip, FaultBomb, FaultRedirect,
	FaultEndlessThinking, FaultEndlessText,
}

// Refuses reports whether the vendor reports f by an HTTP status or an error event.
func (f Fault) Refuses() bool {
	switch f {
	case FaultRateLimit, FaultSpendCap, FaultOverloaded, FaultServer, FaultTimeout, FaultConflict, FaultBadRequest,
		FaultAuth, FaultPermission, FaultBilling, FaultNotFound, FaultTooLarge:
		return true
	}
	return false
}

// Breaks reports whether f ends an answer after [Answer].After deltas.
func (f Fault) Breaks() bool {
	return f.Refuses() || f == FaultCut || f == FaultEnd || f == FaultStall
}
