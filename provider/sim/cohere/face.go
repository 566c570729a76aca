package cohere

import (
	"net/http"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
)

func init() {
	sim.Register(sim.Face{Name: "cohere", Faults: faults, Claim: claim, Serve: serve, Help: help})
}

// lists reports whether a request asks for the models of an endpoint, which other vendors' lists do not have.
func lists(r *http.Request) bool { return r.URL.Path == "/v1/models" && r.URL.Query().Has("endpoint") }

func claim(r *http.Request) sim.Claim {
	if r.URL.Path == "/v2/chat" || lists(r) {
		return sim.OwnClaim
	}
	return sim.NoClaim
}

// bodyLimit is the largest body that is accepted, in bytes.
const bodyLimit = 64 << 20

// newDialect returns the form of Cohere's refusals and answers.
func newDialect(ex *sim.Exchange) *sim.Dialect {
	return &sim.Dialect{Limit: bodyLimit, StreamType: "text/event-stream",
		Spell: func(e *sim.Error, _ sim.Fault) (int, string, any) {
			body := map[string]any{"id": ex.ID, "message": e.Text}
			if e.Code != "" {
				body["error_type"] = e.Code
			}
			return e.Status, "error", body
		},
		Reword: reword,
		Wrong:  sim.Error{Status: http.StatusBadRequest},
		Broken: sim.Error{Status: http.StatusInternalServerError},
	}
}

func serve(ex *sim.Exchange) {
	d := newDialect(ex)
	ex.Header().Set("X-Debug-Trace-Id", ex.ID)
	key, bearer := strings.CutPrefix(ex.Request.Header.Get("Authorization"), "Bearer ")
	switch {
	case !bearer || key == "":
		ex.Refuse(d, &sim.Error{Status: http.StatusUnauthorized, Text: "no api key supplied"})
		return
	case ex.WrongKey(key):
		ex.Refuse(d, &sim.Error{Status: http.StatusUnauthorized, Text: "invalid api token"})
		return
	}
	switch ex.Request.Method + " " + ex.Request.URL.Path {
	case "GET /v1/models":
		serveModels(ex)
		return
	case "POST /v2/chat":
	default:
		ex.Refuse(d, &sim.Error{Status: http.StatusNotFound, Text: "404 page not found"})
		return
	}
	c, ok := sim.Check(ex, d, func(body []byte) (*call, error) {
		c := &call{}
		return c, c.read(body)
	})
	if ok {
		ex.Answer(d, sim.Generation{Ask: &c.ask, Account: sim.Account(key), Stream: c.stream, Reply: func(a sim.Answer) sim.Reply { return c.reply(a).sent() }})
	}
}
