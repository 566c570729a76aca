package rpc

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tidwall/gjson"
)

// acpSchema is the schema of ACP's version 1 as its SDK has it.
const acpSchema = "../testdata/acp/node_modules/@agentclientprotocol/sdk/schema/v1/schema.json"

// acpSchemas are the definitions of what we send; nil: they are not installed.
var acpSchemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	text, err := os.ReadFile(acpSchema)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("acp", document); err != nil {
		return nil, err
	}
	list := make(map[string]*jsonschema.Schema)
	for _, name := range acpDefinitions {
		if list[name], err = c.Compile("acp#/$defs/" + name); err != nil {
			return nil, err
		}
	}
	return list, nil
})

// acpDefinitions are the names in the schema: of params by the method that we send, of results by the members that they
// have.
var acpDefinitions = map[string]string{
	"session/update": "SessionNotification", "session/request_permission": "RequestPermissionRequest",
	"fs/read_text_file": "ReadTextFileRequest", "fs/write_text_file": "WriteTextFileRequest", "terminal/create": "CreateTerminalRequest",
	"terminal/output": "TerminalOutputRequest", "terminal/wait_for_exit": "WaitForTerminalExitRequest",
	"terminal/kill": "KillTerminalRequest", "terminal/release": "ReleaseTerminalRequest", "$/cancel_request": "CancelRequestNotification",
	"result.agentCapabilities": "InitializeResponse", "result.sessionId": "NewSessionResponse", "result.modes": "LoadSessionResponse",
	"result.sessions": "ListSessionsResponse", "result.stopReason": "PromptResponse", "result.configOptions": "SetSessionConfigOptionResponse",
	"error": "Error",
}

// definitionOf finds the schema of a message, "" for those that are extensions or empty.
func definitionOf(m gjson.Result) (name string, part gjson.Result) {
	if method := m.Get("method").String(); method != "" {
		return acpDefinitions[method], m.Get("params")
	}
	for _, member := range []string{"agentCapabilities", "sessionId", "modes", "sessions", "stopReason", "configOptions"} {
		if m.Get("result." + member).Exists() {
			return acpDefinitions["result."+member], m.Get("result")
		}
	}
	if m.Get("error").Exists() {
		return acpDefinitions["error"], m.Get("error")
	}
	return "", gjson.Result{}
}

// checkACP holds messages against the schema. Without the SDK it says nothing: TestACPSchema says that it does not.
func checkACP(t *testing.T, messages []string) {
	t.Helper()
	schemas, err := acpSchemas()
	if err != nil {
		t.Fatal(err)
	}
	if schemas == nil {
		return
	}
	for _, message := range messages {
		name, part := definitionOf(gjson.Parse(message))
		if name == "" {
			if gjson.Get(message, "method").Exists() {
				t.Errorf("the schema has no such method: %s", message)
			}
			continue
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(part.Raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas[name].Validate(value); err != nil {
			t.Errorf("%s is no %s: %v", message, name, err)
		}
	}
}

// The check itself: what is wrong is found.
func TestACPSchema(t *testing.T) {
	schemas, err := acpSchemas()
	if err != nil {
		t.Fatal(err)
	}
	if schemas == nil {
		t.Skip("no SDK of ACP: npm ci --prefix testdata/acp")
	}
	if schemas["PromptResponse"].Validate(map[string]any{"stopReason": "bored"}) == nil {
		t.Error("a stop reason that there is none of passes")
	}
	if schemas["SessionNotification"].Validate(map[string]any{"sessionId": "x", "update": map[string]any{"sessionUpdate": "agent_thought_chunk"}}) == nil {
		t.Error("a chunk without content passes")
	}
}
