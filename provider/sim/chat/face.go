package chat

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/gcloud"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// bodyLimit is the largest body that is accepted, in bytes.
const bodyLimit = 32 << 20

func init() {
	sim.Register(sim.Face{Name: "chat", Faults: faults, Claim: claim, Serve: serve, Help: help})
}

// claim claims the paths below the name of a host, and Chat Completions without one.
func claim(r *http.Request) sim.Claim {
	if host, _ := hostFor(r); host != nil {
		return sim.PathClaim
	}
	return sim.NoClaim
}

// newDialect returns the form of a host's refusals and answers.
func newDialect(ex *sim.Exchange, host *hostRules) *sim.Dialect {
	return &sim.Dialect{
		Limit: bodyLimit, RetryAfter: true, StreamType: "text/event-stream; charset=utf-8",
		Spell: func(e *sim.Error, _ sim.Fault) (int, string, any) {
			status := e.Status
			if host.errors == "minimax" && status == http.StatusBadRequest {
				status = http.StatusOK // the error is in the body
			}
			return status, cmp.Or(e.Code, e.Kind), host.errorBody(e, ex.ID)
		},
		Wrong:  sim.Error{Status: http.StatusBadRequest, Kind: "invalid_request_error"},
		Broken: sim.Error{Status: http.StatusInternalServerError, Kind: "server_error"},
	}
}

// hostFor returns the host that a path begins with, and the rest of the path, which a client adds to its base URL. If the path
// names no host, the header X-Sim-Dialect does; without both, the host is OpenAI.
func hostFor(r *http.Request) (host *hostRules, rest string) {
	path := r.URL.Path
	if place, ok := gcloud.At(r); ok && place.Publisher == "openapi" {
		return hostNamed("cloud"), place.Verb
	} else if ok && place.Publisher == "mistralai" {
		return hostNamed("mistral"), "/chat/completions"
	}
	for i := range hosts {
		if after, ok := strings.CutPrefix(path, "/"+hosts[i].name+"/"); ok {
			return &hosts[i], "/" + strings.TrimPrefix(after, "v1/")
		}
	}
	rest, ok := strings.CutPrefix(path, "/v1")
	if !ok {
		rest = path
	}
	named := r.Header.Get("X-Sim-Dialect")
	if rest != "/chat/completions" && (rest != "/models" || named == "") {
		return nil, ""
	}
	if host = hostNamed(cmp.Or(named, "openai")); host == nil {
		return nil, ""
	}
	return host, rest
}

// hostNamed returns a host of the table; nil: there is none of that name.
func hostNamed(name string) *hostRules {
	i := slices.IndexFunc(hosts, func(h hostRules) bool { return h.name == name })
	if i < 0 {
		return nil
	}
	return &hosts[i]
}

// serve answers the requests to a host of Chat Completions.
func serve(ex *sim.Exchange) {
	host, path := hostFor(ex.Request)
	d := newDialect(ex, host)
	ex.Header().Set("x-request-id", ex.ID)
	key, err := checkKey(ex, host)
	switch {
	case err != nil:
		ex.Refuse(d, err)
	case path == "/chat/completions" && ex.Request.Method == http.MethodPost:
		serveCompletion(ex, d, host, sim.Account(key))
	case path == "/models" && ex.Request.Method == http.MethodGet:
		ex.SendJSON(http.StatusOK, map[string]any{"object": "list", "data": host.listing(ex)})
	case ex.Request.Method == http.MethodGet && host.native(path) != nil:
		ex.SendJSON(http.StatusOK, host.native(path))
	case path == "/chat/completions" || path == "/models":
		ex.Refuse(d, &sim.Error{Status: http.StatusMethodNotAllowed, Kind: "invalid_request_error", Text: "Method not allowed"})
	default:
		ex.Refuse(d, &sim.Error{Status: http.StatusNotFound, Kind: "not_found_error", Text: "Not found"})
	}
}

func checkKey(ex *sim.Exchange, host *hostRules) (string, error) {
	key, ok := strings.CutPrefix(ex.Request.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok && host.local:
		return "", nil
	case !ok || key == "":
		return "", &sim.Error{Status: http.StatusUnauthorized, Kind: "authentication_error", Code: "invalid_api_key", Text: "Missing Authentication header"}
	case ex.WrongKey(key):
		return "", &sim.Error{Status: http.StatusUnauthorized, Kind: "authentication_error", Code: "invalid_api_key", Text: "Incorrect API key provided"}
	}
	return key, nil
}

// serveCompletion answers POST /chat/completions.
func serveCompletion(ex *sim.Exchange, d *sim.Dialect, host *hostRules, account string) {
	call, ok := sim.Check(ex, d, func(body []byte) (*call, error) {
		v, err := strict.Decode(body)
		if err != nil {
			return nil, invalid("We could not parse the JSON body of your request: %s", err)
		}
		call := &call{host: host, account: account, header: ex.Request.Header}
		if err := checkPlace(ex.Request, v); err != nil {
			return nil, err
		}
		if err := call.read(v, ex.Sealer()); err != nil {
			return nil, err
		}
		if err := host.media().Check(v); err != nil {
			return nil, invalid("%v", err)
		}
		call.prompt = call.prefixes(v)
		return call, nil
	})
	if !ok {
		return
	}
	ex.Answer(d, sim.Generation{Ask: &call.ask, Account: account, Stream: call.stream, Reply: func(a sim.Answer) sim.Reply {
		call.countCache(ex)
		return call.reply(ex.Sealer(), a).sent(ex.ID)
	}})
}

// checkPlace refuses a body that says something else than its address, where that names the model and how the answer comes. [docs: Google Cloud,
// partner-models/mistral]
func checkPlace(r *http.Request, body any) error {
	place, ok := gcloud.At(r)
	if !ok || place.Publisher != "mistralai" {
		return nil
	}
	said, _ := body.(map[string]any)
	streams := said["stream"] == true
	switch {
	case said["model"] != place.Model:
		return invalid("model: it is not the model of the address, %s", place.Model)
	case streams && place.Verb != "streamRawPredict", !streams && place.Verb != "rawPredict":
		return invalid("stream: %t at %s", streams, place.Verb)
	}
	return nil
}
