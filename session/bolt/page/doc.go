// Package page reads the file of a bbolt database without bbolt.
//
// bbolt maps its file into memory and trusts it. On a damaged page it panics, faults, or follows a ring of branches until the
// stack ends the process. An open for writing may even write to pages that are in use. So session/bolt reads with this package
// whatever bbolt is to read, and lets bbolt open only what was found sound.
//
// A [File] has pages. A tree of pages is a bucket, and its [Item]s are values or buckets. A [Use] has a bit for each page: a
// walk takes the pages that it visits, and a page that is taken twice is damage.
//
// Guarantees:
//
//   - any bytes at all give items or an error: never a panic, an endless loop, or a read outside of the file's pages;
//   - a walk checks more than bbolt does: each page is exactly as bbolt writes it, with no gap between its items and with keys
//     in order, so that a wrong count or length shows;
//   - nothing is ever written.
//
// The format is that of bbolt's version 2 pages (go.etcd.io/bbolt/internal/common), in the byte order of the machine.
//
// A File belongs to one goroutine; [File.Clone] gives another one its own. Only session/bolt uses this package.
package page
