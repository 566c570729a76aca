package method

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/thinkd/thinkd/session"
)

// ID is an id as a client gives it: refused before any lookup if it cannot be one.
type ID[T ~string] struct{ Value T }

func (i *ID[T]) UnmarshalJSON(data []byte) error {
	var word string
	if err := json.Unmarshal(data, &word); err != nil {
		return err
	}
	if err := session.CheckID(word); err != nil {
		return err
	}
	i.Value = T(word)
	return nil
}

// MarshalJSON writes the id alone.
func (i ID[T]) MarshalJSON() ([]byte, error) { return json.Marshal(string(i.Value)) }

// JSONSchema is what rpc.discover tells of it.
func (ID[T]) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"}
}

// SessionNamer is a type of a member that names a session. The router reads that member.
type SessionNamer interface{ NamesSession() bool }

// NamesSession reports whether the id is that of a session.
func (i ID[T]) NamesSession() bool { _, ok := any(i.Value).(session.ID); return ok }
