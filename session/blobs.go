package session

import "errors"

// Blobs keeps the images and documents that logs refer to, each once, under the SHA-256 of its bytes in lower-case hexadecimal.
// It is safe for concurrent use. [Store] and Blobs are apart: an entry that refers to a blob is appended after Keep has returned.
type Blobs interface {
	// Keep makes sure that data is there, durably, and returns its name. An error is ErrReadOnly. What no log refers to may be
	// removed later, but not within a minute.
	Keep(data []byte) (hash string, err error)

	// Read is what was kept under a name, checked against it. An error is ErrBlob.
	Read(hash string) ([]byte, error)

	// Forget is called before a session is deleted: what only its log refers to may be removed from then on. After an error
	// it stays until the next call.
	Forget() error
}

// ErrBlob says that a blob is missing or damaged.
var ErrBlob = errors.New("an image or a document is missing or damaged")
