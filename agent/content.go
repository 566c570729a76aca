package agent

import (
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/agent/transcript"
	"github.com/thinkd/thinkd/provider"
)

// noticeMissing says that a model is sent a sentence in place of an image or a document that is not there any more.
const noticeMissing = "media_missing"

// stored is what the log keeps of content: media are kept once beside it, and it has their names. So they take no memory
// until a request needs them.
func (cfg Config) stored(content provider.Blocks) (provider.Blocks, error) {
	if cfg.Blobs == nil {
		return content, nil
	}
	kept := slices.Clone(content)
	for i, b := range kept {
		media, ok := b.(provider.Media)
		if !ok {
			continue
		}
		hash, err := cfg.Blobs.Keep(media.Data)
		if err != nil {
			return nil, err
		}
		kept[i] = provider.Media{Type: media.Type, Hash: hash, Size: len(media.Data), State: media.State}
	}
	return kept, nil
}

// result is stored for the result of a tool, which goes on without what cannot be kept.
func (s *state) result(content provider.Blocks) provider.Blocks {
	kept, err := s.cfg.stored(content)
	if err == nil {
		return kept
	}
	s.log.Warn("media of a result are not kept", "err", err)
	kept = slices.Clone(content)
	for i, b := range kept {
		if media, ok := b.(provider.Media); ok {
			kept[i] = provider.Text{Text: fmt.Sprintf("[%s was left out: it could not be kept]", media.Type)}
		}
	}
	return kept
}

// load reads the media that a request refers to. What cannot be read is logged, and is a notice.
func (cfg Config) load(req *provider.Request) (notices []provider.Notice) {
	for _, lost := range transcript.LoadMedia(cfg.Blobs, req) {
		m := lost.Media
		cfg.Log.Warn("media", "hash", m.Hash, "err", lost.Err)
		notices = append(notices, provider.Notice{Kind: noticeMissing,
			Text: fmt.Sprintf("%s of %d bytes is missing or damaged, and the model is told so in its place: %.12s", m.Type, m.Size, m.Hash)})
	}
	return notices
}

// maxToolMedia is in bytes, of one image or document of a result.
const maxToolMedia = 5 << 20

// fitting is a result as a model gets it: text up to a limit, of which the beginning and the end are kept, and media that
// the model takes. A sentence replaces what is left out.
func (s *state) fitting(content provider.Blocks) provider.Blocks {
	out := provider.Blocks{}
	room := s.cfg.Limits.ToolOutput
	for _, b := range content {
		switch b := b.(type) {
		case provider.Text:
			text := transcript.Abridged(b.Text, room, "the output is longer than a result may be")
			room = max(room-len(text), 0)
			out = append(out, provider.Text{Text: text})
		case provider.Media:
			switch {
			case len(b.Data) > maxToolMedia:
				out = append(out, provider.Text{Text: fmt.Sprintf("[%s of %d bytes was left out: it is too large]", b.Type, len(b.Data))})
			case takes(s.run.model, provider.Blocks{b}) != nil:
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
