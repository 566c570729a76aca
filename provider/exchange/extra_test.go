package exchange_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
)

func TestMerge(t *testing.T) {
	for _, tt := range []struct {
		body, extra, want string
		replaced          []string
	}{
		{`{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`, nil},
		{`{"a":1}`, `{"a":2}`, `{"a":2}`, []string{"a"}},
		{`{"a":1}`, `{"a":1}`, `{"a":1}`, nil},
		{`{"a":{"b":1,"c":2}}`, `{"a":{"b":3,"d":4}}`, `{"a":{"b":3,"c":2,"d":4}}`, []string{"a.b"}},
		{`{"a":[1,2]}`, `{"a":[3]}`, `{"a":[3]}`, []string{"a"}},
		{`{"a":[1]}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`, []string{"a"}},
		{`{"a":{"b":1}}`, `{"a":7}`, `{"a":7}`, []string{"a"}},
		{`{"a":{"b":1},"c":1}`, `{"a":{"b":null},"c":null,"d":null}`, `{"a":{}}`, []string{"a.b", "c"}},
		{`{}`, `{"a":{"b":{"c":1}}}`, `{"a":{"b":{"c":1}}}`, nil},
		{`{"text":"<a> & \u00e4"}`, `{"n":12345678901234567890}`, `{"text":"<a> & ä","n":12345678901234567890}`, nil},
	} {
		got, replaced, err := exchange.Merge(json.RawMessage(tt.body), json.RawMessage(tt.extra))
		if err != nil || providertest.DiffJSON([]byte(tt.want), got) != "" || !slices.Equal(replaced, tt.replaced) {
			t.Errorf("%s with %s: %s, replaced %q, %v", tt.body, tt.extra, got, replaced, err)
		}
	}
	for _, extra := range []string{`[]`, `null`, `7`, `{`} {
		if _, _, err := exchange.Merge(json.RawMessage(`{}`), json.RawMessage(extra)); err == nil {
			t.Errorf("%s is taken", extra)
		}
	}
}

func TestReplaces(t *testing.T) {
	members := []string{"model", "generation", "generation.seed", "messages"}
	for extra, want := range map[string][]string{
		`{"model":"x","own":1}`:                       {"model"},
		`{"generation":{"seed":1,"own":2}}`:           {"generation.seed"},
		`{"generation":{"own":2}}`:                    nil,
		`{"generation":7}`:                            {"generation"},
		`{"own":{"model":"x"},"messages":{"deep":1}}`: {"messages"},
	} {
		if got := exchange.Replaces(members, json.RawMessage(extra)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", extra, got, want)
		}
	}
}
