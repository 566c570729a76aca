package agent

import (
	"fmt"
	"slices"

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

// load reads the media that a request refers to. What cannot be read stands in it as a sentence, and is told.
func (cfg Config) load(req *provider.Request) (missing []provider.Notice) {
	if cfg.Blobs == nil {
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
				data, err := cfg.Blobs.Read(b.Hash)
				if err != nil {
					cfg.Log.Warn("media", "hash", b.Hash, "err", err)
					missing = append(missing, provider.Notice{Kind: noticeMissing,
						Text: fmt.Sprintf("%s of %d bytes is missing or damaged, and the model is told so in its place: %.12s", b.Type, b.Size, b.Hash)})
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
	return missing
}
