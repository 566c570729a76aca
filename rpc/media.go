package rpc

import (
	"encoding/base64"
	"slices"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// messageOf shows a message with its media, as far as there is room.
func (s *Server) messageOf(m agent.Message, limit int) (wireMessage, error) {
	if blobs := s.config.Blobs; blobs != nil {
		room := limit
		m.Parts = slices.Clone(m.Parts)
		for i, p := range m.Parts {
			m.Parts[i].Block = withMedia(blobs, p.Block, &room)
		}
	}
	return newWireMessage(m, limit)
}

// eventOf is an event with its media, as far as there is room.
func (s *Server) eventOf(e feed.Event, limit int) feed.Event {
	blobs := s.config.Blobs
	if blobs == nil {
		return e
	}
	switch e := e.(type) {
	case feed.PromptStored:
		e.Content = allWithMedia(blobs, e.Content, &limit)
		return e
	case feed.ToolEnd:
		e.Content = allWithMedia(blobs, e.Content, &limit)
		return e
	}
	return e
}

// withMedia is a block with its data, if that fits into the room and is there: else it is shown without.
func withMedia(blobs session.Blobs, b provider.Block, room *int) provider.Block {
	switch b := b.(type) {
	case provider.Media:
		if size := base64.StdEncoding.EncodedLen(b.Size); b.Hash != "" && size <= *room {
			if data, err := blobs.Read(b.Hash); err == nil { // a missing one is told where a model needs it
				*room -= size
				return provider.Media{Type: b.Type, Data: data, State: b.State}
			}
		}
	case provider.ToolResult:
		b.Blocks = allWithMedia(blobs, b.Blocks, room)
		return b
	}
	return b
}

func allWithMedia(blobs session.Blobs, content provider.Blocks, room *int) provider.Blocks {
	content = slices.Clone(content)
	for i, b := range content {
		content[i] = withMedia(blobs, b, room)
	}
	return content
}
