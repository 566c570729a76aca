package messages

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/aws"
)

// Amazon serves Claude's models at two addresses, with ids of its own. The mantle host speaks the API as it is. InvokeModel has the model in its
// path, the version and the betas in the body, and puts each event of a stream into a frame. Both take a bearer token or a signature.
// [docs: claude-on-amazon-bedrock; SDK: bedrock]

const (
	mantlePath   = "/anthropic/v1/messages"
	mantleModels = "/anthropic/v1/models"
)

// bedrockMessages reports whether a request is for one of the two.
func bedrockMessages(r *http.Request) bool {
	_, _, invoked := invokedModel(r)
	return invoked || r.URL.Path == mantlePath || r.URL.Path == mantleModels
}

// invokedModel returns the model in the path of InvokeModel, and whether the answer is a stream.
func invokedModel(r *http.Request) (id string, stream, ok bool) {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/model/")
	segment, action, found := strings.Cut(rest, "/")
	id, err := url.PathUnescape(segment)
	stream = action == "invoke-with-response-stream"
	return id, stream, ok && found && err == nil && (stream || action == "invoke")
}

// places are the prefixes of inference profiles. A model may also be named by its own id.
var places = []string{"us.", "eu.", "au.", "jp.", "apac.", "global."}

// bedrockModel returns the vendor's own id for one of Amazon's; empty: it is no model of Claude's.
func bedrockModel(id string) string {
	for _, place := range places {
		if rest, ok := strings.CutPrefix(id, place); ok {
			id = rest
			break
		}
	}
	id, ok := strings.CutPrefix(id, "anthropic.")
	if !ok {
		return ""
	}
	if at := strings.LastIndex(id, "-v"); at > 0 && strings.Trim(id[at+2:], "0123456789:") == "" {
		id = id[:at]
	}
	return id
}

// bedrockTurnwise are the models that take a new effort in mid-conversation there. [docs: effort]
var bedrockTurnwise = []string{"claude-fable-5-1", "claude-mythos-5-1", "claude-opus-5-5"}

// bedrockBetas are the betas that the host passes on: those that its page names. [docs: claude-on-amazon-bedrock]
var bedrockBetas = []string{betaInterleaved, betaTurnEffort, betaEdits, "context-1m-2025-08-07", "token-efficient-tools-2025-02-19",
	"output-128k-2025-02-19", "fine-grained-tool-streaming-2025-05-14", "effort-2025-11-24"}

func (b betas) bedrock() error {
	for name := range b {
		if !slices.Contains(bedrockBetas, name) {
			return invalid("invalid beta flag")
		}
	}
	return nil
}

// unwrap takes out of a body what only InvokeModel has there, and refuses what it does not have.
func unwrap(m map[string]any, h http.Header) (betas, error) {
	for _, name := range []string{"model", "stream"} {
		if _, there := m[name]; there {
			return nil, invalid("%s: Extra inputs are not permitted", name)
		}
	}
	switch {
	case h.Get("anthropic-version") != "" || h.Get("anthropic-beta") != "":
		return nil, invalid("the headers anthropic-version and anthropic-beta are not read here; use anthropic_version and anthropic_beta")
	case m["anthropic_version"] == nil:
		return nil, invalid("anthropic_version: Field required")
	case m["anthropic_version"] != "bedrock-2023-05-31":
		return nil, invalid("anthropic_version: Invalid API version")
	}
	list, ok := m["anthropic_beta"].([]any)
	if m["anthropic_beta"] != nil && !ok {
		return nil, invalid("anthropic_beta: Input should be a valid list")
	}
	b := betas{}
	for _, v := range list {
		name, ok := v.(string)
		if !ok {
			return nil, invalid("anthropic_beta: Input should be a valid string")
		}
		b[name] = true
	}
	delete(m, "anthropic_version")
	delete(m, "anthropic_beta")
	return b, nil
}

// amazonError is the status and the name of an error there.
func amazonError(e *sim.Error) (int, string) {
	if strings.HasSuffix(e.Kind, "Exception") {
		return e.Status, e.Kind
	}
	switch e.Kind {
	case "rate_limit_error":
		return http.StatusTooManyRequests, "ThrottlingException"
	case "overloaded_error":
		return http.StatusServiceUnavailable, "ServiceUnavailableException"
	case "timeout_error":
		return http.StatusRequestTimeout, "ModelTimeoutException"
	case "authentication_error", "permission_error":
		return http.StatusForbidden, "AccessDeniedException"
	case "billing_error":
		return http.StatusBadRequest, "ServiceQuotaExceededException"
	case "not_found_error":
		return http.StatusNotFound, "ResourceNotFoundException"
	case "api_error":
		return http.StatusInternalServerError, "InternalServerException"
	}
	return e.Status, "ValidationException"
}

// framed turns events as HTTP has them into frames. What is no event has none.
func framed(events []byte) []byte {
	var out []byte
	for event := range bytes.SplitSeq(events, []byte("\n\n")) {
		for line := range bytes.Lines(event) {
			data, ok := bytes.CutPrefix(bytes.TrimRight(line, "\n"), []byte("data: "))
			if !ok {
				continue
			}
			if failed := failedEvent(data); failed != nil {
				_, kind := amazonError(failed)
				out = aws.AppendException(out, strings.ToLower(kind[:1])+kind[1:], failed.Text)
				continue
			}
			out = aws.AppendEvent(out, "chunk", sim.JSON(map[string]any{"bytes": base64.StdEncoding.EncodeToString(data), "p": "abcdefgh"[:len(data)%9]}))
		}
	}
	return out
}

// failedEvent is the error in an event; nil: it has none.
func failedEvent(data []byte) *sim.Error {
	var event struct {
		Type  string
		Error struct{ Type, Message string }
	}
	if !bytes.HasPrefix(data, []byte(`{"error"`)) || json.Unmarshal(data, &event) != nil {
		return nil
	}
	return &sim.Error{Kind: event.Error.Type, Text: event.Error.Message}
}
