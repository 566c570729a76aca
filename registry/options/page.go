package options

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
)

// probes are the options that the page asks for, one by one.
var probes = []struct{ title, options string }{
	{"schema", `{"output_schema":{"schema":{"type":"object"}}}`},
	{"schema, tools", `{"output_schema":{"schema":{"type":"object"}}}`},
	{"json", `{"output":"json"}`},
	{"force a tool", `{"tool_choice":"required"}`},
	{"no tool", `{"tool_choice":"none"}`},
	{"one tool", `{"parallel_tools":false}`},
	{"limit", `{"max_output_tokens":1024}`},
	{"temp.", `{"temperature":0.5}`},
	{"top_p", `{"top_p":0.5}`},
	{"temp., top_p", `{"temperature":0.5,"top_p":0.5}`},
	{"top_k", `{"top_k":40}`},
	{"stop", `{"stop":["END"]}`},
	{"seed", `{"seed":7}`},
	{"verb.", `{"verbosity":"low"}`},
	{"flex", `{"service_tier":"flex"}`},
	{"priority", `{"service_tier":"priority"}`},
	{"cache 1h", `{"cache":"1h"}`},
	{"search", `{"server_tools":["web_search"]}`},
	{"search, tools", `{"server_tools":["web_search"]}`},
	{"fetch", `{"server_tools":["web_fetch"]}`},
	{"code", `{"server_tools":["code_execution"]}`},
}

// withTools reports whether a probe is of a request with tools.
func withTools(title string) bool { return strings.Contains(title, "tool") }

var marks = map[provider.OptionState]string{provider.OptionSent: "✓", provider.OptionAdjusted: "~", provider.OptionRefused: "–"}

// notes are the reasons of a vendor's table, numbered.
type notes struct{ list []string }

func (n *notes) number(why string) string {
	if why == "" {
		return ""
	}
	i := slices.Index(n.list, why)
	if i < 0 {
		i = len(n.list)
		n.list = append(n.list, why)
	}
	return fmt.Sprintf("<sup>%d</sup>", i+1)
}

// answers are a row's, as cells of the table.
func answers(m provider.Model, n *notes) (cells []string) {
	levels := []provider.Level{m.Thinking.Default}
	if m.Thinking.CanDisable() && m.Thinking.Default != provider.Off {
		levels = append(levels, provider.Off)
	}
	if m.Thinking.Default == provider.Off && m.Thinking.Thinks() {
		levels = []provider.Level{on(m.Thinking), provider.Off}
	}
	for _, p := range probes {
		var each []string
		for _, level := range levels {
			o := probe(m, level, p.title, p.options)
			each = append(each, marks[o.State]+n.number(o.Why))
		}
		if each = slices.Compact(each); len(each) == 2 {
			each[1] = "off: " + each[1]
		}
		cells = append(cells, strings.Join(each, ", "))
	}
	return cells
}

// on is a level at which a row thinks.
func on(c provider.Capability) provider.Level {
	for _, l := range c.Levels {
		if l != provider.Off {
			return l
		}
	}
	return provider.Off
}

func probe(m provider.Model, level provider.Level, title, options string) provider.OptionOutcome {
	o, err := provider.ParseOptions([]byte(options))
	if err != nil {
		panic(err) // of our own making
	}
	d, err := registry.Resolve(registry.Ask{Level: level, Source: provider.SourceTurn}, m)
	if err != nil {
		panic(err)
	}
	var tools []string
	if withTools(title) && m.Tools {
		tools = []string{"read"}
	}
	outcomes := Resolve(Sources{Turn: o}.Ask(), m, d, Request{Tools: tools}).Outcomes
	return outcomes[len(outcomes)-1]
}

// sourcesOf adds the sources of all rules that apply to a row, and the options that no source confirms.
func sourcesOf(m provider.Model, sources, unverified map[string]bool) {
	for name, a := range takes(m) {
		if a.unverified {
			unverified["`"+name+"`"] = true
		} else {
			sources[a.source] = true
		}
	}
	for _, r := range rules() {
		if len(r.Together) > 0 && r.appliesTo(m) {
			sources[r.Source] = true
		}
	}
}

// Page returns docs/options.md: for every row of the catalog, how each option is sent, adjusted or refused.
func Page() string {
	var b strings.Builder
	b.WriteString(`# Options

What becomes of each option of [protocol.md](../protocol.md#options), for every model of the built-in catalog. This page is generated: run
` + "`go test ./registry/options -update`" + ` after a change of the rules or the catalog. Models that answer alike share a line.

**✓** the option is sent. **~** it is adjusted: another value is sent, or it is asked for in another way. **–** nothing is sent. The number
names the reason. Below each table are the sources, and the options whose rules are not verified: no source that was read confirms them, and
nobody has tried them at the vendor. "off:" is the answer while thinking is off, if it differs from the one at the default level.

The columns: an answer by a schema, the same in a request with tools, JSON without a schema, ` + "`tool_choice` `required` and `none`, " +
		"`parallel_tools` `false`, `max_output_tokens`, `temperature` 0.5, `top_p` 0.5, the same `top_p` in a request with `temperature`, `top_k`, `stop`, `seed`, `verbosity`, `service_tier` `flex` and `priority`, `cache` `1h`, and `server_tools` with `web_search`, the same in a request with tools, `web_fetch` and `code_execution`" + `.
`)
	catalog := registry.Default()
	for _, v := range registry.Vendors() {
		if v.ID == "sim" {
			continue
		}
		rows := catalog.ModelsOf(v.ID)
		if len(rows) == 0 { // a local server
			rows = []provider.Model{{Provider: v.ID, ID: "any", API: v.API, Dialect: v.Dialect, Known: true, Tools: true,
				Thinking: provider.Capability{Control: provider.ControlToggle, Levels: []provider.Level{provider.Off, provider.On}, Default: provider.On, Off: provider.OffFull}}}
		}
		section(&b, v.Name, rows)
	}
	return b.String()
}

// lineMost is how many models share a line: more cannot be read.
const lineMost = 12

// section is the table of one vendor.
func section(b *strings.Builder, vendor string, rows []provider.Model) {
	fmt.Fprintf(b, "\n## %s\n\n| models |", vendor)
	for _, p := range probes {
		fmt.Fprintf(b, " %s |", p.title)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(probes)) + "\n")
	var n notes
	var order []string
	groups, sources, unverified := map[string][]string{}, map[string]bool{}, map[string]bool{}
	for _, m := range rows {
		line := strings.Join(answers(m, &n), " | ")
		if groups[line] == nil {
			order = append(order, line)
		}
		groups[line] = append(groups[line], "`"+m.ID+"`")
		sourcesOf(m, sources, unverified)
	}
	for _, line := range order {
		for some := range slices.Chunk(groups[line], lineMost) {
			fmt.Fprintf(b, "| %s | %s |\n", strings.Join(some, " "), line)
		}
	}
	if len(n.list) > 0 {
		b.WriteString("\n")
	}
	for i, why := range n.list {
		fmt.Fprintf(b, "%d. %s%s.\n", i+1, strings.ToUpper(why[:1]), why[1:])
	}
	if len(sources) > 0 {
		fmt.Fprintf(b, "\nSources: %s.\n", strings.Join(slices.Sorted(maps.Keys(sources)), "; "))
	}
	if len(unverified) > 0 {
		fmt.Fprintf(b, "\nNot verified, for at least one of the models: %s.\n", strings.Join(slices.Sorted(maps.Keys(unverified)), ", "))
	}
}
