package mediatype

import (
	"encoding/binary"
	"testing"
	"time"
)

func TestHonest(t *testing.T) {
	for _, tt := range []struct{ label, data, want string }{
		{"image/png", "\x89PNG\r\n\x1a\n", PNG},
		{"image/png", "\xff\xd8\xff\xe0", JPEG},
		{"image/jpg", "\x00\x01", JPEG},
		{"image/png", "\x00\x01\x02", PNG},
		{"image/png", " <html>no such image</html>", "image/svg+xml"},
		{"text/html; charset=utf-8", "<html></html>", "text/html"},
		{"application/json", "%PDF-1.7", "application/json"},
		{"image/png", "%PDF-1.7", PDF},
		{"application/octet-stream", "%PDF-1.7", PDF},
		{"audio/mp3", "\xff\xfb", MP3},
		{"audio/x-wav", "RIFF\x00\x00\x00\x00WAVE", WAV},
		{"video/ogg", "OggS", "video/ogg"},
		{"Image/PNG", "", PNG},
	} {
		if got := Honest(tt.label, []byte(tt.data)); got != tt.want {
			t.Errorf("%q of %q is %q, want %q", tt.data, tt.label, got, tt.want)
		}
	}
}

func TestOfFile(t *testing.T) {
	for _, tt := range []struct{ name, data, want string }{
		{"a.png", "\xff\xd8\xff\xe0", JPEG},
		{"notes", "a text", Plain},
		{"a.md", "# Title", "text/markdown"},
		{"page.html", "<html>", "text/html"},
		{"drawing.svg", "<svg/>", "image/svg+xml"},
		{`C:\files\A.GO`, "package a", "text/x-go"},
		{"a.go", "\xff\xfe", Binary},
		{"a.zip", "PK\x03\x04\x00", Binary},
		{"a.aac", "\xff\xf1\x00", "audio/aac"},
		{"scan", "%PDF-1.4", PDF},
		{"empty", "", Plain},
	} {
		if got := OfFile(tt.name, []byte(tt.data)); got != tt.want {
			t.Errorf("%q with %q is %q, want %q", tt.name, tt.data, got, tt.want)
		}
	}
}

func TestTextual(t *testing.T) {
	for kind, want := range map[string]bool{"text/x-go": true, "application/json": true, "application/ld+json": true, "application/pdf": false,
		"image/svg+xml": false, "application/zip": false, "": false} {
		if Textual(kind) != want {
			t.Errorf("%q", kind)
		}
	}
}

func wav(rate, size uint32, data string) []byte {
	b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00")
	b = append(binary.LittleEndian.AppendUint32(b, rate), "\x02\x00\x10\x00LIST\x03\x00\x00\x00abc\x00data"...)
	return append(binary.LittleEndian.AppendUint32(b, size), data...)
}

func TestDuration(t *testing.T) {
	for _, tt := range []struct {
		name string
		data []byte
		want time.Duration
	}{
		{"half a second", wav(8, 4, "abcd"), 500 * time.Millisecond},
		{"a stream names no size", wav(8, 0xffffffff, "abcd"), 500 * time.Millisecond},
		{"no rate", wav(0, 4, "abcd"), 0},
		{"cut off", wav(8, 4, "")[:30], 0},
		{"no wav", []byte("ID3"), 0},
	} {
		if got := Duration(tt.data); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// FuzzDuration has any bytes for a WAV.
func FuzzDuration(f *testing.F) {
	f.Add(wav(8, 4, "abcd"))
	f.Add(wav(0, 0xffffffff, ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		if Duration(data) < 0 || OfFile("a", data) == "" {
			t.Fatal("a negative time, or no type")
		}
	})
}
