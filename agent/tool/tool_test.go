package tool

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
)

func TestCheckName(t *testing.T) {
	for name, want := range map[string]bool{"read_file": true, "_x-1": true, strings.Repeat("a", 64): true,
		"": false, "1st": false, "-x": false, "a b": false, "ä": false, "a.b": false, "a\n": false, strings.Repeat("a", 65): false} {
		if got := CheckName(name) == nil; got != want {
			t.Errorf("CheckName(%q): taken %v, want %v", name, got, want)
		}
	}
}

func TestCheckSchema(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object"}`: "",
		`{"type":"object","properties":{"next":{"$ref":"#"}}}`:                  "",
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`: "",
		``:                               `must be the schema of an object`,
		`[]`:                             `must be the schema of an object`,
		`{"type":"string"}`:              `must be the schema of an object`,
		`{"type":"object","required":1}`: `required: got number, want array`,
		`{"type":"object","properties":{"a":{"pattern":"("}}}`:                     `not valid regex`,
		`{"type":"object","$ref":"file:///etc/hostname"}`:                          `no URLLoader`,
		`{"type":"object","description":"` + strings.Repeat("x", maxSchema) + `"}`: `is larger than`,
	} {
		switch err := CheckSchema(json.RawMessage(schema)); {
		case err == nil && want != "":
			t.Errorf("%.60s: taken, want %q", schema, want)
		case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
			t.Errorf("%.60s: %v, want %q", schema, err, want)
		}
	}
}

func TestCheck(t *testing.T) {
	const schema = `{"type":"object","properties":{"a":{"type":"string","maxLength":3},"b":{"enum":[1,2]},"n":{"type":"integer"}},
		"required":["a"],"additionalProperties":false}`
	for input, want := range map[string]string{
		`{"a":"x"}`:                          "",
		`{"a":"x","n":12345678901234567890}`: "",
		`{"a":"x","n":1.0}`:                  "",
		`{}`:                                 "missing property 'a'",
		`{"a":1,"b":3}`:                      "a: got number, want string; b: value must be one of 1, 2",
		`{"a":"x","c":1}`:                    "additional properties 'c' not allowed",
		`{"a":"x","n":1.5}`:                  "n: got number, want integer",
		`{"a":"long"}`:                       "a: maxLength: got 4, want 3",
		`[]`:                                 "got array, want object",
		`null`:                               "got null, want object",
		``:                                   "not JSON",
		`{"a":"x"} x`:                        "not JSON",
	} {
		got := ""
		if err := Check(json.RawMessage(schema), json.RawMessage(input)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
	// What would take hours or all of the memory is refused at once.
	deep := strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40)
	for _, tt := range [][2]string{
		{`{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, deep},
		{`{"properties":{"a":{"anyOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/y"}]}},"$defs":{"x":{"$ref":"#"},"y":{"$ref":"#"}}}`, deep},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + strings.Repeat("[0],", 5000) + `1]}`},
		{`{"properties":{"n":{"type":"integer"}}}`, `{"n":1e999999999}`},
		{`{"properties":{"n":{"multipleOf":3}}}`, `{"n":[1,{"x":1E-99999999999999999999}]}`},
		{`{"$ref":"#"}`, `{}`},
	} {
		if err := Check(json.RawMessage(tt[0]), json.RawMessage(tt[1])); err != errTooComplex && err != errNumber {
			t.Errorf("%s: %v", tt[0], err)
		}
	}
	if err := CheckSchema(json.RawMessage(`{"type":"object","properties":{"n":{"minimum":1e999999999}}}`)); err != errNumber {
		t.Errorf("a schema with a huge number: %v", err)
	}
	large := json.RawMessage(`{"a":[` + strings.Repeat(`{"b":"x"},`, 20_000) + `{}]}`)
	if err := Check(json.RawMessage(`{"properties":{"a":{"type":"array","items":{"properties":{"b":{"type":"string"}}}}}}`), large); err != nil {
		t.Errorf("a large input: %v", err)
	}
	if err := Check(json.RawMessage(`{"$ref":"#"}`), json.RawMessage(`{}`)); err == nil {
		t.Error("a schema that is its own reference judged an input")
	}
}

func TestDecide(t *testing.T) {
	named := func(host Kind, effect Effect) Tool {
		return Tool{Tool: provider.Tool{Name: "t"}, Host: host, Effect: effect}
	}
	rules := func(name Rule, effects map[Effect]Rule) Policy {
		p := Policy{Effects: effects}
		if name != "" {
			p.Names = map[string]Rule{"t": name}
		}
		return p
	}
	for _, tt := range []struct {
		name              string
		tool              Tool
		operator, session Policy
		want              Rule
	}{
		{"a client's", named(Client, Run), Policy{}, Policy{}, Allow},
		{"a server's that reads", named(MCP, Read), Policy{}, Policy{}, Allow},
		{"a server's that edits", named(MCP, Edit), Policy{}, Policy{}, Ask},
		{"a server's that says nothing", named(MCP, ""), Policy{}, Policy{}, Ask},
		{"our own that runs", named(Builtin, Run), Policy{}, Policy{}, Ask},
		{"allowed by name", named(Builtin, Run), rules(Allow, nil), Policy{}, Allow},
		{"allowed by effect", named(Builtin, Run), rules("", map[Effect]Rule{Run: Allow}), Policy{}, Allow},
		{"a name before its effect", named(Builtin, Run), rules(Deny, map[Effect]Rule{Run: Allow}), Policy{}, Deny},
		{"no effect is other", named(MCP, ""), rules("", map[Effect]Rule{Other: Deny}), Policy{}, Deny},
		{"a session is stricter", named(Client, Read), Policy{}, rules(Deny, nil), Deny},
		{"a session asks", named(MCP, Read), rules(Allow, nil), rules("", map[Effect]Rule{Read: Ask}), Ask},
		{"a session is never laxer", named(MCP, Run), rules(Ask, nil), rules(Allow, nil), Ask},
		{"a session does not undo a no", named(MCP, Run), rules(Deny, nil), rules(Allow, nil), Deny},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Decide(tt.tool, tt.operator, tt.session); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestRule(t *testing.T) {
	var p Policy
	if err := json.Unmarshal([]byte(`{"names":{"x":"maybe"}}`), &p); err == nil {
		t.Error("the rule maybe was taken")
	}
	if err := json.Unmarshal([]byte(`{"names":{"x":"deny"},"effects":{"run":"ask"}}`), &p); err != nil {
		t.Error(err)
	}
}
