package transcript

import (
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/agent/media"
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
	load := func(b provider.Media) (provider.Block, bool) {
		if b.Hash == "" {
			return b, false
		}
		data, err := blobs.Read(b.Hash)
		if err != nil {
			lost = append(lost, Missing{b, err})
			return provider.Text{Text: fmt.Sprintf("[%s that is missing]", b.Type)}, true
		}
		b.Data, b.Hash, b.Size = data, "", 0
		return b, true
	}
	req.Messages = slices.Clone(req.Messages)
	for i := range req.Messages {
		req.Messages[i].Blocks = req.Messages[i].Blocks.MapMedia(load)
	}
	return lost
}

// KeepMedia stores the media of content once, as blobs, and returns the content with their names. So they take no memory until a
// request needs them. If blobs is nil, content stays as it is. The error is that of the blobs.
func KeepMedia(blobs session.Blobs, content provider.Blocks) (provider.Blocks, error) {
	if blobs == nil {
		return content, nil
	}
	kept := slices.Clone(content)
	for i, b := range kept {
		b, ok := b.(provider.Media)
		if !ok {
			continue
		}
		hash, err := blobs.Keep(b.Data)
		if err != nil {
			return nil, err
		}
		b.Hash, b.Size, b.Data = hash, len(b.Data), nil
		kept[i] = b
	}
	return kept, nil
}

// WithoutMedia has a sentence in place of media that could not be stored.
func WithoutMedia(content provider.Blocks) provider.Blocks {
	left := slices.Clone(content)
	for i, b := range left {
		if b, ok := b.(provider.Media); ok {
			left[i] = provider.Text{Text: fmt.Sprintf("[%s was left out: it could not be kept]", b.Type)}
		}
	}
	return left
}

// maxToolMedia is in bytes, of one image or document of a result.
const maxToolMedia = 5 << 20

// Result returns the result of a tool as a model gets it: text of at most room bytes, and media that the model takes. If the text is
// longer, its beginning and its end are kept. A sentence replaces what is left out.
func Result(to media.Recipient, content provider.Blocks, room int) provider.Blocks {
	out := provider.Blocks{}
	for _, b := range content {
		switch b := b.(type) {
		case provider.Text:
			text := Abridged(b.Text, room, "the output is longer than a result may be")
			room = max(room-len(text), 0)
			out = append(out, provider.Text{Text: text})
		case provider.Media:
			switch b = media.Describe(b); {
			case len(b.Data) > maxToolMedia:
				out = append(out, provider.Text{Text: fmt.Sprintf("[%s of %d bytes was left out: it is too large]", b.Type, len(b.Data))})
			case media.Check(to, provider.Blocks{b}) != nil:
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
