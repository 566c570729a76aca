package gemini

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// media takes in a part that is an image or a sound. Its state is the part without the data: a signature on it goes
// back with it (docs: thought-signatures).
func (r *reply) media(p gjson.Result, b provider.Media) error {
	if err := r.hops.only("a part beside text"); err != nil {
		return err
	}
	r.hops.fixed()
	if err := r.seal(); err != nil {
		return err
	}
	members := map[string]json.RawMessage{}
	p.ForEach(func(name, value gjson.Result) bool {
		if name.Str != "inlineData" {
			members[name.Str] = json.RawMessage(value.Raw)
		}
		return true
	})
	raw, err := exchange.Encode(members)
	if err != nil {
		return err
	}
	if b.State, err = r.state([]json.RawMessage{raw}); err != nil {
		return err
	}
	r.said = true
	return r.block(provider.Media{Type: b.Type}, b, "")
}

// linkedImages adds the addresses of images that the vendor sent only as addresses: as sources of the last text, or in a text of
// their own.
func (r *reply) linkedImages() error {
	switch {
	case len(r.linked) == 0:
		return nil
	case len(r.texts) == 0:
		text := exchange.LinkedImages(r.linked)
		r.said = true
		return r.block(provider.Text{}, provider.Text{Text: text, Sources: r.linked}, text)
	}
	last := &r.texts[len(r.texts)-1]
	for _, c := range r.linked {
		last.cited, last.late = exchange.Cite(last.cited, c), true
	}
	return nil
}
