// Package wire writes the JSON that clients get of sessions, messages and updates.
//
// Guarantees:
//
//   - Nothing has a vendor's state, and no opaque block is shown: all blocks are written by one function.
//   - An [Encoder] keeps to its limit. What does not fit is cut, and says so. Media are read from the blobs as far as there is
//     room.
//   - Lists that the protocol declares are never null.
//
// Everything here is safe for concurrent use, and waits for nothing but a read of a blob.
//
// Inside the package, files depend in one direction: update, encoder, tool, types and media.
package wire
