package responses

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

func (r *reply) open(index int64, kind string) *item {
	it := &item{index: index, kind: kind}
	if !r.Whole {
		it.since = time.Now()
	}
	r.items = append(r.items, it)
	r.at[index] = it
	return it
}

// openPart begins another part. That is the end of the one before it, whose text says all there is of it.
func (r *reply) openPart(it *item, kind string, index int64) (*shown, error) {
	p := &shown{kind: kind, index: index, since: it.since}
	if last := it.last(); last != nil {
		p.since = time.Now()
		if err := r.show(it, last, last.text.Rest("")); err != nil {
			return nil, err
		}
		member := "text"
		if last.kind == "refusal" {
			member = "refusal"
		}
		data, err := exchange.Encode(map[string]string{"type": last.kind, member: last.text.String()})
		if err != nil {
			return nil, err
		}
		state := provider.State{Origin: r.origin, Data: data}
		if r.opaque && it.kind == "reasoning" {
			state = provider.State{}
		}
		if err := r.end(it, last, state, false); err != nil {
			return nil, err
		}
	}
	it.parts = append(it.parts, p)
	r.refused = r.refused || kind == "refusal"
	return p, nil
}

// show tells what is to be shown of a part. A block is begun with its first character.
func (r *reply) show(it *item, p *shown, text string) error {
	if text == "" {
		return r.Alive()
	}
	if err := r.tell(it, p); err != nil {
		return err
	}
	return r.Delta(p.number, text)
}

// tell begins a block, once.
func (r *reply) tell(it *item, p *shown) error {
	if p.begun {
		return nil
	}
	p.begun, p.number = true, r.next
	r.next++
	var shell provider.Block
	switch it.kind {
	case "message":
		shell = provider.Text{}
	case "reasoning":
		shell = provider.Thinking{Kind: thinkingKind(p.kind)}
	case "function_call", "custom_tool_call":
		shell = provider.ToolCall{ID: it.callID, Name: it.name}
	case "web_search_call", "code_interpreter_call":
		shell = provider.ServerTool{ID: it.id, Name: served[it.kind]}
	default:
		shell = provider.Opaque{}
	}
	return r.Emit(provider.Begin{Index: p.number, Block: shell})
}

// thinkingKind says what the text is: models whose weights are open show the thinking itself.
func thinkingKind(part string) provider.ThinkingKind {
	switch part {
	case "summary_text":
		return provider.ThinkingSummary
	case "reasoning_text":
		return provider.ThinkingFull
	}
	return provider.ThinkingOmitted
}

// argument is the one part of a call.
func (r *reply) argument(it *item) *shown {
	if it.last() == nil {
		it.parts = append(it.parts, &shown{kind: "arguments", secret: r.api.host.SealedCalls})
	}
	return it.last()
}

// end ends a part of a message or of reasoning. signed says that the state is what the vendor wants back.
func (r *reply) end(it *item, p *shown, state provider.State, signed bool) error {
	if err := r.tell(it, p); err != nil {
		return err
	}
	text := p.text.String()
	p.ended = true
	var b provider.Block = provider.Text{Text: text, Sources: sources(text, p.cited), State: state}
	if it.kind == "reasoning" {
		thought := provider.Thinking{Text: p.text.String(), Kind: thinkingKind(p.kind), Signed: signed, State: state}
		if !p.since.IsZero() {
			thought.Duration = time.Since(p.since)
		}
		b = thought
	}
	return r.Emit(provider.End{Index: p.number, Block: b})
}

// sources are the pages that a text's annotations name (docs: tools-web-search).
func sources(text string, cited []gjson.Result) (list []provider.Citation) {
	for _, a := range cited {
		if a.Get("type").Str != "url_citation" {
			continue
		}
		c := provider.Citation{URL: a.Get("url").Str, Title: a.Get("title").Str}
		c.Place(text, a.Get("start_index").Int(), a.Get("end_index").Int())
		list = exchange.Cite(list, c)
	}
	return list
}
