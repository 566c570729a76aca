package options

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
)

func parsed(t *testing.T, text string) provider.Options {
	t.Helper()
	o, err := provider.ParseOptions([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestInterplay are the options that depend on thinking, on tools and on each other.
func TestInterplay(t *testing.T) {
	catalog := registry.Default()
	for _, tt := range []struct {
		provider, model string
		level           provider.Level
		tools           []string
		options         string
		want            []string // NAME STATE EFFECTIVE
	}{
		{"anthropic", "claude-opus-5-5", provider.High, nil, `{"temperature":0.2,"top_p":0.9,"top_k":40}`, []string{"temperature refused ", "top_p refused ", "top_k refused "}},
		{"anthropic", "claude-sonnet-4-6", provider.High, nil, `{"temperature":0.2,"top_p":0.9,"top_k":40}`, []string{"temperature refused ", "top_p adjusted 0.95", "top_k refused "}},
		{"anthropic", "claude-sonnet-4-6", provider.Off, nil, `{"temperature":1.5,"top_p":0.9,"top_k":40}`, []string{"temperature adjusted 1", "top_p refused ", "top_k sent 40"}},
		{"anthropic", "claude-sonnet-4-6", provider.Off, nil, `{"top_p":0.9}`, []string{"top_p sent 0.9"}},
		{"anthropic", "claude-opus-5-5", provider.High, []string{"read"}, `{"tool_choice":"required"}`, []string{`tool_choice adjusted "auto"`}},
		{"anthropic", "claude-opus-5", provider.High, []string{"read"}, `{"tool_choice":"required","parallel_tools":false}`, []string{`tool_choice sent "required"`, "parallel_tools sent false"}},
		{"anthropic", "claude-sonnet-4-5-20250929", provider.High, []string{"read"}, `{"tool_choice":"read"}`, []string{`tool_choice adjusted "auto"`}},
		{"anthropic", "claude-sonnet-4-5-20250929", provider.Off, []string{"read"}, `{"tool_choice":"read"}`, []string{`tool_choice sent "read"`}},
		{"anthropic", "claude-opus-5", provider.High, []string{"read"}, `{"tool_choice":"write"}`, []string{"tool_choice refused "}},
		{"anthropic", "claude-opus-5", provider.High, nil, `{"tool_choice":"required","parallel_tools":true}`, []string{"tool_choice refused ", "parallel_tools refused "}},
		{"anthropic", "claude-opus-5", provider.High, nil, `{"stop":["END"," "],"seed":7,"verbosity":"low","service_tier":"priority"}`,
			[]string{`stop adjusted ["END"]`, "seed refused ", "verbosity refused ", `service_tier adjusted "auto"`}},
		{"anthropic", "claude-opus-5", provider.High, nil, `{"max_output_tokens":1000000}`, []string{"max_output_tokens adjusted 128000"}},
		{"anthropic", "claude-opus-5", provider.High, nil, `{"output":"json"}`, []string{"output refused "}},
		{"openai", "gpt-5.6-sol", provider.High, nil, `{"temperature":0.2,"verbosity":"low","service_tier":"flex","max_output_tokens":4}`,
			[]string{"max_output_tokens adjusted 16", "temperature refused ", `verbosity sent "low"`, `service_tier sent "flex"`}},
		{"openai", "gpt-5.6-sol", provider.Off, nil, `{"temperature":0.2,"stop":["END"]}`, []string{"temperature sent 0.2", "stop refused "}},
		{"openai", "gpt-4.1", provider.Off, nil, `{"temperature":0.2,"verbosity":"low"}`, []string{"temperature sent 0.2", "verbosity refused "}},
		{"gemini", "gemini-2.5-flash", provider.Off, []string{"read"}, `{"output_schema":{"schema":{"type":"object"}}}`, []string{`output_schema adjusted {"name":"answer","strict":true}`}},
		{"gemini", "gemini-2.5-flash", provider.Off, []string{"read"}, `{"output":"json"}`, []string{"output refused "}},
		{"gemini", "gemini-2.5-flash", provider.Off, nil, `{"output_schema":{"schema":{"type":"object"}}}`, []string{`output_schema sent {"name":"answer","strict":true}`}},
		{"gemini", "gemini-4-argon", provider.High, []string{"read"}, `{"output":"json","tool_choice":"required"}`, []string{`output sent "json"`, `tool_choice adjusted "auto"`}},
		{"gemini", "gemini-4-argon", provider.High, nil, `{"temperature":0.2,"service_tier":"auto"}`, []string{"temperature refused ", `service_tier adjusted "standard"`}},
		{"deepseek", "deepseek-v4-pro", provider.High, []string{"read"}, `{"tool_choice":"required","temperature":0.2,"top_p":0.5}`,
			[]string{`tool_choice adjusted "auto"`, "temperature refused ", "top_p adjusted 0.95"}},
		{"deepseek", "deepseek-v4-pro", provider.Off, []string{"read"}, `{"tool_choice":"required","temperature":0.2,"top_p":0.5}`,
			[]string{`tool_choice sent "required"`, "temperature sent 0.2", "top_p sent 0.5"}},
		{"mistral", "mistral-large-2512", provider.Off, nil, `{"temperature":2,"seed":7,"stop":["a","b","c","d","e"]}`,
			[]string{"temperature adjusted 1.5", `stop adjusted ["a","b","c","d"]`, "seed sent 7"}},
		{"moonshot", "kimi-k3", provider.High, nil, `{"temperature":1,"cache":"1h"}`, []string{"temperature refused ", "cache refused "}},
		{"anthropic", "claude-opus-5", provider.High, []string{"web_fetch"}, `{"server_tools":["web_search","web_fetch","code_execution"],"server_tool_limits":{"max_uses":3,"blocked_domains":["a.example"]}}`,
			[]string{`server_tools adjusted ["web_search"]`, `server_tool_limits sent {"max_uses":3,"blocked_domains":["a.example"]}`}},
		{"anthropic", "claude-opus-5", provider.High, nil, `{"server_tools":[],"server_tool_limits":{"max_uses":3}}`, []string{`server_tools sent []`, "server_tool_limits refused "}},
		{"openai", "gpt-5.6-sol", provider.High, []string{"read"}, `{"server_tools":["web_search","web_fetch","code_execution"]}`, []string{`server_tools adjusted ["web_search","code_execution"]`}},
		{"openai", "gpt-5.6-sol", provider.High, nil, `{"server_tools":["web_fetch"]}`, []string{"server_tools refused "}},
		{"openai", "gpt-5.6-sol", provider.High, nil, `{"server_tools":["web_search"],"server_tool_limits":{"max_uses":3}}`, []string{"server_tools refused ", "server_tool_limits refused "}},
		{"openai", "gpt-5.6-sol", provider.High, nil, `{"server_tools":["web_search"],"server_tool_limits":{"allowed_domains":["a.example"]}}`,
			[]string{`server_tools sent ["web_search"]`, `server_tool_limits sent {"allowed_domains":["a.example"]}`}},
		{"gemini", "gemini-2.5-flash", provider.Off, []string{"read"}, `{"server_tools":["web_search"]}`, []string{"server_tools refused "}},
		{"gemini", "gemini-2.5-flash", provider.Off, nil, `{"server_tools":["web_search","web_fetch"]}`, []string{`server_tools sent ["web_search","web_fetch"]`}},
		{"gemini", "gemini-2.5-flash", provider.Off, nil, `{"output":"json","server_tools":["web_search"]}`, []string{`output sent "json"`, "server_tools refused "}},
		{"gemini", "gemini-4-argon", provider.High, []string{"read"}, `{"server_tools":["web_search"],"server_tool_limits":{"allowed_domains":["a.example"]}}`, []string{"server_tools refused ", "server_tool_limits refused "}},
		{"deepseek", "deepseek-v4-pro", provider.High, nil, `{"server_tools":["web_search"]}`, []string{"server_tools refused "}},
		{"openrouter", "anthropic/claude-opus-5.5", provider.High, nil, `{"cache":"1h"}`, []string{`cache sent "1h"`}},
	} {
		m := catalog.Model(tt.provider, tt.model)
		if !m.Known {
			t.Fatalf("%s/%s is not in the catalog", tt.provider, tt.model)
		}
		d, err := registry.Resolve(registry.Ask{Level: tt.level, Source: provider.SourceTurn}, m)
		if err != nil {
			t.Fatal(err)
		}
		got := Resolve(Sources{Turn: parsed(t, tt.options)}.Ask(), m, d, Request{Tools: tt.tools})
		var lines []string
		for _, o := range got.Outcomes {
			lines = append(lines, o.Option+" "+string(o.State)+" "+string(o.Effective))
			if (o.Why == "") != (o.State == provider.OptionSent) || o.Source != provider.SourceTurn {
				t.Errorf("%s %s: %+v", tt.model, tt.options, o)
			}
		}
		if !slices.Equal(lines, tt.want) {
			t.Errorf("%s at %s, %s:\n got %q\nwant %q", tt.model, tt.level, tt.options, lines, tt.want)
		}
		got.Effective.Each(func(name string, value json.RawMessage) {
			if !slices.ContainsFunc(got.Outcomes, func(o provider.OptionOutcome) bool {
				return o.Option == name && o.State != provider.OptionRefused && (name == "output_schema" || string(o.Effective) == string(value))
			}) {
				t.Errorf("%s %s: %s has the effect %s, and no outcome says so", tt.model, tt.options, name, value)
			}
		})
	}
}

// TestTogether: Claude since Opus 4.1 refuses temperature and top_p in one call, under every API and spelling of its id.
func TestTogether(t *testing.T) {
	for _, tt := range []struct {
		provider, model string
		refuses         bool
	}{
		{"anthropic", "claude-opus-4-1-20250805", true}, {"anthropic", "claude-haiku-4-5", true}, {"anthropic", "claude-opus-4-5-20251101", true},
		{"copilot", "claude-sonnet-4.5", true}, {"bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", true}, {"vertex", "claude-opus-4-5@20251101", true},
		{"openrouter", "anthropic/claude-haiku-4.5", true},
		{"anthropic", "claude-3-7-sonnet-20250219", false}, {"anthropic", "claude-opus-4-20250514", false}, {"anthropic", "claude-sonnet-4-0", false},
		{"bedrock", "us.anthropic.claude-3-7-sonnet-20250219-v1:0", false}, {"openrouter", "anthropic/claude-3.7-sonnet", false}, {"deepseek", "deepseek-v4-pro", false},
	} {
		m := registry.Default().Model(tt.provider, tt.model)
		d, err := registry.Resolve(registry.Ask{Level: provider.Off, Source: provider.SourceTurn}, m)
		if err != nil {
			t.Fatal(err)
		}
		got := Resolve(Sources{Session: parsed(t, `{"top_p":0.9}`), Turn: parsed(t, `{"temperature":0.3}`)}.Ask(), m, d, Request{})
		if len(got.Outcomes) != 2 || got.Effective.Temperature == nil || (got.Effective.TopP == nil) != tt.refuses || (got.Outcomes[1].Why == "") == tt.refuses {
			t.Errorf("%s: %+v", m.Ref(), got.Outcomes)
		}
	}
}

// A place further down counts only for options that no place above states, and the form of an answer is one question.
func TestSources(t *testing.T) {
	asked := Sources{Turn: parsed(t, `{"output":"text","temperature":0.1}`), Session: parsed(t, `{"output_schema":{"schema":{"type":"object"}},"top_p":0.5,"stop":[]}`),
		Agent: parsed(t, `{"temperature":0.7,"stop":["END"],"seed":1}`), Config: parsed(t, `{"seed":2,"verbosity":"low"}`), Model: parsed(t, `{"verbosity":"high","output":"json","top_k":5}`)}.Ask()
	want := map[string]provider.Source{"output": provider.SourceTurn, "temperature": provider.SourceTurn, "top_p": provider.SourceSession,
		"stop": provider.SourceSession, "seed": provider.SourceAgent, "verbosity": provider.SourceConfig, "top_k": provider.SourceModel}
	if asked.Schema != nil || *asked.Temperature != 0.1 || *asked.Seed != 1 || len(asked.Stop) != 0 || len(asked.Sources) != len(want) {
		t.Errorf("%+v", asked)
	}
	for name, source := range want {
		if asked.Sources[name] != source {
			t.Errorf("%s is from %q, want %q", name, asked.Sources[name], source)
		}
	}
}

// Each rule names options that there are, and words that these have; the last rule of an API and dialect has one for each model.
func TestRules(t *testing.T) {
	names := provider.OptionNames()
	for _, r := range rules() {
		if r.Source == "" || r.AsOf == "" || len(r.Take)+len(r.Together) == 0 {
			t.Errorf("%s %v %v: a rule without a source, a day or options", r.API, r.Dialects, r.Models)
		}
		for name, with := range r.Together {
			for other, why := range with {
				if slices.Index(names, other) < 0 || slices.Index(names, name) < slices.Index(names, other) || why == "" {
					t.Errorf("%v: %s together with %s: %q", r.Models, name, other, why)
				}
			}
		}
		for name, a := range r.Take {
			if !slices.Contains(names, name) {
				t.Errorf("%s: no option %q", r.API, name)
			}
			for _, a := range []*accept{a, a.Tools, a.Output, a.Budget, a.Thinking} {
				if a != nil && (name == "output_schema") != (a.Form != "" && name != "output") && a.Refuse == "" {
					t.Errorf("%s %v: %s has the form %q", r.API, r.Dialects, name, a.Form)
				}
				if a != nil && len(a.Instead) > 0 && a.Why == "" {
					t.Errorf("%s %v: %s is adjusted, and nothing says why", r.API, r.Dialects, name)
				}
			}
		}
	}
}

// TestServerToolsRefusals: what refuses a vendor's tool says what is valid in its place, and nothing is sent in the mode read.
func TestServerToolsRefusals(t *testing.T) {
	for _, tt := range []struct {
		provider, model, options, says string
		request                        Request
	}{
		{"deepseek", "deepseek-v4-pro", `{"server_tools":["web_search"]}`, "Messages, Responses and Gemini have some of web_search, web_fetch, code_execution", Request{}},
		{"openai", "gpt-5.6-sol", `{"server_tools":["web_fetch"]}`, "Messages and Gemini have web_fetch", Request{}},
		{"openai", "gpt-5.6-sol", `{"server_tools":["web_search"],"server_tool_limits":{"max_uses":1}}`, "server_tool_limits.max_uses; it keeps: allowed_domains", Request{}},
		{"anthropic", "claude-opus-5", `{"server_tools":["web_search"]}`, "tool mode is read", Request{ReadOnly: true}},
	} {
		m := registry.Default().Model(tt.provider, tt.model)
		d, err := registry.Resolve(registry.Ask{}, m)
		if err != nil {
			t.Fatal(err)
		}
		got := Resolve(Sources{Session: parsed(t, tt.options)}.Ask(), m, d, tt.request)
		if o := got.Outcomes[0]; o.State != provider.OptionRefused || !strings.Contains(o.Why, tt.says) || len(got.Effective.ServerTools) != 0 {
			t.Errorf("%s %s: %+v", tt.model, tt.options, o)
		}
	}
}
