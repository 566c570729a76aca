// Package suspect finds what of a conversation may be the reason why a provider refuses a request.
//
// A provider may refuse a request because of something in the history: an image that it cannot read, a result that its filter
// blocks, a block of another model. The history goes with every request, so without help every later turn fails as well. This is
// the net below the repairs: it works without understanding the refusal.
//
//	accepted request | reply  result  prompt        <- refused
//	                 |<----- the suspects ----->|
//
// The suspects are what was added since the last request that the provider accepted, if that request was for the same model and
// level, at the same address: another host may refuse what this one accepted. Within the turn, the agent repeats the call without
// some of the suspects, in this order: first with a sentence in place of media and results, then without what is before the
// turn's own prompt. What helps is stored in the log as a session.LeftOut, at the first sign that the provider accepted the
// request. If nothing helps, the turn ends with the provider's error, and its own suspects are left out of later requests to
// this model.
//
// Nothing is left out after a refusal that names the model, the endpoint, the account or a parameter, because the history did not
// cause it. The same holds for a refusal without an accepted request before it. There is one exception: if the turn before was
// refused as well, and nothing was accepted since, the turn tries once without that turn, whatever reason the provider gives. A
// session must not get stuck, and a call that then succeeds is proof enough.
package suspect
