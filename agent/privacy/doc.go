// Package privacy decides what a session keeps of its models' thinking. Everything in it is pure.
//
// A session has one [provider.ThinkingStorage] from its start to its end, and so have its forks. It binds two things:
//
//   - which models the session may call ([Check]): each call of a turn, a summary or a side question is checked with it, also after a
//     change of the model, a fallback, or a continuation;
//   - what goes into its log ([Kept], [Checkpointed]): the log is the only source of the history, of exports, backups and searches, and of
//     what models get back. So nothing else has to know.
//
// What a model thinks is published while it comes, whatever is kept of it.
//
// Inside the package, files depend in one direction: choices, kept.
package privacy
