package option

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/session"
)

// listed are the selects of model_config for a model of the catalog, with their values and the current one.
func listed(t *testing.T, providerID, id string, set session.Settings) (list []string) {
	t.Helper()
	st := agent.State{Model: registry.Default().Model(providerID, id)}
	st.Session.Settings = set
	for _, o := range List(Source{}, st) {
		if o.Category != "model_config" {
			continue
		}
		var values []string
		for _, c := range o.Options {
			if c.Name == "" {
				t.Errorf("%s of %s has no name", c.Value, o.ID)
			}
			values = append(values, c.Value)
		}
		list = append(list, o.ID+" "+o.Current.(string)+" of "+strings.Join(values, ","))
	}
	return list
}

// An editor is offered what the model takes as it is, and nothing else.
func TestModelConfig(t *testing.T) {
	flex := session.Settings{Display: provider.Omitted, Options: &provider.Options{ServiceTier: provider.TierFlex, Stop: []string{"END"}}}
	opaque := session.Settings{Storage: provider.StoreOpaque}
	for name, tt := range map[string]struct {
		provider, model string
		set             session.Settings
		want            []string
	}{
		"Claude": {"anthropic", "claude-opus-5-5", session.Settings{},
			[]string{"thinking_display default of default,summarized,omitted,updates", "service_tier default of default,auto,standard"}},
		"a tier that Claude lacks": {"anthropic", "claude-opus-5-5", flex,
			[]string{"thinking_display omitted of default,summarized,omitted,updates", "service_tier flex of default,auto,standard,flex"}},
		"thinking without its text": {"anthropic", "claude-opus-5-5", opaque, []string{"service_tier default of default,auto,standard"}},
		"GPT": {"openai", "gpt-5.6-sol", flex, []string{"thinking_display omitted of default,summarized,omitted", "verbosity default of default,low,medium,high",
			"service_tier flex of default,auto,standard,flex,priority"}},
		"a model without such options": {"deepseek", "deepseek-v4-pro", session.Settings{}, nil},
	} {
		if diff := cmp.Diff(tt.want, listed(t, tt.provider, tt.model, tt.set)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestChange(t *testing.T) {
	now := session.Settings{Options: &provider.Options{Verbosity: provider.VerbosityLow, Stop: []string{"END"}}}
	for _, tt := range []struct {
		id, value, want string
	}{
		{"verbosity", `"high"`, `{"options":{"stop":["END"],"verbosity":"high"}}`},
		{"verbosity", `"default"`, `{"options":{"stop":["END"]}}`},
		{"service_tier", `"flex"`, `{"options":{"stop":["END"],"verbosity":"low","service_tier":"flex"}}`},
		{"thinking_display", `"omitted"`, `{"display":"omitted"}`},
		{"thinking_display", `"default"`, `{"display":""}`},
		{"stop_on_other_model", `true`, `{"on_other_model":"stop"}`},
		{"mode", `"read"`, `{"tool_mode":"read"}`},
		{"reasoning_effort", `"high"`, `{"thinking_level":"high"}`},
		{"service_tier", `"cheap"`, "must be one of default, auto, standard, flex, priority"},
		{"thinking_display", `"defaultomitted"`, "unknown display"},
		{"verbosity", `true`, "must be a string"},
		{"stop_on_other_model", `"true"`, "must be true or false"},
		{"colour", `"red"`, `there is no option "colour"`},
		{"mode", `"fly"`, "value"},
	} {
		var value any
		if err := json.Unmarshal([]byte(tt.value), &value); err != nil {
			t.Fatal(err)
		}
		change, err := Change(tt.id, value, now, nil)
		if err != nil {
			if strings.HasPrefix(tt.want, "{") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s %s: %v", tt.id, tt.value, err)
			}
			continue
		}
		if got, err := json.Marshal(change); err != nil || string(got) != tt.want {
			t.Errorf("%s %s: %s, want %s (%v)", tt.id, tt.value, got, tt.want, err)
		}
	}
	if now.Options.Verbosity != provider.VerbosityLow {
		t.Error("the session's options were changed in place")
	}
}
