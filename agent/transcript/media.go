package transcript

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Missing is an image or a document that could not be read.
type Missing struct {
	Media provider.Media
	Err   error
}

// LoadMedia reads the media that a request refers to. A sentence replaces what cannot be read. If blobs is nil, the log has all
// media. It reads files, so it is not for the goroutine of a session.
func LoadMedia(blobs session.Blobs, req *provider.Request) (lost []Missing) {
	if blobs == nil {
		return nil
	}
	var load func(provider.Blocks) provider.Blocks
	load = func(list provider.Blocks) provider.Blocks {
		changed := list
		change := func(i int, b provider.Block) {
			if &changed[0] == &list[0] {
				changed = slices.Clone(list) // the session's view has the same
			}
			changed[i] = b
		}
		for i, b := range list {
			switch b := b.(type) {
			case provider.Media:
				if b.Hash == "" {
					continue
				}
				data, err := blobs.Read(b.Hash)
				if err != nil {
					lost = append(lost, Missing{b, err})
					change(i, provider.Text{Text: fmt.Sprintf("[%s that is missing]", b.Type)})
					continue
				}
				change(i, provider.Media{Type: b.Type, Data: data, State: b.State})
			case provider.ToolResult:
				if len(b.Blocks) > 0 {
					b.Blocks = load(b.Blocks)
					change(i, b)
				}
			}
		}
		return changed
	}
	req.Messages = slices.Clone(req.Messages)
	for i := range req.Messages {
		if len(req.Messages[i].Blocks) > 0 {
			req.Messages[i].Blocks = load(req.Messages[i].Blocks)
		}
	}
	return lost
}

// MediaError refuses media that a model does not take.
type MediaError struct {
	Model string
	Type  string
	Takes []string
}

func (e *MediaError) Error() string {
	return fmt.Sprintf("model %s does not take %s; it takes: %s", e.Model, e.Type, strings.Join(e.Takes, ", "))
}

// Takes returns a *MediaError for the first media that a model does not take, as far as its row of the catalog says so.
func Takes(m provider.Model, content provider.Blocks) error {
	for _, b := range content {
		media, ok := b.(provider.Media)
		if ok && m.Known && len(m.Input) > 0 && !slices.Contains(m.Input, media.Kind()) {
			return &MediaError{m.Ref(), media.Type, m.Input}
		}
	}
	return nil
}

// KeepMedia stores the media of content once, as blobs, and returns the content with their names. So they take no memory until a
// request needs them. If blobs is nil, content stays as it is. The error is that of the blobs.
func KeepMedia(blobs session.Blobs, content provider.Blocks) (provider.Blocks, error) {
	if blobs == nil {
		return content, nil
	}
	kept := slices.Clone(content)
	for i, b := range kept {
		media, ok := b.(provider.Media)
		if !ok {
			continue
		}
		hash, err := blobs.Keep(media.Data)
		if err != nil {
			return nil, err
		}
		kept[i] = provider.Media{Type: media.Type, Hash: hash, Size: len(media.Data), State: media.State}
	}
	return kept, nil
}

// WithoutMedia has a sentence in place of media that could not be stored.
func WithoutMedia(content provider.Blocks) provider.Blocks {
	left := slices.Clone(content)
	for i, b := range left {
		if media, ok := b.(provider.Media); ok {
			left[i] = provider.Text{Text: fmt.Sprintf("[%s was left out: it could not be kept]", media.Type)}
		}
	}
	return left
}

// maxToolMedia is in bytes, of one image or document of a result.
const maxToolMedia = 5 << 20

// Result is the result of a tool as a model gets it: text of at most so many bytes, of which the beginning and the end are kept,
// and media that the model takes. A sentence replaces what is left out.
func Result(m provider.Model, content provider.Blocks, room int) provider.Blocks {
	out := provider.Blocks{}
	for _, b := range content {
		switch b := b.(type) {
		case provider.Text:
			text := Abridged(b.Text, room, "the output is longer than a result may be")
			room = max(room-len(text), 0)
			out = append(out, provider.Text{Text: text})
		case provider.Media:
			switch {
			case len(b.Data) > maxToolMedia:
				out = append(out, provider.Text{Text: fmt.Sprintf("[%s of %d bytes was left out: it is too large]", b.Type, len(b.Data))})
			case Takes(m, provider.Blocks{b}) != nil:
				out = append(out, provider.Text{Text: fmt.Sprintf("[%s was left out: the model does not take it]", b.Type)})
			default:
				out = append(out, b)
			}
		default:
			out = append(out, provider.Text{Text: fmt.Sprintf("[%s was left out: a result has text and media]", provider.KindOf(b))})
		}
	}
	return out
}
