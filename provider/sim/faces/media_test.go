package faces_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"flag"
	"hash/crc32"
	"image"
	"image/png"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/simtest"
	"github.com/thinkd/thinkd/registry"
)

// drawing is a PNG whose header names a size in pixels, in so many characters of base64 or a few more than it needs.
func drawing(t *testing.T, width, height, characters int) string {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		t.Fatal(err)
	}
	data := out.Bytes()
	binary.BigEndian.PutUint32(data[16:], uint32(width))
	binary.BigEndian.PutUint32(data[20:], uint32(height))
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	if more := characters/4*3 - len(data); more > 0 {
		data = append(data, make([]byte, more)...)
	}
	return base64.StdEncoding.EncodeToString(data)
}

// TestMediaLimits sends what is just within each limit that the catalog states of a model, which the stand-in of its vendor takes, and
// what is just beyond it, which the stand-in refuses. So thinkd and the stand-ins agree on each limit. Requests of more than 8 MB are sent
// with -largemedia only.
func TestMediaLimits(t *testing.T) {
	s := sim.New(sim.Config{Now: simtest.November})
	to := func(host string) func(*testing.T, string, []string) simtest.Reply {
		return func(t *testing.T, model string, images []string) simtest.Reply {
			var parts arr
			for _, data := range images {
				parts = append(parts, obj{"type": "image_url", "image_url": obj{"url": "data:image/png;base64," + data}})
			}
			return simtest.Complete(t, s, host, simtest.ChatHeader(), obj{"model": model, "messages": arr{simtest.Say("user", parts)}})
		}
	}
	anthropic := func(t *testing.T, model string, images []string) simtest.Reply {
		var parts arr
		for _, data := range images {
			parts = append(parts, obj{"type": "image", "source": obj{"type": "base64", "media_type": "image/png", "data": data}})
		}
		return simtest.Create(t, s, simtest.Header(), simtest.Request(obj{"model": model, "messages": arr{simtest.Say("user", parts)}}))
	}
	openai := func(t *testing.T, model string, images []string) simtest.Reply {
		var parts arr
		for _, data := range images {
			parts = append(parts, obj{"type": "input_image", "image_url": "data:image/png;base64," + data})
		}
		return simtest.Respond(t, s, "/v1/responses", nil, obj{"model": model, "input": arr{obj{"role": "user", "content": parts}}})
	}
	google := func(t *testing.T, model string, images []string) simtest.Reply {
		var parts arr
		for _, data := range images {
			parts = append(parts, obj{"inlineData": obj{"mimeType": "image/png", "data": data}})
		}
		return simtest.Generate(t, s, model, obj{"contents": arr{simtest.Said("user", parts...)}})
	}
	for _, tt := range []struct {
		vendor, model string
		send          func(*testing.T, string, []string) simtest.Reply
	}{
		{"anthropic", "claude-sonnet-5", anthropic},
		{"anthropic", "claude-haiku-4-5-20251001", anthropic},
		{"openai", "gpt-5.5", openai},
		{"gemini", "gemini-2.5-flash", google},
		{"xai", "grok-4.3", to("xai")},
		{"groq", "qwen/qwen3.6-27b", to("groq")},
		{"mistral", "mistral-medium-3-5", to("mistral")},
	} {
		row := registry.Default().Model(tt.vendor, tt.model)
		if row.Media == nil {
			t.Fatalf("%s/%s: no limits in the catalog", tt.vendor, tt.model)
		}
		for _, limit := range breaches(t, row.Media) {
			t.Run(tt.vendor+"/"+tt.model+"/"+limit.name, func(t *testing.T) {
				if r := tt.send(t, tt.model, limit.within); r.Status != 200 {
					t.Errorf("within: %d: %.300s", r.Status, r.Body)
				}
				if r := tt.send(t, tt.model, limit.beyond); r.Status != 400 && r.Status != 413 {
					t.Errorf("beyond: %d: %.300s", r.Status, r.Body)
				}
			})
		}
	}
}

var large = flag.Bool("largemedia", false, "send requests of tens of megabytes as well")

type breach struct {
	name           string
	within, beyond []string // images in base64
}

// breaches are images at each limit.
func breaches(t *testing.T, l *provider.MediaLimits) (list []breach) {
	small, k := drawing(t, 1, 1, 0), l.Image
	times := func(n int, data string) (images []string) {
		for range n {
			images = append(images, data)
		}
		return images
	}
	if n := k.Count; n > 0 {
		list = append(list, breach{"max_count", times(n, small), times(n+1, small)})
	}
	if n := k.Side; n > 0 {
		list = append(list, breach{"max_side", times(1, drawing(t, n, 1, 0)), times(1, drawing(t, 1, n+1, 0))})
	}
	if n := k.Many; n > 0 {
		side := drawing(t, k.ManySide+1, 1, 0)
		list = append(list, breach{"many", times(n, side), times(n+1, side)})
	}
	if n := k.Pixels; n > 0 {
		list = append(list, breach{"max_pixels", times(1, drawing(t, n/4096, 4096, 0)), times(1, drawing(t, n/4096+1, 4096, 0))})
	}
	sent := func(bytes int) bool { return bytes > 0 && (*large || bytes < 8_000_000) }
	if n := k.Bytes; sent(n) {
		list = append(list, breach{"max_bytes of an image", times(1, drawing(t, 1, 1, n)), times(1, drawing(t, 1, 1, n+4))})
	}
	if n := l.Bytes; sent(n) {
		const room = 10 << 10 // for the rest of the request, which some vendors count as well
		images := 10
		if k.Count > 0 {
			images = min(images, k.Count)
		}
		list = append(list, breach{"max_bytes", times(images, drawing(t, 1, 1, (n-room)/images)), times(images, drawing(t, 1, 1, n/images+4))})
	}
	return list
}
