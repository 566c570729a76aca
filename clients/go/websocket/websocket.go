// Package websocket connects clients to `thinkd serve`.
package websocket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/coder/websocket"

	thinkd "github.com/thinkd/thinkd/clients/go"
)

const (
	// tokenReplaced is the close code after which the daemon refuses the same token again.
	tokenReplaced = 4001

	messageLimit = 64 << 20 // The daemon sends at most 8 MiB, unless its operator has set more.
)

// Dial returns a transport to the page's address, which `thinkd serve` prints, with a token. The token may be part of the address, after
// #token=; then the second argument is empty.
func Dial(page, token string) (thinkd.Transport, error) {
	u, err := url.Parse(page)
	if err != nil {
		return nil, err
	}
	if token = strings.TrimSpace(token); token == "" {
		token = strings.TrimPrefix(u.Fragment, "token=")
	}
	if token == "" {
		return nil, errors.New("the address has no #token=, and no token was given")
	}
	u.Scheme = map[string]string{"http": "ws", "https": "wss"}[u.Scheme]
	if u.Scheme == "" {
		return nil, fmt.Errorf("%s is no address of http or https", page)
	}
	u.Path, u.Fragment = "/rpc", ""
	return transport{u.String(), token}, nil
}

type transport struct{ address, token string }

func (t transport) Open(ctx context.Context) (thinkd.Line, error) {
	conn, _, err := websocket.Dial(ctx, t.address, &websocket.DialOptions{
		Subprotocols: []string{"thinkd.v1"}, HTTPHeader: http.Header{"Authorization": {"Bearer " + t.token}}})
	if err != nil {
		return nil, err // it has no token
	}
	conn.SetReadLimit(messageLimit)
	return line{conn}, nil
}

type line struct{ *websocket.Conn }

func (l line) Send(ctx context.Context, message []byte) error {
	return l.Write(ctx, websocket.MessageText, message)
}

func (l line) Receive(ctx context.Context) ([]byte, error) {
	_, message, err := l.Read(ctx)
	if websocket.CloseStatus(err) == tokenReplaced {
		return nil, fmt.Errorf("%w: %w", thinkd.ErrRefused, err)
	}
	return message, err
}

func (l line) Close() error { return l.Conn.Close(websocket.StatusNormalClosure, "") }
