package chat

import (
	"bytes"
	"strconv"

	"github.com/tidwall/gjson"
)

// mayFail tells most chunks apart from errors without a look into them.
func (r *reply) mayFail(data []byte) bool {
	return !bytes.Contains(data, []byte(`"choices"`)) || bytes.Contains(data, []byte(`"error"`)) || bytes.Contains(data, []byte(`"base_resp"`))
}

// failing reports whether an object tells of an error: by the dialect's paths, or in one of the shapes that hosts fall
// back to, whatever their dialect.
func (r *reply) failing(root gjson.Result) bool {
	return r.fault(root).Exists()
}

// fault is what tells of the error: an object, a text, a list.
func (r *reply) fault(root gjson.Result) gjson.Result {
	for _, path := range append([]string{"error"}, r.form.ErrorPaths...) {
		switch v := root.Get(path); {
		case v.Type == gjson.String && v.Str != "":
			return v
		case v.IsObject() && v.Get("status_msg").Exists(): // MiniMax: there on success as well, with code 0
			if v.Get("status_code").Int() != 0 {
				return v
			}
		case (v.IsObject() || v.IsArray()) && len(v.Raw) > len("{}"):
			return v
		}
	}
	if root.Get("choices").Exists() {
		return gjson.Result{}
	}
	if root.Get("object").Str == "error" || // older vLLM, SGLang, Mistral
		root.Get("code").Exists() && root.Get("message").Type == gjson.String { // DashScope's own shape
		return root
	}
	return gjson.Result{}
}

// failed is an error in an answer of 200. It is classified as the status that it would have come with.
func (r *reply) failed(root gjson.Result) error {
	object := r.fault(root)
	data := []byte(root.Raw)
	if msg := object.Get("status_msg"); msg.Exists() {
		data = []byte(`{"error":{"code":` + strconv.Quote(object.Get("status_code").String()) + `,"message":` + msg.Raw + `}}`)
	} else if object.IsObject() && !root.Get("error").Exists() {
		data = []byte(`{"error":` + object.Raw + `}`)
	}
	if !object.IsObject() {
		object = root
	}
	e := r.Refusal(errorStatus(object), data)
	if e.RequestID == "" {
		e.RequestID = r.stop.RequestID
	}
	return e
}

// errorStatus is the status that an error object names, or that its words stand for.
func errorStatus(object gjson.Result) int {
	for _, name := range []string{"status_code", "code", "status", "type"} {
		switch v := object.Get(name); {
		case v.Type == gjson.Number && v.Int() >= 400 && v.Int() < 600:
			return int(v.Int())
		case v.Type == gjson.Number && v.Int() == 2013: // MiniMax: invalid parameters
			return 400
		}
	}
	for _, name := range []string{"code", "type"} {
		switch object.Get(name).Str {
		case "invalid_request_error", "BadRequestError", "invalid_prompt", "context_length_exceeded", "content_filter",
			"exceed_context_size_error", "tool_use_failed", "invalid_parameter_error", "InvalidParameter":
			return 400
		case "authentication_error", "invalid_api_key", "InvalidApiKey":
			return 401
		case "insufficient_quota", "billing_error", "Arrearage":
			return 402
		case "permission_error":
			return 403
		case "not_found_error", "model_not_found":
			return 404
		case "rate_limit_error", "rate_limit_exceeded", "Throttling":
			return 429
		case "overloaded_error", "unavailable_error", "server_is_overloaded", "slow_down":
			return 503
		}
	}
	return 500 // server_error, api_error, and words that this build does not know
}
