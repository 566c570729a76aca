// Package transcript turns the log of a session into what a model is sent.
//
// A [Recipient] is a model with a view of the log. [Recipient.Messages] is the conversation as that model gets it, and
// [Recipient.Plan] the text that it gets to summarise.
//
// # Prompt caches
//
// A vendor keeps the prefix of a request in a cache, and bills it at a tenth of the price if the next request begins with the same
// bytes. Some vendors also bind signed thinking to the bytes before it. Therefore:
//
//   - Messages is a pure function of the log. The log is only appended to, so each request of a session begins with the bytes of
//     the request before it.
//   - What would change the prefix is an entry of the log: a repair of the history, a message that a provider refused, a
//     compaction. The prefix changes once, at that entry, and the same way in every later request.
//   - A change of the thinking level leaves the prefix alone if the vendor takes the change within the conversation. Then the first
//     level stays at the start, and each change stands in front of the turn that made it (course.go). Otherwise the vendor's
//     adapter knows whether its cache depends on the level (provider.CacheOf).
//   - Package agent compares each turn with the one before and tells people when the cache is lost, and why, before it costs
//     money (decide.go, cached).
//
// A Recipient is used by one goroutine, that of the session. LoadMedia reads files: it runs in the goroutine of the call.
//
// Inside the package, files depend in one direction: text and media, recipient says what a model does not get, course follows the
// level, continue decides on unfinished turns, pinned keeps messages in addition to a summary, passage and conversation are the results.
package transcript
