package gemini

import (
	"maps"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// digestPart returns the digest of a part without its signature.
func digestPart(p map[string]any) string {
	bare := maps.Clone(p)
	delete(bare, "thoughtSignature")
	return strict.DigestOf(string(strict.AppendCanonical(nil, bare)))
}

// signed returns a part with its signature.
func (c *call) signed(p map[string]any) map[string]any {
	out := maps.Clone(p)
	out["thoughtSignature"], _ = c.sealer.Sign(sim.Seal{Kind: "gemini", Model: c.model.id, Text: digestPart(p)})
	return out
}
