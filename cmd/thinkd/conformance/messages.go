package conformance

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// messageChecks are about JSON-RPC and the rules for all methods.
var messageChecks = []Check{
	{"parse-error", "Messages", "a line that is not JSON gets -32700 with the id null", func(t *try) {
		p := t.open()
		p.write("{nonsense")
		refusal(p.response(), "null", -32700)
	}},
	{"jsonrpc-member", "Messages", "a message without jsonrpc 2.0 gets -32600", func(t *try) {
		p := t.open()
		p.write(`{"id":7,"method":"ping"}`)
		refusal(p.response(), "7", -32600)
	}},
	{"unknown-method", "Errors", "an unknown method gets -32601", func(t *try) {
		t.open().refused("no/such_method", params{}, -32601)
	}},
	{"ids", "Messages", "ids come back byte for byte", func(t *try) {
		p := t.open()
		for _, id := range []string{`"a"`, `"\u00fc"`, `0`, `12345678901234567890`, `"7"`} {
			p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id))
			equal("the id", p.response().Get("id").Raw, id)
		}
	}},
	{"null-id", "Messages", "a request with the id null gets -32600", func(t *try) {
		p := t.open()
		p.write(`{"jsonrpc":"2.0","id":null,"method":"ping"}`)
		refusal(p.response(), "null", -32600)
	}},
	{"params-object", "Messages", "params in a list get -32602", func(t *try) {
		t.open().refused("session/list", []int{1}, -32602)
	}},
	{"wrong-type", "Messages", "a member with a wrong type gets -32602, and data.field names it", func(t *try) {
		equal("data.field", t.open().refused("session/list", params{"limit": "ten"}, -32602).Get("field").String(), "limit")
	}},
	{"null-member", "Messages", "null is the same as absent", func(t *try) {
		t.open().call("session/list", params{"limit": nil})
	}},
	{"no-response", "Messages", "a request without an id has no response", func(t *try) {
		p := t.open()
		p.write(`{"jsonrpc":"2.0","method":"ping"}`)
		p.call("ping", params{})
	}},
	{"batch", "Messages", "a batch gets one list of responses, in order", func(t *try) {
		p := t.open()
		p.write(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"no/such"},{"jsonrpc":"2.0","id":3,"method":"ping"}]`)
		r := p.response()
		must(r.IsArray(), "the response to a batch is no list: %.200s", r.Raw)
		equal("the ids", r.Get("#.id").Raw, "[1,2,3]")
		equal("the second code", r.Get("1.error.code").Int(), -32601)
	}},
	{"ignored", "Messages", "unknown members have no effect, and are listed in ignored", func(t *try) {
		r := t.open().call("session/list", params{"limit": 1, "colour": "red"})
		equal("ignored", r.Get("ignored").Raw, `["colour"]`)
	}},
	{"strict", "initialize", "after strict, an unknown member gets -32602", func(t *try) {
		p := t.open()
		p.call("initialize", params{"protocol_version": 1, "strict": true})
		p.refused("session/list", params{"colour": "red"}, -32602)
	}},
	{"initialize", "initialize", "the version is 1, and reconnect has bounds", func(t *try) {
		r := t.open().call("initialize", params{"protocol_version": 99})
		equal("protocol_version", r.Get("protocol_version").Int(), 1)
		low, high := r.Get("reconnect.min_ms").Int(), r.Get("reconnect.max_ms").Int()
		must(r.Get("server.name").String() != "", "server has no name")
		must(0 < low && low <= high, "reconnect is from %d to %d", low, high)
	}},
	{"initialize-once", "initialize", "a second initialize fails", func(t *try) {
		p := t.open()
		p.call("initialize", params{"protocol_version": 1})
		p.refused("initialize", params{"protocol_version": 1}, -32600)
	}},
	{"discover", "rpc.discover", "the document is OpenRPC, and has the method by which it came", func(t *try) {
		r := t.open().call("rpc.discover", params{})
		must(r.Get("openrpc").String() != "", "openrpc is missing")
		must(r.Get(`methods.#(name=="rpc.discover")`).Exists() && r.Get(`methods.#(name=="session/prompt")`).Exists(), "methods are missing")
	}},
	{"cancel-request", "Messages", "$/cancelRequest ends a pending request with -32800", func(t *try) {
		p, id := t.session(nil)
		turn := prompt(p, id, slow)
		request := p.send("turn/wait", params{"session_id": id, "turn_id": turn})
		p.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%s}}`, request))
		refusal(p.response(), request, -32800)
		p.call("session/cancel", params{"session_id": id})
	}},
}

// refusal fails unless a response is an error with an id and a code.
func refusal(r gjson.Result, id string, code int64) {
	must(r.Get("id").Raw == id && r.Get("error.code").Int() == code, "the response is %.200s, want the error %d with the id %s", r.Raw, code, id)
	must(r.Get("error.message").String() != "", "the error has no message")
}
