package messages

import (
	"net/http"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/aws"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// serveBedrock answers requests to both addresses.
func serveBedrock(ex *sim.Exchange) {
	id, stream, invoked := invokedModel(ex.Request)
	d := newDialect(ex)
	ex.Header().Set("x-amzn-requestid", ex.ID)
	if invoked {
		d = invokeDialect(ex)
	}
	if ex.Request.URL.Path == mantleModels && ex.Request.Method == http.MethodGet {
		if _, err := aws.Authenticate(ex, nil, "bedrock-mantle"); err != nil {
			ex.Refuse(d, err)
			return
		}
		serveModels(ex, d, "anthropic.")
		return
	}
	if ex.Request.Method != http.MethodPost {
		ex.Refuse(d, &sim.Error{Status: http.StatusMethodNotAllowed, Kind: "invalid_request_error", Text: "Method Not Allowed"})
		return
	}
	var caller string
	call, ok := sim.Check(ex, d, func(body []byte) (_ *call, err error) {
		service := "bedrock-mantle"
		if invoked {
			service = "bedrock"
		}
		if caller, err = aws.Authenticate(ex, body, service); err != nil {
			return nil, err
		}
		v, err := strict.Decode(body)
		if err != nil {
			return nil, invalid("The request body is not valid JSON: %s", err)
		}
		return readBedrock(ex, v, sim.Account(caller), id, stream, invoked)
	})
	if !ok {
		return
	}
	ex.Answer(d, sim.Generation{Ask: &call.ask, Account: call.account, Stream: call.stream, Reply: func(a sim.Answer) sim.Reply {
		call.cached = ex.CountMarked(call.prompt, call.model.cacheable()).Within(call.tokens)
		reply := call.reply(ex.Sealer(), a)
		reply.framed = invoked
		return reply.sent()
	}})
}

// readBedrock checks a request by the rules of its address, and then by those of the API.
func readBedrock(ex *sim.Exchange, v any, account, id string, stream, invoked bool) (*call, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, invalid("The request body should be a JSON object")
	}
	b := newBetas(ex.Request.Header)
	if invoked {
		var err error
		if b, err = unwrap(m, ex.Request.Header); err != nil {
			return nil, err
		}
		m["model"], m["stream"] = id, stream
	} else if ex.Request.Header.Get("anthropic-version") != "2023-06-01" {
		return nil, invalid("anthropic-version: header is required")
	}
	if err := b.bedrock(); err != nil {
		return nil, err
	}
	call := &call{betas: b, account: account, bedrock: true}
	if err := call.read(m, ex.Sealer()); err != nil {
		return nil, err
	}
	if err := mediaRules(call.model).Check(v); err != nil {
		return nil, invalid("%v", err)
	}
	call.prompt = call.prefixes(v)
	return call, nil
}

// invokeDialect is the form of InvokeModel's refusals. The name of the error is in a header.
func invokeDialect(ex *sim.Exchange) *sim.Dialect {
	d := newDialect(ex)
	d.StreamType, d.NoCache = aws.StreamType, false
	d.Spell = func(e *sim.Error, _ sim.Fault) (int, string, any) {
		status, kind := amazonError(e)
		ex.Header().Set("x-amzn-errortype", kind)
		return status, kind, map[string]any{"message": e.Text}
	}
	return d
}
