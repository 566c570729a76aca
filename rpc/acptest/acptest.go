// Package acptest checks messages to editors against the schema of the Agent Client Protocol, version 1, from its SDK. The SDK is not part
// of the project: without it, nothing can be checked.
package acptest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tidwall/gjson"
)

// Install says what to do where there is no schema.
const Install = "npm ci --prefix testdata/acp"

// Schema are the definitions of what an agent sends: of the stable schema, and of the unstable one, which has all of them and more.
type Schema struct{ stable, unstable map[string]*jsonschema.Schema }

// Open reads both schemas of the SDK in the repository that root leads to. fs.ErrNotExist: it is not installed.
func Open(root string) (*Schema, error) {
	stable, err := read(root, "schema.json", definitions)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(definitions)
	maps.Copy(all, unstable)
	newest, err := read(root, "schema.unstable.json", all)
	return &Schema{stable, newest}, err
}

func read(root, file string, names map[string]string) (map[string]*jsonschema.Schema, error) {
	f, err := os.Open(filepath.Join(root, "testdata/acp/node_modules/@agentclientprotocol/sdk/schema/v1", file))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	document, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("acp", document); err != nil {
		return nil, err
	}
	list := make(map[string]*jsonschema.Schema)
	for _, name := range names {
		if list[name], err = c.Compile("acp#/$defs/" + name); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Missing reports whether err of [Open] says that the SDK is not installed.
func Missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// definitions are the names in the schema: of params by the method that is sent, of results by the members that they
// have.
var definitions = map[string]string{
	"session/update": "SessionNotification", "session/request_permission": "RequestPermissionRequest",
	"fs/read_text_file": "ReadTextFileRequest", "fs/write_text_file": "WriteTextFileRequest", "terminal/create": "CreateTerminalRequest",
	"terminal/output": "TerminalOutputRequest", "terminal/wait_for_exit": "WaitForTerminalExitRequest",
	"terminal/kill": "KillTerminalRequest", "terminal/release": "ReleaseTerminalRequest", "$/cancel_request": "CancelRequestNotification",
	"elicitation/create": "CreateElicitationRequest", "elicitation/complete": "CompleteElicitationNotification",
	"result.agentCapabilities": "InitializeResponse", "result.sessionId": "NewSessionResponse", "result.modes": "LoadSessionResponse",
	"result.sessions": "ListSessionsResponse", "result.stopReason": "PromptResponse", "result.configOptions": "SetSessionConfigOptionResponse",
	"error": "Error",
}

// unstable are names that only the unstable schema has.
var unstable = map[string]string{
	"result.status": "SessionStatusResponse", "result.title": "SetSessionTitleResponse", "result.state": "AuthStatusResponse",
}

// resultMembers tell results apart. The first that a result has decides.
var resultMembers = []string{"agentCapabilities", "sessionId", "modes", "sessions", "stopReason", "configOptions", "status", "title", "state"}

// definitionOf finds the schema of a message, "" for those that are extensions or empty.
func definitionOf(m gjson.Result) (name string, part gjson.Result) {
	if method := m.Get("method").String(); method != "" {
		return definitions[method], m.Get("params")
	}
	for _, member := range resultMembers {
		if m.Get("result." + member).Exists() {
			return cmp.Or(definitions["result."+member], unstable["result."+member]), m.Get("result")
		}
	}
	if m.Get("error").Exists() {
		return definitions["error"], m.Get("error")
	}
	return "", gjson.Result{}
}

// Check says what is wrong with a message that an agent has sent, nil if nothing is.
func (s *Schema) Check(message string) error {
	m := gjson.Parse(message)
	if m.Get("jsonrpc").String() != "2.0" {
		return fmt.Errorf("no message of JSON-RPC: %s", message)
	}
	name, part := definitionOf(m)
	if name == "" {
		if m.Get("method").Exists() {
			return fmt.Errorf("the schema has no such method: %s", message)
		}
		return nil // the empty answer, or that of an extension
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(part.Raw))
	if schema := s.stable[name]; err == nil && schema != nil {
		err = schema.Validate(value)
	}
	if err == nil {
		err = s.unstable[name].Validate(value)
	}
	if err != nil {
		return fmt.Errorf("%s is no %s: %w", message, name, err)
	}
	return nil
}
