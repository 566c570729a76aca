package messages

import (
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider/exchange"
)

// Value takes in an answer that is one JSON value.
func (r *reply) Value(root gjson.Result) error {
	switch {
	case root.Get("type").Str == "error" || exchange.HasError(root):
		return r.failed([]byte(root.Raw))
	case !root.Get("content").IsArray():
		return r.NoAnswer("the answer is JSON, but no message")
	}
	return r.message(root)
}

// message takes in a whole message as if it had been streamed.
func (r *reply) message(root gjson.Result) error {
	if err := r.NotStreamed(); err != nil {
		return err
	}
	if err := r.begin(root); err != nil {
		return err
	}
	for i, b := range root.Get("content").Array() {
		index := int64(i)
		if err := r.start(index, b); err != nil {
			return err
		}
		if r.blocks[index] == nil {
			continue // it had no type, and was counted
		}
		if err := r.end(index); err != nil {
			return err
		}
	}
	if err := r.edited(root.Get("context_management")); err != nil {
		return err
	}
	r.ending(root, gjson.Result{})
	return exchange.Done
}
