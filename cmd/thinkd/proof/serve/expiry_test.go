package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// dial connects to one of the daemon's paths.
func dial(ctx context.Context, s *proof.Served, path, token string) (*websocket.Conn, error) {
	ws, _, err := websocket.Dial(ctx, s.Base+path, &websocket.DialOptions{Subprotocols: []string{"thinkd.v1", "thinkd.token." + token}})
	return ws, err
}

// answered sends a request, and returns the error if the answer does not come, or is one.
func answered(ctx context.Context, ws *websocket.Conn, request string) error {
	if err := ws.Write(ctx, websocket.MessageText, []byte(request)); err != nil {
		return err
	}
	_, answer, err := ws.Read(ctx)
	if err != nil {
		return err
	}
	var m struct{ Error json.RawMessage }
	if err := json.Unmarshal(answer, &m); err != nil {
		return err
	}
	if m.Error != nil {
		return errors.New(string(m.Error))
	}
	return nil
}

// The connections of both protocols are closed with 4001 when their token expires, whichever kind it is. One that was renewed stays.
func TestServeExpiry(t *testing.T) {
	t.Parallel()
	issuer := newSigner(t)
	data, config := t.TempDir(), proof.WriteConfig(t, fmt.Sprintf("[auth.oidc]\nissuer = %q\naudience = \"thinkd\"\n", issuer.url))
	s := proof.StartServe(t, proof.Command(t, nil, append(proof.ServeArgs(data), "--config", config)...))
	for kind, issue := range map[string]func(lasts time.Duration) string{
		"API token": func(lasts time.Duration) string {
			return token(t, data, config, "create", "--user", "ann", "--expires", lasts.String())
		},
		"JWT": func(lasts time.Duration) string { return issuer.token("ann", lasts-time.Minute) }, // clocks may differ by a minute
	} {
		t.Run(kind, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), proof.Patience)
			defer stop()
			longer := issue(time.Hour)
			var left map[string]*websocket.Conn
			var renewed *websocket.Conn
			for lasts := 2 * time.Second; ; lasts *= 2 { // on a slow machine, a token can expire before all have connected
				word, err := issue(lasts), error(nil)
				left = make(map[string]*websocket.Conn)
				for _, path := range []string{"rpc", "acp"} {
					if left[path], err = dial(ctx, s, path, word); err != nil {
						break
					}
					defer left[path].CloseNow()
				}
				if err == nil {
					if renewed, err = dial(ctx, s, "rpc", word); err == nil {
						defer renewed.CloseNow()
						err = answered(ctx, renewed, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"auth/renew","params":{"token":%q}}`, longer))
					}
				}
				if err == nil {
					break
				}
				if ctx.Err() != nil {
					t.Fatal(err)
				}
			}
			for path, ws := range left {
				_, _, err := ws.Read(ctx)
				if e, ok := errors.AsType[websocket.CloseError](err); !ok || e.Code != 4001 || e.Reason != "the token has expired" {
					t.Errorf("/%s ends with %v", path, err)
				}
			}
			if err := answered(ctx, renewed, `{"jsonrpc":"2.0","id":2,"method":"ping"}`); err != nil {
				t.Errorf("the renewed connection: %v", err)
			}
		})
	}
	s.Terminate()
}
