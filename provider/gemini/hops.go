package gemini

import (
	"errors"
	"fmt"

	"github.com/thinkd/thinkd/provider"
)

// reconnects is how often a broken stream is taken up again without progress. The vendor's own client gives up after as
// many (SDK: continuation.go).
const reconnects = 3

// hops follows an answer over the requests that it takes (docs: get-started-with-gemini-4).
//
// A token marks a checkpoint. What a stream says after its last one comes again when the stream is taken up there:
// since holds what was shown since, overlap what of it has still to come again, and is not shown twice. A run that then
// comes differently cannot be put right, since what was shown was shown: the answer has broken.
type hops struct {
	token   string
	since   []piece
	stuck   bool // since the checkpoint something came that cannot come again
	overlap []piece
	moved   bool // a piece was shown or a checkpoint came in the request at hand
	idle    int  // requests without progress
}

// piece is text of one kind.
type piece struct {
	kind provider.BlockKind
	text string
}

var errDiffers = errors.New("the stream was taken up again and came differently")

// checkpoint says that all so far can be taken up from here.
func (h *hops) checkpoint(token string) {
	h.moved = h.moved || token != h.token
	h.token, h.stuck = token, false
	h.since = append([]piece(nil), h.overlap...)
}

// fixed says that what came now must not come again.
func (h *hops) fixed() { h.moved, h.stuck = true, true }

// only refuses what must not stand where earlier text has to come again.
func (h *hops) only(what string) error {
	if len(h.overlap) > 0 {
		return fmt.Errorf("%w: %s", errDiffers, what)
	}
	return nil
}

// fresh is what of a text was not shown before.
func (h *hops) fresh(kind provider.BlockKind, text string) (string, error) {
	for len(h.overlap) > 0 && text != "" {
		old := &h.overlap[0]
		n := min(len(old.text), len(text))
		if old.kind != kind || old.text[:n] != text[:n] {
			return "", errDiffers
		}
		old.text, text = old.text[n:], text[n:]
		if old.text == "" {
			h.overlap = h.overlap[1:]
		}
	}
	if text == "" {
		return "", nil
	}
	h.moved = true
	if h.token == "" {
		return text, nil // nothing can be taken up
	}
	if n := len(h.since); n > 0 && h.since[n-1].kind == kind {
		h.since[n-1].text += text
	} else {
		h.since = append(h.since, piece{kind, text})
	}
	return text, nil
}
