package daemon

import (
	"io"
	"testing"
)

// BenchmarkLoadConfig is what each command pays that reads the configuration.
func BenchmarkLoadConfig(b *testing.B) {
	env := func(string) string { return "" }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := loadConfig("", env); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen is what a daemon does before it listens, over a store that is there.
func BenchmarkOpen(b *testing.B) {
	p := Options{LogTo: io.Discard, Getenv: func(string) string { return "" }, LogLevel: "warn", LogFormat: "text", DataDir: b.TempDir()}
	b.ReportAllocs()
	for b.Loop() {
		d, err := p.open(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := d.close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
