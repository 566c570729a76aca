package replay

import (
	"fmt"
	"slices"

	"github.com/thinkd/thinkd/provider"
)

// newest leaves out the oldest media of a conversation where it has more, or more bytes, than a request may have. It reads the messages
// in order, as they were said. Where a message goes beyond a limit, the oldest media before it are left out until three quarters of the
// limit are used: so the prefix of the conversation changes once, and then not until so much was added again. Media of the message
// itself are left out only if it is beyond the limit without all others.
func newest(list []provider.Message, limits *provider.MediaLimits) (shown []provider.Message, over int) {
	if limits == nil {
		return list, 0
	}
	w := window{limits: limits, count: make(map[string]int)}
	for i, m := range list {
		m.Blocks.EachMedia(func(b provider.Media) { w.add(i, b) })
		w.settle(i)
	}
	if len(w.out) == 0 {
		return list, 0
	}
	n := -1
	shown = mapped(list, func(b provider.Media) (provider.Block, bool) {
		if n++; !w.out[n] {
			return b, false
		}
		return provider.Text{Text: fmt.Sprintf("[%s%s that was left out: a request has room for newer ones only]", b.Type, called(b))}, true
	})
	return shown, len(w.out)
}

// window is the media of a conversation that a request has room for.
type window struct {
	limits *provider.MediaLimits
	all    []held
	out    map[int]bool   // by place in all
	count  map[string]int // by kind
	bytes  int
}

type held struct {
	message int
	kind    string
	bytes   int
}

func (w *window) add(message int, b provider.Media) {
	h := held{message, b.Kind(), b.Encoded()}
	if h.kind == provider.MediaText { // it is text on the wire
		h.bytes = 0
	}
	w.all = append(w.all, h)
	w.count[h.kind]++
	w.bytes += h.bytes
}

// dimensions are what limits may bound: the number of media of a kind, or, empty, the bytes of all.
var dimensions = []string{provider.MediaImage, provider.MediaPDF, provider.MediaAudio, ""}

// beyond reports whether more is there than so many quarters of a limit.
func (w *window) beyond(dimension string, quarters int) bool {
	used, most := w.bytes, w.limits.Total()
	if dimension != "" {
		used, most = w.count[dimension], w.limits.Of(dimension).Count
	}
	return most > 0 && used > most*quarters/4
}

// settle makes room after a message.
func (w *window) settle(message int) {
	for _, d := range dimensions {
		if !w.beyond(d, 4) {
			continue
		}
		for i, h := range w.all {
			if !w.beyond(d, 3) || h.message == message && !w.beyond(d, 4) {
				break
			}
			w.drop(i, d)
		}
	}
}

func (w *window) drop(i int, dimension string) {
	h := w.all[i]
	if w.out[i] || dimension != "" && h.kind != dimension || dimension == "" && h.bytes == 0 {
		return
	}
	if w.out == nil {
		w.out = make(map[int]bool)
	}
	w.out[i] = true
	w.count[h.kind]--
	w.bytes -= h.bytes
}

// mapped is a conversation with the media that f returns. Messages that do not change are shared.
func mapped(list []provider.Message, f func(provider.Media) (provider.Block, bool)) []provider.Message {
	out, copied := list, false
	for i, m := range list {
		blocks := m.Blocks.MapMedia(f)
		if len(blocks) == 0 || &blocks[0] == &m.Blocks[0] {
			continue
		}
		if !copied {
			out, copied = slices.Clone(list), true
		}
		out[i].Blocks = blocks
	}
	return out
}
