package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Conversion counts the blocks of earlier thinking that one request keeps, converts and drops, and the media that it leaves out. The log
// keeps the originals.
type Conversion struct {
	Kept    int      `json:"kept"`
	Dropped int      `json:"dropped"`
	AsText  int      `json:"as_text"`
	Media   int      `json:"media_left_out,omitempty"` // images and other media in whose place a sentence stands
	Why     []string `json:"-"`                        // of what is not kept: short sentences, each once
}

// Converter is a [Provider] that can report before a call how the request would send earlier thinking. Convert makes no call and changes
// nothing. Stream with the same request does the same, and reports it. The error is ErrNotKnownYet if only a call can show it.
type Converter interface {
	Convert(req *Request) (Conversion, error)
}

// ErrNotKnownYet says that only a call will show what is sent, and how much of earlier thinking.
var ErrNotKnownYet = errors.New("whether the model accepts earlier thinking is known only after a call")

// Outliner is a [Provider] that can describe before a call what it would send. Outline makes no call, changes nothing, and describes what
// Stream would send. It may take milliseconds for a long conversation.
type Outliner interface {
	Outline(req *Request) (Outline, error)
}

// OutlineOf asks p, if it is an Outliner. The error is ErrNotKnownYet if it is none.
func OutlineOf(p Provider, req *Request) (Outline, error) {
	if o, ok := p.(Outliner); ok {
		return o.Outline(req)
	}
	return Outline{}, ErrNotKnownYet
}

// Reasons that several APIs have.
const (
	WhyUnsealed = "it was cut off before its end"
	WhyForeign  = "another vendor's thinking cannot be taken over"
	WhySummary  = "a summary of another model's thinking is not thinking"
	WhyRepair   = "the provider refused it, and the session goes on without it"
	WhyAsText   = "thinking of another origin goes as plain text"
)

// Drop counts blocks that are left out.
func (c *Conversion) Drop(blocks int, why string) {
	if blocks > 0 {
		c.Dropped += blocks
		c.because(why)
	}
}

// Say counts a block that goes as text.
func (c *Conversion) Say() {
	c.AsText++
	c.because(WhyAsText)
}

func (c *Conversion) because(why string) {
	if !slices.Contains(c.Why, why) {
		c.Why = append(c.Why, why)
	}
}

// Notices returns the notices about it; none if all is kept.
func (c Conversion) Notices() []Notice {
	if c.Dropped == 0 && c.AsText == 0 && c.Media == 0 {
		return nil
	}
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // numbers
	}
	text := fmt.Sprintf("blocks of earlier thinking that do not go back as they came: %d left out, %d sent as text", c.Dropped, c.AsText)
	if c.Media > 0 {
		text += fmt.Sprintf("; media left out: %d", c.Media)
	}
	return []Notice{{Kind: NoticeConverted, Data: data, Text: text}}
}
