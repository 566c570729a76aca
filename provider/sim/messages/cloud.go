package messages

import (
	"net/http"
	"strings"

	"github.com/thinkd/thinkd/provider/sim/gcloud"
)

// Google Cloud serves Claude over this API, with four differences: the address names the model and whether the answer is a stream, the
// body names the version of the API, no header does, and the token is one of Google's. Ids have their date behind an @.
// [docs: claude-on-vertex-ai; @anthropic-ai/vertex-sdk 1.1.3]

// cloudVersion is the only version of the API on Google Cloud.
const cloudVersion = "vertex-2023-10-16"

// onCloud checks what only a body for Google Cloud has, and turns it into one of Anthropic's own API. Other bodies it leaves as they are.
func onCloud(r *http.Request, v any) error {
	place, ok := gcloud.At(r)
	body, isObject := v.(map[string]any)
	if !ok || !isObject {
		return nil
	}
	if version := body["anthropic_version"]; version != cloudVersion {
		return invalid("anthropic_version: Input should be '%s'", cloudVersion)
	}
	delete(body, "anthropic_version")
	if place.Model == "count-tokens" {
		return nil
	}
	if _, has := body["model"]; has {
		return invalid("model: Extra inputs are not permitted")
	}
	if stream, _ := body["stream"].(bool); stream != (place.Verb == "streamRawPredict") {
		return invalid("stream: %s does not answer so", place.Verb)
	}
	id := strings.Replace(place.Model, "@", "-", 1)
	if m, _ := modelBy(place.Model); m != nil && m.alias != "" && id == m.id {
		id = "" // with a dash the date is Anthropic's own spelling
	}
	body["model"] = id
	return nil
}
