package session

import "errors"

// Blobs keeps the images and documents that logs refer to, each once, under the SHA-256 of its bytes in lower-case hexadecimal.
// It is safe for concurrent use. All methods wait for a disk or a network, and return an error within seconds if that does not answer.
//
// Blobs has no part in the commits of a [Store]: an entry that refers to a blob is appended after Keep has returned. So a blob
// without an entry is normal, and an entry without its blob is damage.
//
// Blobs knows no owners. A caller reads a name that it found in a log, and a [Store] returns the logs of one owner only. Nobody can
// guess the name of data that they do not have.
type Blobs interface {
	// Keep makes sure that data is there, durably, and returns its name. It does not keep a reference to data.
	// If the same data is there already, Keep checks it and stores it again if it is damaged. An error is ErrReadOnly.
	// Data that no log refers to may be removed later, but not within a minute after Keep returned.
	Keep(data []byte) (hash string, err error)

	// Read returns the blob with a name, checked against that name. The caller must not change it. The error is ErrBlob if the blob is
	// missing, damaged or cannot be read, and if hash is not a name.
	Read(hash string) ([]byte, error)

	// Forget is called before a session of any owner is deleted. From then on, data that no log refers to may be removed. Forget does not
	// wait for the removal. After an error nothing is removed until the next call.
	Forget() error
}

// ErrBlob says that a blob is missing or damaged.
var ErrBlob = errors.New("an image or a document is missing or damaged")
