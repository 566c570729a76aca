package daemon

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/registry/options"
)

// optionSets ask for every option, and for those that depend on each other together.
var optionSets = []struct {
	options string
	tools   bool
}{
	{`{"max_output_tokens":4,"temperature":0.3,"top_p":0.5,"top_k":40,"stop":["END"," ","a","b","c","d","e","f"],"seed":7,"verbosity":"low","service_tier":"priority","cache":"1h"}`, false},
	{`{"max_output_tokens":2000000,"temperature":2,"top_p":1,"top_k":1,"stop":["END"],"seed":-7,"verbosity":"high","service_tier":"flex","cache":"off","tool_choice":"required","parallel_tools":true}`, false},
	{`{"tool_choice":"required","parallel_tools":false,"temperature":0,"service_tier":"standard","output_schema":{"schema":{"type":"object","properties":{"a":{"type":"integer","minimum":1},"b":{"type":"string"}},"required":["a"]}}}`, true},
	{`{"tool_choice":"read","parallel_tools":true,"verbosity":"medium","service_tier":"auto","output":"json"}`, true},
	{`{"tool_choice":"none","cache":"5m"}`, true},
	{`{"output_schema":{"name":"verdict","schema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}}}`, false},
	{`{"output":"json"}`, false},
	{`{"server_tools":["web_search","web_fetch","code_execution"]}`, false},
	{`{"server_tools":["code_execution","web_search"],"server_tool_limits":{"allowed_domains":["example.com"]}}`, true},
	{`{"server_tools":["web_search"],"server_tool_limits":{"max_uses":2}}`, true},
}

// TestOptionsOfEachRow sends every option to every row of the catalog, with thinking on and off: the strict stand-in of the vendor takes
// each call, and the adapter leaves out nothing that the decision let through. The short form sends a third of the sets to each row at
// each level: models of one vendor follow each other, so that each vendor gets all.
func TestOptionsOfEachRow(t *testing.T) {
	t.Parallel()
	vendor := sim.New(sim.Config{Now: ofTheTables})
	catalog, opened := atStandIn(t, proof.Serve(t, vendor))
	for n, m := range catalog.Models() {
		t.Run(m.Ref(), func(t *testing.T) {
			t.Parallel()
			levels := []provider.Level{m.Thinking.Default}
			for _, l := range m.Thinking.Levels { // and off, or the lowest level at which it thinks
				if len(levels) == 1 && l != m.Thinking.Default && (l == provider.Off || m.Thinking.Default == provider.Off) {
					levels = append(levels, l)
				}
			}
			for i, level := range levels {
				for j, set := range optionSets {
					if !*allPairs && (n+i+j)%3 != 0 {
						continue
					}
					tryOptions(t, opened.Find(m.Provider), m, level, set.options, set.tools)
				}
			}
		})
	}
	t.Cleanup(func() { // when all have run
		for _, r := range vendor.Refusals() {
			if strings.Count(r.Path, "/") > 1 {
				t.Errorf("refused: %+v", r)
			}
		}
	})
}

func tryOptions(t *testing.T, p provider.Provider, m provider.Model, level provider.Level, text string, tools bool) {
	t.Helper()
	asked, err := provider.ParseOptions([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d, err := registry.Resolve(registry.Ask{Level: level, Source: provider.SourceTurn}, m)
	if err != nil {
		t.Fatal(err)
	}
	req := &provider.Request{Model: m, Decision: d, System: "Be brief.", Messages: []provider.Message{
		{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "Which date is later? [[sim: thinking=1 text=1 pace=0]]"}}}}}
	var names []string
	if tools && m.Tools {
		names = []string{"read"}
		req.Tools = []provider.Tool{{Name: "read", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}}
	}
	decided := options.Resolve(options.Sources{Turn: asked}.Ask(), m, d, options.Request{Tools: names})
	req.Options = decided.Effective
	where := fmt.Sprintf("%s, tools %v, %s", level, tools, text)
	if decided.Form == provider.OutputTool {
		req.Options.Schema = nil // the agent asks by a tool of its own
	}
	wire, err := provider.OptionsWireOf(p, req)
	if err != nil || !json.Valid(wire) {
		t.Errorf("%s: %s, %v", where, wire, err)
	}
	reply, err := providertest.Collect(p.Stream(t.Context(), req))
	if err != nil || reply.Err != nil {
		t.Errorf("%s: %v, %v", where, reply.Err, err)
	}
	for _, n := range reply.Notices {
		if n.Kind == provider.NoticeOverride && strings.Contains(n.Text, "left out") {
			t.Errorf("%s: %s", where, n.Text)
		}
	}
}
