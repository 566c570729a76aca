package conn

import (
	"errors"
	"fmt"
	"time"
)

// Frames is a connection as a sequence of messages: it knows how messages lie in the bytes, and nothing of what they
// say. One goroutine reads, one writes, any may close.
type Frames interface {
	// Read returns the next message. It is not empty and not checked, and valid until the next Read. An *[Error] is for the
	// client, and the next Read goes on behind what was wrong. Any other error ends the connection; io.EOF: the client
	// ended it.
	Read() ([]byte, error)

	// Write sends messages in order, in as few writes as their sizes allow. It changes none of them: they are shared
	// between connections. [ErrStalled] says that the client took nothing for ten seconds.
	Write(messages [][]byte) error

	// Close ends the connection, a Read or Write under way too. A framing that can say why tells the client the cause:
	// io.EOF, one of the errors below, or the cause of a context. Closing twice is harmless.
	Close(cause error) error
}

// Why a connection ends, if neither its client nor a failure of the network ended it.
var (
	ErrGone      = errors.New("the client disconnected")
	ErrStalled   = errors.New("the client took nothing for " + stallLimit.String())
	ErrMalformed = fmt.Errorf("%d malformed messages in a row", MaxMalformed)

	// ErrClosing is the cause of a context that ends because the daemon does.
	ErrClosing = errors.New("the daemon is shutting down")

	// ErrRevoked is the cause of a context that ends because the client's token is void. Nothing more is sent to it.
	ErrRevoked = errors.New("the token was replaced")

	// ErrUnconfirmed is the cause of a context that ends because this node of a cluster cannot learn whether the client's token is void.
	ErrUnconfirmed = errors.New("this node cannot confirm the token at the moment: use another node, or try again")

	// ErrExpired is an ErrRevoked for a token whose time is over.
	ErrExpired error = expired{}
)

type expired struct{}

func (expired) Error() string        { return "the token has expired" }
func (expired) Is(target error) bool { return target == ErrRevoked }

// MaxMalformed is how many malformed messages in a row end a connection.
const MaxMalformed = 20

const (
	// stallLimit is how long a client may take nothing.
	stallLimit = 10 * time.Second

	// pieceSize is what a client has to take in that time: a write that the system splits shows no progress before
	// it is whole, so that large messages are written in pieces.
	pieceSize = 16 << 10

	// revokeLimit is how long a write under way may take, and then the close, if the client's token is void: together
	// with the search for a new token, the client is gone within a second.
	revokeLimit = 250 * time.Millisecond

	// Buffers are small and not kept when they have grown: most connections are idle most of the time.
	readBuffer = 4 << 10
	keepBuffer = 8 << 10
)
