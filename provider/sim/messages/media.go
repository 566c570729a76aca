package messages

import "github.com/thinkd/thinkd/provider/sim/portable"

// mediaRules are those of a model about images and other files. [docs: vision, pdf-support]
func mediaRules(m *model) portable.MediaRules {
	r := portable.MediaRules{Types: []string{"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}, Image: 5 << 20, All: 32_000_000,
		Images: 600, Side: 8000, Many: 20, ManySide: 2000}
	if m != nil && m.window <= 200_000 {
		r.Images = 100
	}
	return r
}
