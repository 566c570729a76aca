package chat

import "github.com/tidwall/gjson"

// Value takes in an answer that is one JSON value: a completion, an error, or a list of chunks.
func (r *reply) Value(root gjson.Result) error {
	list := []gjson.Result{root}
	if root.IsArray() { // Google's compatible endpoint puts its errors into a list
		list = root.Array()
	}
	answered := false
	for _, v := range list {
		if r.failing(v) {
			return r.failed(v)
		}
		answered = answered || v.Get("choices.0").IsObject()
	}
	if !answered {
		return r.NoAnswer("the answer is JSON, but no completion")
	}
	if err := r.NotStreamed(); err != nil {
		return err
	}
	for _, v := range list {
		words := "message"
		if v.Get("choices.0.delta").IsObject() && !v.Get("choices.0.message").IsObject() {
			words, r.Whole = "delta", false
		}
		if err := r.chunk(v, words); err != nil {
			return err
		}
	}
	return r.finish()
}
