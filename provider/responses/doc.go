// Package responses is the adapter for OpenAI's Responses API, which other hosts offer too.
//
// An answer consists of items, and an item of parts, such as a paragraph of a summary or a piece of a message. Each part is a
// block. The last block of an item has the whole item as its State, exactly as it arrived. Earlier blocks have their own
// part. The next request returns whole items.
//
// Encrypted thinking is valid for the account and the host that made it, whatever the model is, unless the [Host] has another
// rule. Thinking from elsewhere is left out and counted. A reasoning item and the item after it belong together: a request has
// both or neither. [docs: reasoning] If the reasoning cannot be returned, the item after it loses its id, because the server
// would look for the reasoning.
//
// The vendor stores nothing: each request contains the whole conversation, and asks for encrypted content.
//
// The adapter tolerates faults in an answer. It identifies items by output_index, because one host gives an item a new id in
// each event. An answer is complete only after its last event. If it ends earlier, the open blocks get no End.
//
// Facts are from the vendors' documentation. "docs: x" names a page of OpenAI unless it names another vendor.
//
// Inside the package, files depend in one direction: stream, seal, responses, item, failure and reply; then listing, request, history, user,
// cache, control, effort, api and host.
package responses
