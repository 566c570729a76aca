package registry

import (
	"testing"

	"github.com/thinkd/thinkd/provider"
)

// BenchmarkResolve decides a level for a call, with a model that is looked up for it.
func BenchmarkResolve(b *testing.B) {
	c := Default()
	for _, name := range []string{"claude-opus-5-5", "claude-haiku-4-5"} {
		b.Run(name, func(b *testing.B) {
			from := Sources{Session: provider.XHigh, Policy: provider.Downgrade}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Resolve(from.Ask(), c.Model("anthropic", name)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
