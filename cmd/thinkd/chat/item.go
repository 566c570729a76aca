package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	safe "github.com/thinkd/thinkd/cmd/thinkd/printable"
)

// kind is what an item is.
type kind int

const (
	said     kind = iota // by a person
	thinking             // of the model
	answer               // its text
	call                 // of a tool
	output               // what the tool tells and returns
	note                 // what the daemon, or this program, has to say
	warned               // by the daemon
	paused               // a turn is parked
	failure
	asked // a question about a call, with its outcome
	spent // the question of a limit, when it is answered
)

// An item is a part of the conversation, in the order in which it was received.
type item struct {
	kind kind
	key  string // of the block or the call that it is; empty: it is whole
	head string // what stands above its text
	body strings.Builder
	done bool // nothing changes any more
	bad  bool // it failed, or is void

	question *update // of asked

	// How far it is in the scrollback.
	begun   bool
	printed int  // bytes of the body
	fenced  bool // of an answer: what was printed last is code
}

func (it *item) text() string { return it.body.String() }

func (it *item) set(text string) {
	it.body.Reset()
	it.body.WriteString(safe.Clean(text))
}

// grow adds what came. A tab stands where it would in a line of its own: the column is not known.
func (it *item) grow(text string) { it.body.WriteString(safe.Clean(text)) }

// thought is the head of a block of thinking that has ended.
func thought(kind string, ms int64, tokens *int, estimated bool) string {
	words := []string{"thought"}
	if ms >= 100 {
		words[0] = "thought for " + seconds(time.Duration(ms)*time.Millisecond)
	}
	if tokens != nil {
		about := ""
		if estimated {
			about = "about "
		}
		words = append(words, about+thousands(*tokens)+" tokens")
	}
	if kind != "" && kind != "full" {
		words = append(words, kind)
	}
	return strings.Join(words, " · ")
}

func seconds(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// called is what a call says of itself in one line.
func called(name string, arguments json.RawMessage) string {
	return strings.TrimSpace(name + " " + string(arguments))
}

// words are the blocks of a prompt or a result as text.
func words(blocks []block) string {
	var parts []string
	for _, b := range blocks {
		switch b.Type {
		case "text":
			parts = append(parts, b.Text)
		default:
			parts = append(parts, "["+cmp.Or(b.MIME, b.Type)+"]")
		}
	}
	return strings.Join(parts, "\n")
}
