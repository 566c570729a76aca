package recall

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode"

	"github.com/thinkd/thinkd/provider"
)

// Message is a message that a summary replaces.
type Message struct {
	ID     string
	Role   provider.Role
	Blocks provider.Blocks
}

// Query is what a model looks for: words, or a message to quote from a byte on.
type Query struct {
	Words   string
	Message string
	From    int
}

// Bounds of an answer.
const (
	maxWords  = 32       // of a query
	maxQuotes = 12       // messages
	quoteSize = 600      // bytes of each quotation
	partSize  = 16 << 10 // bytes of a message that is quoted as a whole
)

// Search answers a query in words for the model. The messages are in their order, and are read once.
func Search(messages iter.Seq[Message], q Query) string {
	if q.Message != "" {
		return quoted(messages, q)
	}
	s := search{words: queryWords(q.Words)}
	if len(s.words) == 0 {
		return "Give words to search for, or the message_id of a message to read."
	}
	s.having = make([]int, len(s.words))
	for m := range messages {
		s.all++
		s.look(m)
	}
	return s.answer()
}

// search is the state of one search.
type search struct {
	words  []string
	having []int // messages that have each word
	all    int
	found  []hit
}

// hit is a message with some of the words.
type hit struct {
	number int // of the message
	id     string
	role   provider.Role
	words  uint32 // a bit for each word
	near   uint32 // those within the quotation
	quote  string
}

// queryWords are the words of a query, each once.
func queryWords(text string) (list []string) {
	for _, w := range wordsOf(text) {
		if !slices.Contains(list, w) && len(list) < maxWords {
			list = append(list, w)
		}
	}
	return list
}

// fits reports whether a word of a text is one that is looked for. A longer word that begins with it fits too, as "refunds" does for
// "refund"; numbers have to be equal.
func fits(word, wanted string) bool {
	if word == wanted {
		return true
	}
	return len(wanted) >= 4 && strings.HasPrefix(word, wanted) && !strings.ContainsFunc(wanted, unicode.IsDigit)
}

// look takes in a message.
func (s *search) look(m Message) {
	text := textOf(m.Blocks)
	type place struct{ at, word int }
	var places []place
	h := hit{number: s.all, id: m.ID, role: m.Role}
	for at, w := range wordsOf(text) {
		for i, wanted := range s.words {
			if fits(w, wanted) {
				places = append(places, place{at, i})
				h.words |= 1 << i
			}
		}
	}
	if h.words == 0 {
		return
	}
	for i := range s.words {
		if h.words&(1<<i) != 0 {
			s.having[i]++
		}
	}
	best := 0
	var within [maxWords]int // how often each word is in the window
	var near uint32
	for first, last := 0, 0; first < len(places); first++ { // the window begins with places[first]
		for ; last < len(places) && places[last].at < places[first].at+quoteSize*3/4; last++ {
			within[places[last].word]++
			near |= 1 << places[last].word
		}
		if bits.OnesCount32(near) > bits.OnesCount32(h.near) {
			h.near, best = near, places[first].at
		}
		if within[places[first].word]--; within[places[first].word] == 0 {
			near &^= 1 << places[first].word
		}
	}
	piece, begin, end := part(text, best-quoteSize/4, quoteSize)
	if h.quote = strings.Clone(piece); begin > 0 {
		h.quote = "…" + h.quote
	}
	if end < len(text) {
		h.quote += "…"
	}
	s.found = append(s.found, h)
}

// worth ranks a set of words: a word that few messages have tells more.
func (s *search) worth(words uint32) (sum float64) {
	for i := range s.words {
		if words&(1<<i) != 0 {
			sum += math.Log(1 + float64(s.all)/float64(s.having[i]))
		}
	}
	return sum
}

func (s *search) answer() string {
	if len(s.found) == 0 {
		return fmt.Sprintf("None of the %d messages that the summary replaces has these words. Try other words.", s.all)
	}
	rank := func(h hit) float64 { return s.worth(h.words) + s.worth(h.near) }
	slices.SortStableFunc(s.found, func(a, b hit) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(b.number, a.number))
	})
	shown := s.found[:min(len(s.found), maxQuotes)]
	var b strings.Builder
	fmt.Fprintf(&b, "%d of the %d messages that the summary replaces have some of these words. The best come first. To read one of them whole, give its message_id.\n",
		len(s.found), s.all)
	for _, h := range shown {
		fmt.Fprintf(&b, "\n[%s, message_id %s]\n%s\n", h.role, h.id, h.quote)
	}
	return b.String()
}

// quoted is a part of one message.
func quoted(messages iter.Seq[Message], q Query) string {
	for m := range messages {
		if m.ID != q.Message {
			continue
		}
		text := textOf(m.Blocks)
		piece, begin, end := part(text, q.From, partSize)
		head := fmt.Sprintf("[%s, message_id %s", m.Role, m.ID)
		if begin > 0 || end < len(text) {
			head += fmt.Sprintf(", bytes %d to %d of %d", begin, end, len(text))
		}
		if end < len(text) {
			head += fmt.Sprintf("; to read on, give from %d", end)
		}
		return head + "]\n" + piece
	}
	return "The summary replaces no message with this message_id."
}
