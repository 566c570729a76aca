package media

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/picture"
)

// Scaled is what became of an image of a request.
type Scaled struct {
	Was, Is provider.Media // Is has no data if Err is set
	Err     error          // why a sentence stands in its place
}

// String says it for people.
func (s Scaled) String() string {
	if s.Err != nil {
		return fmt.Sprintf("%s of %d by %d pixels and %d bytes was left out: %v", s.Was.Type, s.Was.Width, s.Was.Height, s.Was.Bytes(), s.Err)
	}
	return fmt.Sprintf("%s of %d by %d pixels and %d bytes is sent as %s of %d by %d pixels and %d bytes", s.Was.Type, s.Was.Width, s.Was.Height, s.Was.Bytes(),
		s.Is.Type, s.Is.Width, s.Is.Height, s.Is.Bytes())
}

// Scaler makes images smaller for models. The zero Scaler is ready. It must not be copied.
type Scaler struct {
	mu    sync.Mutex // also so that one image is decoded at once
	kept  map[string]provider.Media
	order []string // of kept, the oldest first
	bytes int
}

// mostKept bounds the images that a Scaler keeps, in bytes.
const mostKept = 32 << 20

// Scale replaces the images of a request that its model does not take as they are, and returns what became of them. The request's list of
// messages changes, and not the blocks of the messages, which others share. It may take seconds, so it is not for the goroutine of a
// session.
func (s *Scaler) Scale(to Recipient, req *provider.Request) (list []Scaled) {
	images := 0
	for _, m := range req.Messages {
		m.Blocks.EachMedia(func(b provider.Media) {
			if b.Kind() == provider.MediaImage {
				images++
			}
		})
	}
	if images == 0 || to.Model.Known && len(to.Model.Input) > 0 && !slices.Contains(to.Model.Input, provider.MediaImage) {
		return nil
	}
	if most := to.Model.Media.Of(provider.MediaImage).Count; most > 0 {
		images = min(images, most)
	}
	bounds := to.bounds(images)
	copied := false
	for i, m := range req.Messages {
		blocks := m.Blocks.MapMedia(func(b provider.Media) (provider.Block, bool) {
			if b.Kind() != provider.MediaImage || !b.State.IsZero() { // what a model made goes back as it was
				return b, false
			}
			was := b
			is, changed, err := s.fit(b, bounds)
			switch {
			case err != nil:
				list = append(list, Scaled{was, provider.Media{}, err})
				return provider.Text{Text: fmt.Sprintf("[%s that is too large for this model]", b.Type)}, true
			case changed:
				list = append(list, Scaled{was, is, nil})
			}
			return is, changed
		})
		if len(blocks) == 0 || &blocks[0] == &m.Blocks[0] {
			continue
		}
		if !copied {
			req.Messages, copied = slices.Clone(req.Messages), true
		}
		req.Messages[i].Blocks = blocks
	}
	return list
}

// fit makes an image keep bounds. One that cannot be read is left to the vendor.
func (s *Scaler) fit(b provider.Media, bounds picture.Bounds) (_ provider.Media, changed bool, err error) {
	h, ok := picture.Read(b.Data)
	if !ok || bounds.Allow(h, len(b.Data)) {
		return b, false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%x %v", sha256.Sum256(b.Data), bounds)
	small, ok := s.kept[key]
	if !ok {
		data, now, err := picture.Fit(b.Data, bounds)
		if err != nil {
			return b, false, err
		}
		small = provider.Media{Type: now.Type, Data: data, Width: now.Width, Height: now.Height}
		s.keep(key, small)
	}
	small.Name = b.Name
	return small, true, nil
}

func (s *Scaler) keep(key string, b provider.Media) {
	if s.kept == nil {
		s.kept = make(map[string]provider.Media)
	}
	s.kept[key], s.order = b, append(s.order, key)
	s.bytes += len(b.Data)
	for s.bytes > mostKept {
		oldest := s.order[0]
		s.bytes -= len(s.kept[oldest].Data)
		delete(s.kept, oldest)
		s.order = s.order[1:]
	}
}
