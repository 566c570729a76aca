package ollama

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
)

// bodyLimit is the largest body that is accepted, in bytes.
const bodyLimit = 64 << 20

func init() {
	sim.Register(sim.Face{Name: "ollama", Faults: faults, Claim: claim, Serve: serve, Help: help})
}

// claim claims the paths of Ollama's own API.
func claim(r *http.Request) sim.Claim {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		return sim.PathClaim
	}
	return sim.NoClaim
}

// dialect is the form of Ollama's refusals, which are texts, and answers, which have one object in each line.
var dialect = sim.Dialect{
	Limit: bodyLimit, StreamType: "application/x-ndjson", WholeType: "application/json; charset=utf-8",
	Spell:  func(e *sim.Error, _ sim.Fault) (int, string, any) { return e.Status, "error", errorBody(e) },
	Wrong:  sim.Error{Status: http.StatusBadRequest},
	Broken: sim.Error{Status: http.StatusInternalServerError},
}

// serve answers the requests of Ollama's own API. They need no key, unless the server has one.
func serve(ex *sim.Exchange) {
	d := &dialect
	key := strings.TrimPrefix(ex.Request.Header.Get("Authorization"), "Bearer ")
	if ex.WrongKey(key) {
		ex.Refuse(d, &sim.Error{Status: http.StatusUnauthorized, Text: "unauthorized"})
		return
	}
	switch ex.Request.Method + " " + ex.Request.URL.Path {
	case "POST /api/chat":
		serveChat(ex, d, sim.Account(key))
	case "GET /api/tags":
		serveTags(ex)
	case "POST /api/show":
		serveShow(ex, d)
	case "GET /api/ps":
		servePS(ex)
	case "GET /api/version":
		ex.SendJSON(http.StatusOK, map[string]any{"version": "0.30.0"})
	default:
		ex.Refuse(d, &sim.Error{Status: http.StatusNotFound, Text: "404 page not found"})
	}
}

// serveChat answers POST /api/chat.
func serveChat(ex *sim.Exchange, d *sim.Dialect, account string) {
	call, ok := sim.Check(ex, d, func(body []byte) (*call, error) {
		call := &call{}
		return call, call.read(body)
	})
	if !ok {
		return
	}
	if call.empty {
		call.serveEmpty(ex)
		return
	}
	l := loadedOf(ex)
	l.begin(call.model.id)
	defer func() { l.end(call.model.id, ex.Now(), call.keep) }()
	ex.Answer(d, sim.Generation{Ask: &call.ask, Account: account, Stream: call.stream,
		Takes: func(marked sim.Answer) error {
			if marked.Stop != "" && marked.Stop != "max_tokens" {
				return fmt.Errorf("sim: this API knows no %s", marked.Stop)
			}
			return nil
		},
		Reply: func(a sim.Answer) sim.Reply { return call.reply(a).sent() },
	})
}

// serveEmpty answers a chat without messages, which only loads or unloads the model. [docs: api/chat; source: server/routes.go]
func (c *call) serveEmpty(ex *sim.Exchange) {
	l, reason := loadedOf(ex), "load"
	if c.keep.set && c.keep.time == 0 {
		reason = "unload"
		l.unload(c.model.id, ex.Now())
	} else {
		l.begin(c.model.id)
		l.end(c.model.id, ex.Now(), c.keep)
	}
	ex.SendJSON(http.StatusOK, map[string]any{"model": c.model.id, "created_at": "2026-11-20T10:00:00Z",
		"message": map[string]any{"role": "assistant", "content": ""}, "done": true, "done_reason": reason})
}
