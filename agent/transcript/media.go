package transcript

import (
	"fmt"
	"slices"

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
