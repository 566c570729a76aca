package load

import (
	"context"
	"fmt"
	"net/http"

	"github.com/coder/websocket"
)

// soakEditor is an editor. It stays for as long as the soak, as people's do, and makes, uses and deletes sessions.
type soakEditor struct{ soakLane }

func (e *soakEditor) connect(ctx context.Context) error {
	if err := e.dial(ctx, "acp", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + e.s.Token}}}); err != nil {
		return err
	}
	_, err := e.ask(ctx, "initialize", `{"protocolVersion":1}`)
	return err
}

// session is one from its making to its end, which comes from here or from another client.
func (e *soakEditor) session(ctx context.Context) error {
	made, err := e.ask(ctx, "session/new", `{"cwd":"/home/somebody/project","mcpServers":[]}`)
	if err != nil {
		return err
	}
	id := made.Get("sessionId").Str
	e.id = id
	e.done.sessions.Add(1)
	if _, err := e.ask(ctx, "session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"model","value":%q}`, id, e.model())); err != nil {
		return err
	}
	for range 1 + e.rng.IntN(3) {
		marker, patient := e.marker()
		stop := e.cancelAfter(ctx, patient)
		e.done.turns.Add(1)
		answer, err := e.ask(ctx, "session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"Go on. %d [[sim: %s]]"}]}`, id, e.rng.Uint64(), marker))
		stop()
		switch {
		case ctx.Err() != nil:
			return err
		case err != nil: // the vendor's fault; a connection that is lost shows below
			e.done.failed.Add(1)
		case answer.Get("stopReason").Str == "cancelled":
			e.done.cancelled.Add(1)
		}
	}
	if e.rng.IntN(2) == 0 {
		_, err = e.ask(ctx, "session/delete", fmt.Sprintf(`{"sessionId":%q}`, id))
		return err
	}
	other := &soakLane{s: e.s}
	if err := other.connect(ctx); err != nil {
		return err
	}
	defer other.ws.CloseNow()
	if _, err = other.ask(ctx, "session/delete", fmt.Sprintf(`{"session_id":%q}`, id)); err != nil {
		return err
	}
	_, err = e.ask(ctx, "session/list", `{}`)
	return err
}
