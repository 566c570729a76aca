package conn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// Dialled is the other end of [AcceptWebSocket]: the frames of a client. One goroutine reads and one writes.
type Dialled struct {
	ws   *websocket.Conn
	ctx  context.Context // of reads and writes
	stop context.CancelFunc
}

// ErrUnauthorized says that the daemon does not take the token.
var ErrUnauthorized = errors.New("the daemon does not take the token")

// unauthorized is an error that is ErrUnauthorized, with the daemon's words.
type unauthorized struct{ error }

func (u *unauthorized) Is(target error) bool { return target == ErrUnauthorized }

// DialWebSocket connects to a daemon at a URL of the scheme http or https, and offers subprotocols. Redirects are not followed, because a
// token is among the subprotocols. A message has at most limit bytes. An error has the reason that the daemon gave;
// it is ErrUnauthorized for a token that the daemon does not take.
func DialWebSocket(ctx context.Context, url string, subprotocols []string, limit int) (*Dialled, error) {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	ws, response, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: client, Subprotocols: subprotocols, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		const most = 1 << 10
		if response != nil && response.Body != nil {
			if reason, readErr := io.ReadAll(io.LimitReader(response.Body, most)); readErr == nil && response.StatusCode >= 300 {
				err := fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(reason)))
				if response.StatusCode == http.StatusUnauthorized {
					err = &unauthorized{err}
				}
				return nil, err
			}
		}
		return nil, err // the library does not name the subprotocols
	}
	ws.SetReadLimit(int64(limit))
	d := &Dialled{ws: ws}
	d.ctx, d.stop = context.WithCancel(context.Background())
	return d, nil
}

// Read is that of [Frames]. The error of a connection that the daemon closed has its reason.
func (d *Dialled) Read() ([]byte, error) {
	_, message, err := d.ws.Read(d.ctx)
	if closed, ok := errors.AsType[websocket.CloseError](err); ok {
		if closed.Reason == "" {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("the daemon closed the connection: %s", closed.Reason)
	}
	if err != nil && d.ctx.Err() != nil {
		return nil, io.ErrClosedPipe
	}
	return message, err
}

// Write is that of [Frames].
func (d *Dialled) Write(messages [][]byte) error {
	for _, m := range messages {
		if err := d.ws.Write(d.ctx, websocket.MessageText, m); err != nil {
			return err
		}
	}
	return nil
}

// Close is that of [Frames].
func (d *Dialled) Close(error) error {
	d.stop()
	return d.ws.CloseNow()
}
