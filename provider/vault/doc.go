// Package vault encrypts values that are kept on disk, such as the keys of providers.
//
//	key file or command ──► master keys ──wrap──► data key ──AES-256-GCM──► text
//
// Each value has a random data key of its own, which is stored next to the text, wrapped by a master key. The master key is not stored: it comes
// from a file or a command of the operator. Without it, what is stored is lost.
//
// Guarantees:
//
//   - No byte of a text or of a data key is written unencrypted. What an earlier start wrote in plain text is encrypted by [Seal].
//   - A text that was changed, or that belongs to a value of another name, is an error and never a text.
//   - A value that is wrapped by an older master key is encrypted again, with a new data key, as soon as it is opened.
//
// Inside the package, files depend in one direction: table, value, master, secret.
package vault
