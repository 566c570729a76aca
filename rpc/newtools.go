package rpc

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session/tool"
)

// newTools is what a new session is to have: "builtin", or a list of tools that clients run, in which "builtin" may
// stand too.
type newTools struct {
	own     []newTool
	builtin bool
}

const builtinWord = string(tool.Builtin)

func (t *newTools) UnmarshalJSON(data []byte) error {
	var word string
	if json.Unmarshal(data, &word) == nil {
		t.builtin = word == builtinWord
		if !t.builtin {
			return fmt.Errorf("%q is not the word builtin", word)
		}
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	for _, element := range list {
		if string(element) == `"`+builtinWord+`"` {
			t.builtin = true
			continue
		}
		var own newTool
		if err := json.Unmarshal(element, &own); err != nil {
			return err
		}
		t.own = append(t.own, own)
	}
	return nil
}

// MarshalJSON writes them for the digest of a request that may come again.
func (t newTools) MarshalJSON() ([]byte, error) {
	list := []any{}
	if t.builtin {
		list = append(list, builtinWord)
	}
	for _, own := range t.own {
		list = append(list, own)
	}
	return json.Marshal(list)
}

// JSONSchema is what rpc.discover tells of it.
func (newTools) JSONSchema() *jsonschema.Schema {
	word := method.Constant(builtinWord)
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{word, method.ListOf(&jsonschema.Schema{AnyOf: []*jsonschema.Schema{word, method.Ref("NewTool")}})}}
}

// newTool is a tool that clients of the session run.
type newTool struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Schema      inputSchema `json:"input_schema,omitzero"`
	Title       string      `json:"title,omitempty"`
	Effect      tool.Effect `json:"effect,omitempty"`
}

// UnmarshalJSON wants the name that the schema of this type asks for.
func (t *newTool) UnmarshalJSON(data []byte) error {
	type plain newTool
	if err := json.Unmarshal(data, (*plain)(t)); err != nil {
		return err
	}
	if t.Name == "" {
		return errors.New("a tool has no name")
	}
	return nil
}

// inputSchema is a JSON schema, as it came.
type inputSchema struct{ json.RawMessage }

// IsZero reports whether there is none.
func (s inputSchema) IsZero() bool { return len(s.RawMessage) == 0 }

// JSONSchema is what rpc.discover tells of it.
func (inputSchema) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Description: "the JSON schema of an object"}
}

// choice is what the service is asked for; nil: the client says nothing about tools.
func (t *newTools) choice() *service.Choice {
	if t == nil {
		return nil
	}
	c := &service.Choice{Builtin: t.builtin}
	for _, own := range t.own {
		c.Own = append(c.Own, tool.Tool{Tool: provider.Tool{Name: own.Name, Description: own.Description, Schema: own.Schema.RawMessage},
			Title: own.Title, Effect: own.Effect})
	}
	return c
}

// offeredServer is a server of the Model Context Protocol: a program, or an address. A client cannot set TrustHints.
type offeredServer toolhost.Server

// UnmarshalJSON wants the name that the schema of this type asks for.
func (s *offeredServer) UnmarshalJSON(data []byte) error {
	type plain offeredServer
	if err := json.Unmarshal(data, (*plain)(s)); err != nil {
		return err
	}
	if s.Name == "" {
		return errors.New("a server has no name")
	}
	return nil
}

// serversOf are the servers that a client offers.
func serversOf(offered []offeredServer) (list []toolhost.Server) {
	for _, s := range offered {
		list = append(list, toolhost.Server(s))
	}
	return list
}
