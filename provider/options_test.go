package provider_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
)

// Each kind of bad input is refused by an error that names the member and what is valid.
func TestParseOptionsRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                            "options must be an object",
		`{"temprature":1}`:              "options.temprature is unknown; known: output_schema, output, tool_choice",
		`{"temperature":"hot"}`:         "options.temperature must be a number from 0 to 2",
		`{"temperature":2.1}`:           "options.temperature must be a number from 0 to 2",
		`{"top_p":0}`:                   "options.top_p must be a number above 0, up to 1",
		`{"top_k":0}`:                   "options.top_k must be a whole number from 1",
		`{"top_k":1.5}`:                 "options.top_k must be a whole number from 1",
		`{"max_output_tokens":0}`:       "options.max_output_tokens must be a whole number from 1",
		`{"stop":"END"}`:                "options.stop must be an array of strings",
		`{"stop":[""]}`:                 "options.stop has a text that is empty",
		`{"seed":4294967296}`:           "options.seed must be a whole number of 32 bits",
		`{"verbosity":"loud"}`:          `options.verbosity is "loud", and must be one of low, medium, high`,
		`{"service_tier":"gold"}`:       `options.service_tier is "gold", and must be one of auto, standard, flex, priority`,
		`{"cache":"2h"}`:                `options.cache is "2h", and must be one of 5m, 1h, off`,
		`{"output":"xml"}`:              `options.output is "xml", and must be one of text, json`,
		`{"tool_choice":"a tool"}`:      "options.tool_choice must be auto, none, required or the name of a tool",
		`{"tool_choice":7}`:             "options.tool_choice must be auto, none, required or the name of a tool",
		`{"server_tools":"web_search"}`: "options.server_tools must be an array of web_search, web_fetch and code_execution",
		`{"server_tools":["search"]}`:   `options.server_tools has "search", and each must be one of web_search, web_fetch, code_execution`,
		`{"server_tools":["web_search","web_search"]}`:                                             "options.server_tools has web_search twice",
		`{"server_tool_limits":{"uses":1}}`:                                                        "options.server_tool_limits must be an object with max_uses, allowed_domains or blocked_domains",
		`{"server_tool_limits":{"max_uses":-1}}`:                                                   "options.server_tool_limits.max_uses must be a whole number from 1 to 1000",
		`{"server_tool_limits":{"allowed_domains":["https://a.example"]}}`:                         `options.server_tool_limits.allowed_domains has "https://a.example", and must have domains such as example.com`,
		`{"server_tool_limits":{"allowed_domains":["a.example"],"blocked_domains":["b.example"]}}`: "options.server_tool_limits.blocked_domains cannot be combined with allowed_domains",
		`{"parallel_tools":"no"}`:                                                                  "options.parallel_tools must be true or false",
		`{"output_schema":{"type":"object"}}`:                                                      "options.output_schema must be an object with schema",
		`{"output_schema":{"schema":{"a":1}}}`:                                                     "options.output_schema.schema must be the schema of an object",
		`{"output_schema":{"name":"a b","schema":{"type":"object"}}}`:                              "options.output_schema.name must have 1 to 64 letters",
		`{"output_schema":{"schema":{"type":"object"}},"output":"json"}`:                           "options.output cannot be combined with output_schema",
	} {
		if _, err := provider.ParseOptions([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// What was parsed is the same after the log.
func TestOptionsRoundTrip(t *testing.T) {
	const text = `{"output_schema":{"name":"verdict","schema":{"type":"object","properties":{"b":{},"a":{}}},"strict":false},"tool_choice":"read","parallel_tools":false,"max_output_tokens":9,"temperature":0,"top_p":0.5,"top_k":3,"stop":["END"],"seed":-1,"verbosity":"high","service_tier":"flex","cache":"off","server_tools":["web_search"],"server_tool_limits":{"max_uses":3,"allowed_domains":["a.example"]}}`
	o, err := provider.ParseOptions([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := json.Marshal(o)
	if err != nil || string(kept) != text {
		t.Errorf("%s, %v; want %s", kept, err, text)
	}
	var again provider.Options
	if err := json.Unmarshal(kept, &again); err != nil {
		t.Fatal(err)
	}
	if second, _ := json.Marshal(again); string(second) != text {
		t.Errorf("%s; want %s", second, text)
	}
	if none, err := provider.ParseOptions([]byte(`{"temperature":null}`)); err != nil || !none.IsZero() {
		t.Errorf("null is %+v, %v", none, err)
	}
	if none, err := provider.ParseOptions([]byte(`{"stop":[]}`)); err != nil || none.IsZero() {
		t.Errorf("an empty list is %+v, %v", none, err)
	}
}
