package chat

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/thinktag"
)

// reply is the state of one answer.
type reply struct {
	*exchange.Answer

	api    *API
	form   *ResponseForm
	call   *call
	origin provider.Origin
	next   int // our number of the next block

	open    *part            // the text or thinking that grows
	calls   []*toolCall      // in the order of their coming
	slots   map[string]*slot // calls by the host's index
	details details
	late    object // members of the message that came after their block

	thought  bool // a block of thinking was begun
	spoke    bool // text or a call was begun
	named    bool // thinking came under a name of its own
	filler   string
	split    *thinktag.Splitter // nil: no text came, or none is parted
	learned  bool               // an earlier answer showed that the prompt opens the thinking
	content  exchange.Growth    // all text that goes through split
	fielded  strings.Builder    // thinking under a name, as long as the same between tags may follow
	repeated int                // how much of it came between tags as well

	stencil exchange.Stencil // of the chunk before, which did nothing but what like says
	like    like

	said        []said              // texts that have ended
	annotations []gjson.Result      // of the text that is open, or the first
	pages       []provider.Citation // the same, without places
	linked      []provider.Citation // images that are only addresses

	finished bool     // a finish_reason came
	filters  string   // Azure's filters that blocked something
	bills    []string // what a chunk with a usage has in it: few have one
	usage    gjson.Result
	tier     string // how the host says that it served the request
	stop     provider.Stop
}

// Reply begins to read an answer.
func (c *call) Reply(a *exchange.Answer) exchange.Reply {
	d := c.api.dialect
	r := &reply{Answer: a, api: c.api, form: &d.Response, call: c, slots: map[string]*slot{}, late: object{},
		origin: a.Origin(c.model), stop: a.Stop(c.model)}
	for _, path := range d.Response.UsagePaths {
		name := `"` + path[strings.LastIndexByte(path, '.')+1:] + `"`
		if !slices.Contains(r.bills, name) {
			r.bills = append(r.bills, name)
		}
	}
	return r
}

// part is a block of text or thinking while it comes.
type part struct {
	kind    provider.BlockKind
	number  int
	begun   bool // Begin was sent, and number is set
	since   time.Time
	text    exchange.Growth
	field   string          // of thinking: the name that it came under; empty: details or tags
	chunks  gjson.Result    // of thinking in a content array: the last chunk, for its members other than the text
	array   bool            // it came in a content array
	raw     strings.Builder // of thinking between tags: all that stood there
	details []*detail
	opaque  json.RawMessage
}

// toolCall is a call while it comes. It ends with the reply: arguments that are JSON already may go on.
type toolCall struct {
	id, name string
	given    string // the host's id, empty if it gave none
	begun    bool
	number   int
	text     exchange.Growth // of the arguments
	waiting  string          // of the text, until the name is known, and while it may be the word null
	shown    bool            // a piece of the text was shown
	members  tree            // to be given back
}

// slot is the latest call at an index.
type slot struct{ *toolCall }

// said is a text that has ended, with its sources.
type said struct {
	number int // of its block
	text   string
	from   int64 // characters of the answer's texts before it
	cited  []provider.Citation
	late   bool // some of these came after its end
}

// details is the array in which a host keeps thinking with its signatures, put together from its pieces. It goes back
// whole, unchanged and in order (docs: openrouter.ai, reasoning-tokens; platform.minimax.io, text-m2-function-call).
type details struct {
	list []*detail
	came bool // an array came, even an empty one
	late bool // something came after its block had ended
}

// detail is one element: its members, those of text joined.
type detail struct {
	members map[string]json.RawMessage
	text    *exchange.Growth // of "text" or "summary"
	owner   *part            // the block that it came in
}

// like is what a chunk did, if that was all: it brought a piece of text, or of thinking.
type like struct {
	field  string  // of thinking: the name that it came under; empty: text
	detail *detail // that grew with it; nil: none
}

// failure is an error of an answer that its host ended. Some hosts name the exchange in its chunks only.
func (r *reply) failure(kind provider.Kind, text string) *provider.Error {
	e := r.Failure(kind, text)
	e.RequestID = r.stop.RequestID
	return e
}
