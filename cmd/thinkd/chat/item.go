package chat

import (
	"bytes"
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

	approved bool // output that the question about its call has shown

	question *update // of asked

	clean safe.Cleaner // of what comes

	// How far it is in the scrollback.
	begun   bool
	printed int // bytes of the body in plain lines; rows of an answer on a screen

	prose prose // of an answer: its rows in the scrollback
	full  prose // and those in the reader
	laid  laid  // the rows of another item that is done
}

// laid are rows, and what they are for.
type laid struct {
	width    int
	look     look
	unfolded bool
	rows     []string
}

func (it *item) text() string { return it.body.String() }

func (it *item) set(text string) {
	it.body.Reset()
	it.clean = safe.Cleaner{}
	it.grow(text)
}

// grow adds what came.
func (it *item) grow(text string) { it.body.WriteString(it.clean.Clean(text)) }

// kept is how many bytes of the text a view has taken in.
func (it *item) kept() int {
	if it.kind == answer && it.prose.taken > 0 {
		return it.prose.taken
	}
	return it.printed
}

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

// called is what a call says of itself: its name and its arguments. A text at the beginning, such as a path or a command, stands alone.
func called(name string, arguments json.RawMessage) string {
	parts := []string{}
	d := json.NewDecoder(bytes.NewReader(arguments))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return strings.TrimSpace(name + " " + string(arguments))
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return name + " " + string(arguments)
		}
		var text string
		switch plain := json.Unmarshal(value, &text) == nil; {
		case plain && len(parts) == 0:
			parts = append(parts, text)
		case plain:
			parts = append(parts, fmt.Sprintf("%s: %s", key, text))
		default:
			parts = append(parts, fmt.Sprintf("%s: %s", key, value))
		}
	}
	return strings.TrimSpace(name + " " + strings.Join(parts, " · "))
}

// prompted are the blocks of a prompt as text. The files that it takes along stand behind it, in one line.
func prompted(blocks []block) string {
	var texts, files []block
	for _, b := range blocks {
		if b.Type == "text" {
			texts = append(texts, b)
		} else {
			files = append(files, b)
		}
	}
	return strings.TrimSpace(words(texts) + "\n" + strings.ReplaceAll(words(files), "\n", " "))
}

// words are the blocks of a prompt or a result as text.
func words(blocks []block) string {
	var parts []string
	for _, b := range blocks {
		switch b.Type {
		case "text":
			parts = append(parts, b.Text)
		default:
			parts = append(parts, "["+cmp.Or(b.Name, b.MIME, b.Type)+"]")
		}
	}
	return strings.Join(parts, "\n")
}
