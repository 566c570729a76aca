package responses

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// runs begins the block of a tool that the vendor runs, once.
func (r *reply) runs(it *item) error {
	if it.last() == nil {
		it.parts = append(it.parts, &shown{kind: it.kind})
	}
	return r.tell(it, it.last())
}

// ran ends the block. An item whose end did not come has no result, and does not go back.
func (r *reply) ran(it *item, object gjson.Result, state provider.State) error {
	if err := r.runs(it); err != nil {
		return err
	}
	b := provider.ServerTool{ID: it.id, Name: served[it.kind]}
	if !state.IsZero() {
		b = serverTool(object, state)
	}
	return r.Emit(provider.End{Index: it.last().number, Block: b})
}

// serverTool reads what people are shown of such an item. All of it is in its state (docs: tools-web-search,
// tools-code-interpreter; SDK: ResponseFunctionWebSearch, ResponseCodeInterpreterToolCall).
func serverTool(object gjson.Result, state provider.State) provider.ServerTool {
	status := object.Get("status").Str
	b := provider.ServerTool{ID: object.Get("id").Str, Name: served[object.Get("type").Str], Done: true, Failed: status == "failed" || status == "incomplete", State: state}
	if b.Name == "code_execution" {
		b.Input = input(map[string]any{"code": object.Get("code").Str})
		b.Text = provider.ServerText(printed(object.Get("outputs")))
		return b
	}
	action := object.Get("action")
	asked := map[string]any{}
	action.ForEach(func(name, value gjson.Result) bool {
		if name.Str != "sources" {
			asked[name.Str] = json.RawMessage(value.Raw)
		}
		return true
	})
	b.Input = input(asked)
	for _, page := range action.Get("sources").Array() {
		b.Sources = exchange.Page(b.Sources, page.Get("url").Str, "")
	}
	if action.Get("sources").IsArray() {
		b.Text = exchange.Pages(len(b.Sources))
	}
	b.Sources = exchange.Page(b.Sources, action.Get("url").Str, "")
	return b
}

func input(members map[string]any) json.RawMessage {
	text, err := exchange.Encode(members)
	if err != nil {
		panic(err) // texts, and JSON that was read
	}
	return text
}

// printed is what code printed. Of its images only the number is said: their addresses are of use for a short time.
func printed(outputs gjson.Result) string {
	var b strings.Builder
	for _, out := range outputs.Array() {
		if out.Get("type").Str == "image" {
			b.WriteString("[image]\n")
			continue
		}
		b.WriteString(out.Get("logs").Str)
	}
	return b.String()
}

// charged is what the vendor charges for in addition to tokens: the searches, by its own count if it gives one, and containers. Pages that
// are opened are not charged (docs: pricing).
func (r *reply) charged(counted gjson.Result) (searches int, metered bool) {
	for _, it := range r.items {
		metered = metered || it.kind == "code_interpreter_call"
		if it.kind == "web_search_call" && it.end.Get("action.type").Str == "search" {
			searches++
		}
	}
	if counted.Type == gjson.Number {
		searches = provider.Tokens(counted.Int())
	}
	return searches, metered
}
