package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// Event takes in one event, which is a chunk.
func (r *reply) Event(_ string, data []byte) error { return r.chunk(data) }

// Over reports whether the answer of the request at hand is whole. There is no terminal event.
func (r *reply) Over() bool { return r.end.over() }

// Finish leaves the reply open, since it may go on in another request: see Next.
func (r *reply) Finish() error { return nil }

// chunk takes in one GenerateContentResponse, or an error in its place. Most are the chunk before with another text and
// other counts.
func (r *reply) chunk(data []byte) error {
	if piece, ok := r.stencil.Match(data); ok && utf8.ValidString(piece.Raw) {
		r.latest = append(r.latest[:0], data...)
		if err := r.text(r.kind, piece.Str); err != nil {
			return err
		}
		return r.Alive()
	}
	r.stencil.Clear()
	r.caughtUp()
	if !gjson.ValidBytes(data) {
		if string(data) == "[DONE]" { // of hosts that add the end mark of another API
			return r.Deviation("end mark")
		}
		return r.NoAnswer(fmt.Sprintf("an event of %d bytes is not JSON", len(data)))
	}
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	root := gjson.ParseBytes(data)
	if root.IsArray() {
		root = root.Get("0")
	}
	var candidate, feedback, model gjson.Result
	known := false
	root.ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "candidates":
			candidate = first(value)
		case "usageMetadata":
			r.usage.report(value)
		case "promptFeedback":
			feedback = value
		case "modelVersion":
			if model = value; value.Str != "" {
				r.origin.Model, r.stop.Model = value.Str, value.Str
			}
		case "responseId":
			r.end.responseID = value.Str
		case "createTime":
		default:
			return true
		}
		known = true
		return true
	})
	if e := root.Get("error"); e.IsObject() || e.Type == gjson.String {
		return r.failed(data)
	}
	if !known {
		return r.Deviation("a chunk of no known member")
	}
	if model.Str != "" {
		if err := r.Served(model.Str, ""); err != nil {
			return err
		}
	}
	if word := feedback.Get("blockReason").Str; word != "" {
		r.end.block(word, r.Text(feedback.Get("blockReasonMessage").Str))
	}
	if err := r.candidate(candidate); err != nil {
		return err
	}
	r.likewise(data, root, candidate)
	return r.Alive()
}

// likewise notes a chunk that is one piece of text: so one like it does the same, whatever its counts.
func (r *reply) likewise(data []byte, root, candidate gjson.Result) {
	parts, used := exchange.Once(candidate, "content").Get("parts"), exchange.Once(root, "usageMetadata")
	p := parts.Get("0")
	kind, ok := plain(p)
	if ok && !parts.Get("1").Exists() && !candidate.Get("continuationToken").Exists() && used.Exists() == root.Get("usageMetadata").Exists() {
		r.kind = kind
		r.stencil.Cut(data, []gjson.Result{p.Get("text")}, counts(used, nil)...)
	}
}

// counts are the numbers in a value, also in its lists.
func counts(v gjson.Result, list []gjson.Result) []gjson.Result {
	if v.Type == gjson.Number {
		return append(list, v)
	}
	if v.Type == gjson.JSON {
		v.ForEach(func(_, inner gjson.Result) bool {
			list = counts(inner, list)
			return true
		})
	}
	return list
}

// first is the candidate that is ours: one is asked for, more are another's.
func first(list gjson.Result) (found gjson.Result) {
	list.ForEach(func(_, c gjson.Result) bool {
		if c.Get("index").Int() == 0 {
			found = c
		}
		return !found.Exists()
	})
	return found
}

func (r *reply) candidate(c gjson.Result) (err error) {
	var parts, token, grounding gjson.Result
	c.ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "content":
			parts = value.Get("parts")
		case "finishReason":
			if value.Str != "" && value.Str != "FINISH_REASON_UNSPECIFIED" {
				r.end.reason = r.Text(value.Str)
			}
		case "finishMessage":
			r.end.message = r.Text(value.Str)
		case "continuationToken":
			token = value
		case "groundingMetadata":
			grounding = value
			r.served.ground(value)
		case "urlContextMetadata":
			r.served.fetch(value)
		}
		return true
	})
	if grounding.Exists() && (r.opensText() || len(r.texts) == 0) {
		r.grounding, grounding = grounding, gjson.Result{}
	}
	parts.ForEach(func(_, p gjson.Result) bool {
		err = r.part(p)
		return err == nil
	})
	switch {
	case !grounding.Exists():
	case r.opensText():
		r.grounding = grounding
	default:
		r.groundedLate(grounding)
	}
	if err == nil && token.Str != "" {
		r.hops.checkpoint(token.Str)
	}
	return err
}

// part takes in one part: a piece of the run that is open, the beginning of another, or a block of its own.
func (r *reply) part(p gjson.Result) error {
	if kind, ok := plain(p); ok {
		return r.text(kind, exchange.Valid(p.Get("text").Str))
	}
	text, call := p.Get("text"), p.Get("functionCall")
	thought := p.Get("thought").Bool()
	switch {
	case !p.IsObject():
		return r.Deviation("a part that is no object")
	case call.IsObject() && !thought:
		return r.toolCall(p, call)
	case text.Type == gjson.String && thought:
		return r.signed(provider.KindThinking, p, exchange.Valid(text.Str))
	case text.Type == gjson.String:
		return r.signed(provider.KindText, p, exchange.Valid(text.Str))
	}
	if media, ok := exchange.Decoded(p.Get("inlineData.mimeType").Str, p.Get("inlineData.data").Str); ok {
		return r.media(p, media)
	}
	if isServed(p) && !thought {
		return r.servedPart(p)
	}
	if address := p.Get("fileData.fileUri").Str; strings.HasPrefix(address, "http") && len(address) <= exchange.MaxAddress {
		r.linked = append(r.linked, exchange.LinkedImage(address))
	}
	if !hasData(p) {
		return r.Alive() // it tells of processing or of speech alone, and the vendor refuses a part without data
	}
	if err := r.hops.only("a part beside text"); err != nil {
		return err
	}
	r.hops.fixed()
	if err := r.seal(); err != nil {
		return err
	}
	return r.opaque([]json.RawMessage{json.RawMessage(p.Raw)})
}

// metadata are the members of a part that are none of its data (SDK: Part).
var metadata = []string{"thought", "partMetadata", "mediaProcessing", "mediaResolution", "speechMetadata", "videoMetadata"}

// hasData reports whether a part says more than such members.
func hasData(p gjson.Result) (has bool) {
	p.ForEach(func(name, value gjson.Result) bool {
		has = !slices.Contains(metadata, name.Str) && value.Type != gjson.Null
		return !has
	})
	return has
}

// failed is an error in the place of an answer or in the middle of one.
func (r *reply) failed(data []byte) error {
	status := int(gjson.GetBytes(data, "error.code").Int())
	if list := gjson.GetBytes(data, "0.error.code"); list.Exists() {
		status = int(list.Int())
	}
	if status < 400 || status > 599 {
		status = http.StatusInternalServerError
	}
	return r.Refusal(status, data)
}
