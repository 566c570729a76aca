package wire

import (
	"encoding/base64"
	"slices"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// blockWithMedia returns a block with its data if that fits into the room and can be read, and otherwise without.
func blockWithMedia(blobs session.Blobs, b provider.Block, room *int) provider.Block {
	switch b := b.(type) {
	case provider.Media:
		if size := base64.StdEncoding.EncodedLen(b.Size); b.Hash != "" && size <= *room {
			if data, err := blobs.Read(b.Hash); err == nil { // a missing one is reported when a model needs it
				*room -= size
				b.Data, b.Hash, b.Size = data, "", 0
				return b
			}
		}
	case provider.ToolResult:
		b.Blocks = WithMedia(blobs, b.Blocks, room)
		return b
	}
	return b
}

// WithMedia returns content with the data of its media, as far as there is room. What does not fit stays without data.
func WithMedia(blobs session.Blobs, content provider.Blocks, room *int) provider.Blocks {
	if blobs == nil { // it is in the log
		return content
	}
	content = slices.Clone(content)
	for i, b := range content {
		content[i] = blockWithMedia(blobs, b, room)
	}
	return content
}
