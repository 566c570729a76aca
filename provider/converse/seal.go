package converse

import (
	"encoding/base64"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// seal makes a block of ours of what came, and ends it. Text and reasoning that are empty and hold nothing to send back are not announced at
// all.
func (r *reply) seal(p *part) error {
	return r.parts.End(&p.Part, func() (provider.Block, error) { return r.sealed(p) })
}

func (r *reply) sealed(p *part) (provider.Block, error) {
	switch p.Kind {
	case provider.KindText:
		if text := p.Text.String(); text != "" {
			return provider.Text{Text: text, Sources: p.cited}, nil
		}
	case provider.KindThinking:
		if err := r.unmask(p); err != nil {
			return nil, err
		}
		p.Thinking = r.kind(p)
		return r.sealThinking(p)
	case provider.KindToolCall:
		return r.parts.Call(&p.Part)
	}
	return nil, nil
}

// unmask shows text that was kept back, and is no mark in the end.
func (r *reply) unmask(p *part) error {
	if strings.TrimSpace(p.mask()) == redacted {
		return nil
	}
	for _, piece := range p.withheld {
		if err := r.parts.Grow(&p.Part, piece); err != nil {
			return err
		}
	}
	p.withheld = nil
	return nil
}

// kind says what the text of reasoning is. Claude shows a summary since its fourth generation.
func (r *reply) kind(p *part) provider.ThinkingKind {
	switch {
	case len(p.redacted) > 0, len(p.withheld) > 0:
		return provider.ThinkingRedacted
	case p.Text.String() == "":
		return provider.ThinkingOmitted
	}
	return r.shown()
}

// shown is what reasoning with a text is.
func (r *reply) shown() provider.ThinkingKind {
	if r.family == claude && !strings.Contains(r.origin.Model, "claude-3") {
		return provider.ThinkingSummary
	}
	return provider.ThinkingFull
}

// sealThinking keeps the API's object of reasoning that models of its maker take back.
func (r *reply) sealThinking(p *part) (provider.Block, error) {
	b := provider.Thinking{Text: p.Text.String(), Kind: r.kind(p), Duration: p.Duration()}
	var object map[string]any
	switch {
	case len(p.redacted) > 0:
		object = map[string]any{"redactedContent": joined(p.redacted)}
	case len(p.withheld) > 0: // it goes back as it came
		text := map[string]any{"text": p.mask()}
		if p.signature != "" {
			text["signature"] = p.signature
		}
		object = map[string]any{"reasoningText": text}
	case p.signature != "":
		object = map[string]any{"reasoningText": map[string]any{"text": b.Text, "signature": p.signature}}
	case b.Text == "":
		return nil, nil
	case r.family.signs():
		return b, nil
	default:
		object = map[string]any{"reasoningText": map[string]any{"text": b.Text}}
	}
	if r.request.req.Opaque && b.Text != "" {
		return b, nil
	}
	data, err := exchange.Encode(map[string]any{"reasoningContent": object})
	b.Signed, b.State = true, provider.State{Origin: r.origin, Data: data}
	return b, err
}

// joined is content in base64 that may have come in several pieces, each with an end of its own.
func joined(pieces []string) string {
	if len(pieces) == 1 {
		return pieces[0]
	}
	var all []byte
	for _, piece := range pieces {
		data, err := base64.StdEncoding.DecodeString(piece)
		if err != nil {
			return strings.Join(pieces, "")
		}
		all = append(all, data...)
	}
	return base64.StdEncoding.EncodeToString(all)
}
