package responses

import (
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider/exchange"
)

// Value takes in an answer that is one JSON value.
func (r *reply) Value(root gjson.Result) error {
	if nested := root.Get("response"); nested.Get("output").IsArray() {
		root = nested
	}
	switch {
	case exchange.HasError(root), root.Get("type").Str == "error":
		return r.failed(root)
	case !root.Get("output").IsArray():
		return r.NoAnswer("the answer is JSON, but no response")
	}
	return r.response(root)
}

// response takes in a whole response as if it had been streamed.
func (r *reply) response(root gjson.Result) error {
	if exchange.HasError(root) {
		return r.failed(root)
	}
	if len(r.items) == 0 {
		if err := r.NotStreamed(); err != nil {
			return err
		}
	}
	return r.terminal("completed", root)
}
