package replay

import (
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/mediatype"
)

// Images are the types of images that the APIs of Anthropic, OpenAI and their hosts take. Gemini takes no GIF, and others
// besides (docs: vision; image-understanding). Sounds are what Gemini takes (docs: audio), and Clips what Chat Completions has words
// for (docs: audio).
var (
	Images       = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	GeminiImages = []string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}
	OllamaImages = []string{"image/png", "image/jpeg", "image/webp"}
	Sounds       = []string{"audio/wav", "audio/mpeg", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"}
	Clips        = []string{"audio/wav", "audio/mpeg"}
)

// OwnMedia is a conversation in which what models made, other than text, is as the API takes it in an answer: what another
// API made stands in it as a sentence, the same each time. It is for adapters.
func OwnMedia(list []provider.Message, api string) []provider.Message {
	made, copied := list, false
	for i, m := range list {
		foreign := func(b provider.Block) bool {
			media, ok := b.(provider.Media)
			return ok && media.State.Origin.API != api
		}
		if m.Role != provider.Assistant || !slices.ContainsFunc(m.Blocks, foreign) {
			continue
		}
		if !copied {
			made, copied = slices.Clone(list), true
		}
		made[i].Blocks = slices.Clone(m.Blocks)
		for j, b := range m.Blocks {
			if foreign(b) {
				made[i].Blocks[j] = provider.Text{Text: fmt.Sprintf("[%s that was made here]", b.(provider.Media).Type)}
			}
		}
	}
	return made
}

// Unseen counts media of a conversation that a model is not shown. The zero value is that all are shown.
type Unseen struct {
	Kind int // of a kind or a type that the model or its API does not take
	Over int // the oldest ones of more than a request may have
}

// Count is how many there are.
func (u Unseen) Count() int { return u.Kind + u.Over }

// Visible is a conversation as a model is shown it, by an API that has a form for these kinds or types of media besides text: what
// the API or the model's row does not take stands in it as a sentence, the same each time, and is counted. One picture
// would otherwise shut a session off from every model that is blind. Where the row says how many media a request may have, or how many
// bytes, the oldest ones give way to newer ones. It is for adapters.
func Visible(list []provider.Message, row provider.Model, kinds ...string) (shown []provider.Message, unseen Unseen) {
	shown = mapped(list, func(b provider.Media) (provider.Block, bool) {
		was := b.Type
		b.Type = mediatype.Honest(b.Type, b.Data)
		if b.Bytes() > 0 && !takes(row, kinds, b) {
			unseen.Kind++
			return provider.Text{Text: unseenText(b)}, true
		}
		return b, b.Type != was
	})
	shown, unseen.Over = newest(shown, row.Media)
	return shown, unseen
}

// takes reports whether an API with these forms shows a model a medium.
func takes(row provider.Model, forms []string, b provider.Media) bool {
	kind := b.Kind()
	if kind == provider.MediaText {
		return true
	}
	types := row.Media.Of(kind).Types
	return (slices.Contains(forms, kind) || slices.Contains(forms, b.Type)) && (len(row.Input) == 0 || slices.Contains(row.Input, kind)) &&
		(len(types) == 0 || slices.Contains(types, b.Type))
}

func unseenText(b provider.Media) string {
	what := b.Type
	switch b.Kind() {
	case provider.MediaImage:
		what = "an image"
	case provider.MediaPDF:
		what = "a document"
	case provider.MediaAudio:
		what = "a sound"
	case provider.MediaVideo:
		what = "a video"
	}
	return fmt.Sprintf("[%s%s that this model cannot be shown]", what, called(b))
}

// OmittedMedia tells of media that were left out, if any were.
func OmittedMedia(row provider.Model, unseen Unseen) (list []provider.Notice) {
	if unseen.Kind > 0 {
		list = append(list, provider.Notice{Kind: provider.NoticeOverride, Text: fmt.Sprintf("images and other media left out, since %s does not take them: %d", row.ID, unseen.Kind)})
	}
	if unseen.Over > 0 {
		list = append(list, provider.Notice{Kind: provider.NoticeOverride, Text: fmt.Sprintf("the oldest images and other media left out, since %s takes no more in a request: %d", row.ID, unseen.Over)})
	}
	return list
}
