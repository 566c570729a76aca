package ollama

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
)

// bodyLimit is the largest body that is taken here.
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

// dialect is how Ollama refuses, with a text, and answers, with one object a line.
var dialect = sim.Dialect{
	Limit: bodyLimit, StreamType: "application/x-ndjson", WholeType: "application/json; charset=utf-8",
	Spell:  func(e *sim.Error, _ sim.Fault) (int, string, any) { return e.Status, "error", errorBody(e) },
	Wrong:  sim.Error{Status: http.StatusBadRequest},
	Broken: sim.Error{Status: http.StatusInternalServerError},
}

// serve answers whatever belongs to Ollama's own API. No key is asked for, unless the server has one.
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
		ex.SendJSON(http.StatusOK, map[string]any{"models": []any{}})
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
