package chat

import (
	"slices"

	"github.com/thinkd/thinkd/provider/sim/portable"
)

// media are the rules of a host about images and other files. [docs: console.groq.com vision; docs.mistral.ai vision; docs.x.ai
// image-understanding; openrouter.ai multimodal]
func (h *hostRules) media() portable.MediaRules {
	r := portable.MediaRules{Types: []string{"image/png", "image/jpeg", "image/gif", "image/webp"}}
	if h.files {
		r.Types = append(r.Types, "application/pdf")
	}
	r.Types = slices.Concat(r.Types, h.sounds())
	switch h.name {
	case "groq":
		r.Images, r.All, r.Pixels = 5, 4_000_000, 33_177_600
	case "mistral":
		r.Images = 8
	case "xai":
		r.Types, r.Image = []string{"image/png", "image/jpeg"}, 20<<20
	}
	return r
}

// sounds are the types of sounds that a host takes.
func (h *hostRules) sounds() []string {
	if h.name == "openrouter" || h.name == "dashscope" {
		return []string{"audio/wav", "audio/mp3"}
	}
	return nil
}
