package gemini

import (
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
)

// TestServedParts: parts of the vendor's own tools come if the request asks for them, and must come back in pairs, as they were signed.
func TestServedParts(t *testing.T) {
	s := sim.New(sim.Config{Now: simtest.November})
	ask := simtest.Said("user", obj{"text": "Find. [[sim: search=1 code=1 thinking=0 text=5]]"})
	tools := obj{"tools": arr{obj{"googleSearch": obj{}}, obj{"codeExecution": obj{}}}, "toolConfig": obj{"includeServerSideToolInvocations": true}}
	answer := func(model string, more obj) arr {
		got := simtest.Generate(t, s, model, simtest.Merged(obj{"contents": arr{ask}}, more))
		if got.Status != 200 {
			t.Fatalf("%s: %d %s", model, got.Status, got.Body)
		}
		return simtest.Get[arr](got.JSON(), "candidates", 0, "content", "parts")
	}
	parts := answer("gemini-3.8-flash", tools)
	for i, want := range []string{"toolCall", "toolResponse", "executableCode", "codeExecutionResult"} {
		if p := simtest.Get[obj](parts, i); p[want] == nil || p["thoughtSignature"] == nil {
			t.Fatalf("part %d is %v, want a signed %s", i, p, want)
		}
	}
	with := func(i int, members ...any) any { return simtest.With(simtest.Get[obj](parts, i), members...) }
	other := sim.New(sim.Config{Now: simtest.November, Secret: []byte("another")})
	foreign := simtest.Get[arr](simtest.Generate(t, other, "gemini-3.8-flash", simtest.Merged(obj{"contents": arr{ask}}, tools)).JSON(), "candidates", 0, "content", "parts")
	for _, test := range []struct {
		name, says string
		parts      arr
	}{
		{"as they were", "", parts},
		{"no result of the search", "without its response", arr{parts[0], parts[2], parts[3]}},
		{"no call of the search", "without its tool call", arr{parts[1], parts[2], parts[3]}},
		{"no result of the code", "without its response", parts[:3]},
		{"no code", "without its executable code", arr{parts[0], parts[1], parts[3]}},
		{"other order", "without its tool call", arr{parts[1], parts[0]}},
		{"changed", "signature is not valid", arr{parts[0], parts[1], with(2, "executableCode", obj{"language": "PYTHON", "code": "1"}), parts[3]}},
		{"without a signature", "missing a thought_signature", arr{parts[0], with(1, "thoughtSignature", nil)}},
		{"of another server", "signature is not valid", foreign},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := simtest.Generate(t, s, "gemini-3.8-flash", simtest.Merged(obj{"contents": arr{ask, simtest.Said("model", test.parts...), simtest.Said("user", obj{"text": "On."})}}, tools))
			if (got.Status == 200) != (test.says == "") || !strings.Contains(got.Body, test.says) {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	}
	if first := simtest.Get[obj](answer("gemini-2.5-flash", obj{"tools": arr{obj{"codeExecution": obj{}}}}), 0); first["executableCode"] == nil || first["thoughtSignature"] != nil {
		t.Errorf("the second generation begins with %v", first)
	}
}

// TestServedCombinations: which of the vendor's tools go together with functions.
func TestServedCombinations(t *testing.T) {
	s := sim.New(sim.Config{Now: simtest.November})
	functions := obj{"functionDeclarations": arr{obj{"name": "read"}}}
	exposed := obj{"includeServerSideToolInvocations": true}
	for _, test := range []struct {
		name, model, says string
		more              obj
	}{
		{"alone", "gemini-2.5-flash", "", obj{"tools": arr{obj{"googleSearch": obj{}}, obj{"urlContext": obj{}}}}},
		{"with functions", "gemini-2.5-flash", "Tool use with function calling is unsupported", obj{"tools": arr{obj{"googleSearch": obj{}}, functions}}},
		{"with a form", "gemini-2.5-flash", "response mime type", obj{"tools": arr{obj{"googleSearch": obj{}}}, "generationConfig": obj{"responseMimeType": "application/json"}}},
		{"exposed", "gemini-2.5-flash", "not supported by this model", obj{"tools": arr{obj{"googleSearch": obj{}}}, "toolConfig": exposed}},
		{"with functions", "gemini-3.8-flash", "Please enable tool_config.include_server_side_tool_invocations", obj{"tools": arr{obj{"googleSearch": obj{}}, functions}}},
		{"with functions, exposed", "gemini-3.8-flash", "", obj{"tools": arr{obj{"googleSearch": obj{}}, functions}, "toolConfig": exposed}},
	} {
		got := simtest.Generate(t, s, test.model, simtest.Merged(obj{"contents": arr{simtest.Said("user", obj{"text": "Hi"})}}, test.more))
		if (got.Status == 200) != (test.says == "") || !strings.Contains(got.Body, test.says) {
			t.Errorf("%s %s: %d %s", test.model, test.name, got.Status, got.Body)
		}
	}
}
