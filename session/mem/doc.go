// Package mem is a [session.Store] in memory, for tests and for conversations that must leave nothing behind.
//
// It keeps the same JSON as session/bolt, so that what it returns has been encoded and decoded as well. It is safe for
// concurrent use. A checkpoint is stored at once. Nothing survives the process.
package mem
