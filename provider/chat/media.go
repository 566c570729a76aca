package chat

import (
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// images takes in the images of a message or delta (docs: openrouter.ai, image-generation).
func (r *reply) images(m gjson.Result) error {
	var err error
	m.Get("images").ForEach(func(_, image gjson.Result) bool {
		err = r.image(image)
		return err == nil
	})
	return err
}

// image takes in an image. One that is only an address is not fetched: the address is a source of the text. Where the
// answer has no text, it becomes one.
func (r *reply) image(image gjson.Result) error {
	address := image.Get("image_url.url").Str
	media, ok := exchange.DataURL(address)
	switch {
	case ok:
		return r.media(media)
	case len(address) > exchange.MaxAddress || address == "":
		return r.Deviation("an image that is neither base64 text nor an address")
	}
	c := exchange.LinkedImage(address)
	r.linked = append(r.linked, c)
	r.page(c)
	return nil
}

// linkedImages says where the images of an answer without text are.
func (r *reply) linkedImages() error {
	if len(r.linked) == 0 || len(r.said) > 0 {
		return nil
	}
	if _, err := r.begin(provider.KindText); err != nil {
		return err
	}
	return r.say(exchange.LinkedImages(r.linked))
}

func (r *reply) media(b provider.Media) error {
	if err := r.flush(); err != nil {
		return err
	}
	if err := r.closeOpen(); err != nil {
		return err
	}
	number := r.next
	r.next++
	r.spoke = true
	if err := r.Emit(provider.Begin{Index: number, Block: provider.Media{Type: b.Type}}); err != nil {
		return err
	}
	return r.Emit(provider.End{Index: number, Block: b})
}

// array takes in content that is an array: parts of text and of thinking, in any order (docs.mistral.ai: reasoning).
func (r *reply) array(content gjson.Result) error {
	var err error
	content.ForEach(func(_, chunk gjson.Result) bool {
		switch kind := chunk.Get("type").Str; kind {
		case "text", "output_text":
			if text := chunk.Get("text"); text.Type == gjson.String {
				err = r.text(text)
			}
		case "thinking", "reasoning":
			err = r.thinkingChunk(chunk)
		case "image_url":
			err = r.image(chunk)
		default:
			err = r.Deviation("a part of content of type " + kind)
		}
		return err == nil
	})
	return err
}
