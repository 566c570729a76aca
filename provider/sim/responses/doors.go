package responses

import (
	"net/http"
	"strings"

	"github.com/thinkd/thinkd/provider/sim"
)

// door is one of the addresses of the Responses API. Encrypted content is valid only at the door that made it.
type door struct {
	name    string
	azure   bool // the key has its own header, and reasoning needs its id
	plan    bool // ChatGPT's backend: stateless, streamed, with instructions, without limits
	copilot bool // ids change with each event, arguments are ciphertext, and reasoning is valid only for its model
}

// doors are the addresses by path. [docs: API reference; for the plan and Copilot, which have no public contract, the source of the
// vendors' own clients]
var doors = map[string]door{
	"/v1/responses":                {name: "openai"},
	"/openai/v1/responses":         {name: "azure", azure: true},
	"/backend-api/codex/responses": {name: "chatgpt", plan: true},
	"/responses":                   {name: "copilot", copilot: true},
	"/copilot/responses":           {name: "copilot", copilot: true}, // next to its Chat Completions
}

// checkKey checks the headers that name the key, the account and the client.
func checkKey(ex *sim.Exchange, face door) (string, error) {
	r := ex.Request
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if face.azure && key == "" {
		key = r.Header.Get("api-key")
	}
	denied := func(text string) error {
		return &sim.Error{Status: http.StatusUnauthorized, Kind: "invalid_request_error", Code: "invalid_api_key", Text: text}
	}
	switch {
	case key == "":
		return "", denied("You didn't provide an API key.")
	case ex.WrongKey(key):
		return "", denied("Incorrect API key provided.")
	case face.plan && r.Header.Get("ChatGPT-Account-ID") == "":
		return "", denied("The header ChatGPT-Account-ID is missing.")
	case face.plan && (len(r.Header["Session_id"]) > 0 || len(r.Header["Thread_id"]) > 0): // like some proxies
		return "", unfit("", "", "Invalid header name: underscores are not allowed.")
	case face.plan && r.Header.Get("Session-Id") != r.Header.Get("Thread-Id"):
		return "", unfit("", "", "session-id and thread-id name two conversations.")
	case face.copilot && r.Header.Get("Editor-Version") == "":
		return "", unfit("", "", "bad request: missing Editor-Version header for IDE auth")
	}
	return key, nil
}
