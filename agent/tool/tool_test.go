package tool

import (
	"encoding/json"
	"os"
	"slices"
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
		``:                  `must be the schema of an object`,
		`[]`:                `must be the schema of an object`,
		`{"type":"string"}`: `must be the schema of an object`,
		`{"type":"object","$defs":{},"definitions":{}}`:                                              "",
		`{"type":"object","not":` + strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 201): `is nested deeper`,
		`{"type":"object","required":1}`:                                                             `required: a number does not belong there`,
		`{"type":"object","properties":{"a":{"pattern":"("}}}`:                                       `error parsing regexp`,
		`{"type":"object","$ref":"file:///etc/hostname"}`:                                            `refers to another document`,
		`{"type":"object","description":"` + strings.Repeat("x", maxSchema) + `"}`:                   `is larger than`,
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
		`{}`:                                 "a is missing",
		`{"a":1,"b":3}`:                      `a: type: 1 has type "integer", want "string"; b: enum: 3 does not equal any of: [1 2]`,
		`{"a":"x","c":1}`:                    `unexpected additional properties ["c"]`,
		`{"a":"x","n":1.5}`:                  `n: type: 1.5 has type "number", want "integer"`,
		`{"a":"long"}`:                       `a: maxLength: "long" contains 4 Unicode code points, more than 3`,
		`[]`:                                 `type: [] has type "array", want "object"`,
		`null`:                               `type: null has type "null", want "object"`,
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
	for _, tt := range []struct{ schema, input, want string }{
		{`{"required":["a","b"],"properties":{"c":{"type":"null"}}}`, `{"c":1}`, `a is missing; b is missing; c: type: 1 has type "integer", want "null"`},
		{`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"properties":{"y":{"type":"string"}}}}}`, `{"a":{"y":1}}`, `$defs/x/y: type: 1 has type "integer", want "string"`},
		{`{"properties":{"a":{"$ref":"#/properties/b"},"b":{"minimum":2}}}`, `{"a":1}`, `b: minimum: 1/1 is less than 2.000000`},
		{`{"properties":{"a":{"$ref":"#x"}},"$defs":{"x":{"$anchor":"x","type":"null"}}}`, `{"a":1}`, `$defs/x: type: 1 has type "integer", want "null"`},
		{`{"properties":{"a":{"items":{"properties":{"b":{"type":"string"}}}}}}`, `{"a":[{"b":1}]}`, `a/items/b: type: 1 has type "integer", want "string"`},
		{`{"properties":{"a":{"type":["string","null"]}}}`, `{"a":null}`, ""},
		{`{"not":{}}`, `{}`, `not: validated against <anonymous schema>`},
		{`{"properties":{"a":{"maxLength":1}}}`, `{"a":"` + strings.Repeat("ä", 5000) + `"}`, `a: maxLength: "` + strings.Repeat("ä", 144) + `…`},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + strings.Repeat("[0],", 5000) + `1]}`, `a: uniqueItems: array items 1 and 0 are equal`},
		// What those before it had the draft 7 has, and what the library does not read is for the tool's host to judge.
		{`{"$schema":"http://json-schema.org/draft-06/schema#","dependencies":{"a":["b"]}}`, `{"a":1}`, `dependentRequired["a"]: missing properties ["b"]`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`, `{"a":1}`, ""},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","required":["a"]}`, `{}`, "a is missing"},
		{`{"$defs":{},"definitions":{},"required":["a"]}`, `{}`, ""},
	} {
		got := ""
		if err := Check(json.RawMessage(tt.schema), json.RawMessage(tt.input)); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%.100s: %q, want %q", tt.schema, got, tt.want)
		}
	}
	// What would take hours or all of the memory is refused at once.
	deep := strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40)
	for _, tt := range [][2]string{
		{`{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, deep},
		{`{"properties":{"a":{"anyOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/y"}]}},"$defs":{"x":{"$ref":"#"},"y":{"$ref":"#"}}}`, deep},
		{`{"properties":{"n":{"type":"integer"}}}`, `{"n":1e999999999}`},
		{`{"properties":{"n":{"multipleOf":3}}}`, `{"n":[1,{"x":1E99999999999999999999}]}`},
		{`{"properties":{"a":{"anyOf":[` + strings.Repeat(`{"type":"string"},`, 400) + `{"type":"null"}]}}}`, `{"a":{"b":"` + strings.Repeat("x", 1<<20) + `"}}`},
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

// Each effect in each mode under each danger. The modes are a person's standing word: read must refuse all that is not known
// to read, a tool without an effect too, and edit lets edits run that nothing else is dangerous about.
func TestQuestion(t *testing.T) {
	allow := Policy{Names: map[string]Rule{"t": Allow}}
	for _, tt := range []struct {
		name    string
		effect  Effect
		mode    Mode
		danger  Danger
		rules   Policy
		granted bool
		want    Rule
	}{
		{"reads", Read, ModeAsk, NoDanger, Policy{}, false, Allow},
		{"edits", Edit, ModeAsk, NoDanger, Policy{}, false, Ask},
		{"edits, granted", Edit, ModeAsk, NoDanger, Policy{}, true, Allow},
		{"read mode, reads", Read, ModeRead, NoDanger, Policy{}, false, Allow},
		{"read mode, edits", Edit, ModeRead, NoDanger, allow, true, Deny},
		{"read mode, runs", Run, ModeRead, NoDanger, allow, true, Deny},
		{"read mode, other", Other, ModeRead, NoDanger, allow, true, Deny},
		{"read mode, not known", "", ModeRead, NoDanger, allow, true, Deny},
		{"edit mode, edits", Edit, ModeEdit, NoDanger, Policy{}, false, Allow},
		{"edit mode, runs", Run, ModeEdit, NoDanger, Policy{}, false, Ask},
		{"edit mode, other", Other, ModeEdit, NoDanger, Policy{}, false, Ask},
		{"edit mode, not known", "", ModeEdit, NoDanger, Policy{}, false, Ask},

		{"broad, reads", Read, ModeAsk, Broad, Policy{}, false, Ask},
		{"broad, allowed", Read, ModeAsk, Broad, allow, false, Allow},
		{"broad, granted", Read, ModeAsk, Broad, Policy{}, true, Allow},
		{"broad, edit mode", Edit, ModeEdit, Broad, Policy{}, false, Ask},
		{"broad, read mode", Read, ModeRead, Broad, Policy{}, false, Ask},

		{"program", Edit, ModeAsk, Program, Policy{}, false, Ask},
		{"program, allowed", Edit, ModeAsk, Program, allow, false, Allow},
		{"program, granted", Edit, ModeAsk, Program, Policy{}, true, Ask},
		{"program, edit mode", Edit, ModeEdit, Program, Policy{}, false, Ask},

		{"secret", Read, ModeAsk, Secret, Policy{}, false, Ask},
		{"secret, allowed", Read, ModeAsk, Secret, allow, false, Ask},
		{"secret, granted", Read, ModeAsk, Secret, allow, true, Ask},
		{"secret, edit mode", Edit, ModeEdit, Secret, allow, true, Ask},
		{"secret, read mode", Read, ModeRead, Secret, allow, true, Ask},
		{"secret, denied", Read, ModeAsk, Secret, Policy{Names: map[string]Rule{"t": Deny}}, true, Deny},

		{"protected", Read, ModeAsk, Protected, allow, true, Deny},
		{"protected, edit mode", Edit, ModeEdit, Protected, allow, true, Deny},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := Question{Tool: Tool{Tool: provider.Tool{Name: "t"}, Host: Builtin, Effect: tt.effect}, Concern: Concern{Danger: tt.danger},
				Operator: tt.rules, Granted: tt.granted, Mode: tt.mode}
			if got := q.Rule(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestCovers(t *testing.T) {
	key, env := Concern{Danger: Secret, Place: ".ssh"}, Concern{Danger: Secret, Place: ".env*"}
	for _, tt := range []struct {
		decided, found Concern
		want           bool
	}{
		{Concern{}, Concern{}, true}, {Concern{}, Concern{Danger: Broad}, true}, {key, key, true},
		{Concern{}, key, false}, {env, key, false}, {Concern{Danger: Broad}, key, false}, {key, Concern{Danger: Protected, Place: ".ssh"}, false},
		{Concern{Danger: Protected}, Concern{Danger: Protected}, false}, {Concern{}, Concern{Danger: Program}, false},
	} {
		if got := tt.decided.Covers(tt.found); got != tt.want {
			t.Errorf("%+v covers %+v: %v", tt.decided, tt.found, got)
		}
	}
}

// A program that a tool runs gets the variables that are listed, and no other: names say nothing of what is a secret.
func TestEnviron(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "HF_TOKEN", "AWS_SESSION_TOKEN", "NPM_TOKEN", "SSH_AUTH_SOCK", "DATABASE_URL",
		"THINKD_TOKEN", "PGPASSWORD", "PATHS", "HOMEX", "LD_PRELOAD", "HTTP_PROXY"} {
		t.Setenv(name, "secret of "+name)
	}
	t.Setenv("WANTED", "passed")
	got := Environ([]string{"WANTED"}, map[string]string{"OWN": "own"})
	for _, variable := range got {
		if strings.Contains(variable, "secret of") {
			t.Errorf("a child gets %s", variable)
		}
	}
	for _, want := range []string{"WANTED=passed", "OWN=own", "PATH=" + os.Getenv("PATH")} {
		if !slices.Contains(got, want) {
			t.Errorf("%q lacks %s", got, want)
		}
	}
}
