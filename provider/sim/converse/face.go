package converse

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/aws"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

func init() {
	sim.Register(sim.Face{Name: "converse", Faults: faults, Claim: claim, Serve: serve, Help: help})
}

// asked returns the model in the path, and whether the answer is a stream.
func asked(r *http.Request) (id string, stream, ok bool) {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/model/")
	segment, action, found := strings.Cut(rest, "/")
	id, err := url.PathUnescape(segment)
	stream = action == "converse-stream"
	return id, stream, ok && found && err == nil && (stream || action == "converse")
}

func lists(r *http.Request) bool {
	return r.URL.Path == "/foundation-models" || r.URL.Path == "/inference-profiles"
}

func claim(r *http.Request) sim.Claim {
	if _, _, ok := asked(r); ok || lists(r) {
		return sim.OwnClaim
	}
	return sim.NoClaim
}

// newDialect returns the form of Amazon's refusals and answers. The name of an error is in a header.
func newDialect(ex *sim.Exchange) *sim.Dialect {
	return &sim.Dialect{Limit: 25 << 20, StreamType: aws.StreamType,
		Spell: func(e *sim.Error, _ sim.Fault) (int, string, any) {
			ex.Header().Set("x-amzn-errortype", e.Kind)
			return e.Status, e.Kind, map[string]any{"message": e.Text}
		},
		Wrong:  sim.Error{Status: http.StatusBadRequest, Kind: "ValidationException"},
		Broken: sim.Error{Status: http.StatusInternalServerError, Kind: "InternalServerException"},
	}
}

func serve(ex *sim.Exchange) {
	d := newDialect(ex)
	ex.Header().Set("x-amzn-requestid", ex.ID)
	if lists(ex.Request) {
		if _, err := aws.Authenticate(ex, nil, "bedrock"); err != nil {
			ex.Refuse(d, err)
			return
		}
		serveModels(ex, ex.Request.URL.Path == "/inference-profiles")
		return
	}
	id, stream, _ := asked(ex.Request)
	c, ok := sim.Check(ex, d, func(body []byte) (*call, error) {
		caller, err := aws.Authenticate(ex, body, "bedrock")
		if err != nil {
			return nil, err
		}
		m, placed := modelBy(id)
		switch {
		case m == nil:
			return nil, &sim.Error{Status: http.StatusBadRequest, Kind: "ValidationException", Text: "The provided model identifier is invalid."}
		case m.profiled && !placed:
			return nil, invalid("Invocation of model ID %s with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile that contains this model.", id)
		}
		v, err := strict.Decode(body)
		if err != nil {
			return nil, invalid("The request body is not valid JSON: %s", err)
		}
		c := &call{account: sim.Account(caller), model: m, sealer: ex.Sealer()}
		return c, c.read(v)
	})
	if ok {
		ex.Answer(d, sim.Generation{Ask: &c.ask, Account: c.account, Stream: stream, Reply: func(a sim.Answer) sim.Reply {
			c.count(ex)
			return c.reply(a).sent()
		}})
	}
}
