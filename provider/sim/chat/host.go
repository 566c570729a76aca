package chat

import (
	"cmp"
	"net/http"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// hostRules is what the hosts of Chat Completions differ in. What it says of a request is judged; what it says of an
// answer is how answers come. [docs of each host: thinking, streaming, errors, tools]
type hostRules struct {
	name   string
	local  bool   // needs no key
	errors string // form of its errors; empty: OpenAI's
	models []model

	// Requests.
	think     func(c *call, f *strict.Object) error // reads what asks for thinking
	strict    bool                                  // members that it does not know are refused
	known     []string                              // members that it takes beside those that all take
	noChoice  bool                                  // tool_choice is none of them
	autoOnly  bool                                  // while thinking tool_choice is auto or none
	developer bool                                  // the role of that name is taken
	files     bool                                  // documents are taken
	members   []string                              // of assistant messages, beside role, content and tool_calls
	closed    bool                                  // any other member of a message is refused
	ids9      bool                                  // ids of calls are nine letters or digits
	short     bool                                  // ids of calls have at most 40 characters
	turns     bool                                  // users and the assistant take turns, or the model's template fails
	filled    bool                                  // a message without any text is refused
	blind     bool                                  // images are refused
	parsed    bool                                  // arguments of calls are read as JSON
	echo      string                                // a member that every turn with calls needs while thinking
	noEmpty   bool                                  // an empty content beside calls is refused
	headers   []string                              // that every request needs

	// Answers.
	field    string    // of thinking; empty: it is not shown
	details  string    // openrouter, minimax: thinking is an array as well
	array    bool      // content is an array
	tags     [2]string // thinking is inside content
	filler   string    // content of a chunk of thinking: null, empty; else there is none
	opaque   bool      // one reasoning_opaque per answer
	signed   bool      // the first call of each step is signed
	whole    bool      // calls come whole
	usage    string    // finish, trailing, choice, groq; trailing needs stream_options but where it says always
	always   bool
	count    string // of thinking: details, flat; empty: none
	outside  bool   // completion_tokens is without it
	noDone   bool
	swallows bool // an error in mid-stream is the end of the body and nothing else
	comment  string
}

// model is what the models of a host differ in.
type model struct {
	id       string
	imitates string // the simulator's own names: the row that they stand for
	note     string
	efforts  []string // words that ask for thinking; empty: there are none
	effort   string   // without a word; where there are no words: on
	off      bool     // can be off
	silent   bool     // does not think unless asked
	dumb     bool     // never thinks
	budget   int      // the largest; 0: takes none
	stream   bool     // thinks only when streamed
	hidden   bool     // thinks, and shows nothing
	form     string   // the host's own kind of control, where its models differ
	output   int      // tokens; 0: 32,000
}

func (m *model) thinks() bool { return !m.dumb }

// model finds a row, and takes the one that it imitates for what it does not say itself.
func (h *hostRules) model(id string) *model {
	for i := range h.models {
		m := h.models[i]
		if m.id != id {
			continue
		}
		for j := range h.models {
			if h.models[j].id == m.imitates {
				own := h.models[j]
				own.id, own.imitates, own.note = m.id, m.imitates, m.note
				return &own
			}
		}
		return &m
	}
	return nil
}

// window is every model's window in tokens.
const window = 262_144

// call is a request for a completion: read, checked, and reduced to what the answer needs.
type call struct {
	host    *hostRules
	account string
	header  http.Header

	model  *model
	stream bool
	usage  bool // stream_options asks for it
	most   int  // output tokens
	tools  map[string]map[string]any
	force  string
	turns  []turn
	marks  int // for a prompt cache

	thinks bool
	words  int
	split  bool // thinking is parted from the text, where that has to be asked for
	mute   bool // thinking is not shown, since nobody asked for it

	tokens int
	ask    sim.Ask
}

// turn is one message.
type turn struct {
	path   string
	role   string
	m      map[string]any
	text   string
	calls  []toolCall
	images bool
	parts  []map[string]any // of an array
}

type toolCall struct {
	id, name string
	m        map[string]any
}

// think settles how much the model thinks: by a word, not at all for the empty one.
func (c *call) think(word string) {
	c.thinks = word != ""
	c.words = map[string]int{"minimal": 20, "low": 40, "medium": 120, "high": 240, "xhigh": 420, "max": 700}[word]
	if c.thinks && c.words == 0 {
		c.words = 160 // on, default
	}
}

// lastUser is the index of the last message of a user, -1 if there is none.
func (c *call) lastUser() int {
	for i := len(c.turns) - 1; i >= 0; i-- {
		if c.turns[i].role == "user" {
			return i
		}
	}
	return -1
}

var (
	words3   = []string{"low", "medium", "high"}
	words3x  = []string{"low", "medium", "high", "xhigh"}
	wordsDS  = []string{"low", "high", "max"}
	wordsHM  = []string{"high", "max"}
	wordsNoX = []string{"low", "medium", "high", "max"}
	words5   = []string{"low", "medium", "high", "xhigh", "max"}
	words6   = []string{"minimal", "low", "medium", "high", "xhigh", "max"}
)

// errorBody is an error in the host's own form.
func (h *hostRules) errorBody(e *sim.Error, id string) any {
	var code any
	if e.Code != "" {
		code = e.Code
	}
	switch h.errors {
	case "flat":
		return map[string]any{"object": "error", "message": e.Text, "type": "BadRequestError", "param": nil, "code": e.Status}
	case "vllm":
		return map[string]any{"error": map[string]any{"message": e.Text, "type": "BadRequestError", "param": nil, "code": e.Status}}
	case "llamacpp":
		return map[string]any{"error": map[string]any{"code": e.Status, "message": e.Text, "type": e.Kind}}
	case "mistral":
		if e.Status == http.StatusUnprocessableEntity {
			return map[string]any{"detail": []any{map[string]any{"type": "extra_forbidden", "msg": e.Text}}}
		}
		return map[string]any{"object": "error", "message": e.Text, "type": e.Kind, "code": "1000"}
	case "zai":
		return map[string]any{"error": map[string]any{"code": "1210", "message": e.Text}}
	case "minimax":
		if e.Status == http.StatusBadRequest {
			return map[string]any{"base_resp": map[string]any{"status_code": 2013, "status_msg": e.Text}}
		}
	case "xai":
		return map[string]any{"code": cmp.Or(e.Code, e.Kind), "error": e.Text}
	case "openrouter":
		return map[string]any{"error": map[string]any{"code": e.Status, "message": "Provider returned error", "metadata": map[string]any{"raw": e.Text, "provider_name": "Simulator"}}}
	case "gemini":
		return []any{map[string]any{"error": map[string]any{"code": e.Status, "message": e.Text, "status": "INVALID_ARGUMENT"}}}
	case "dashscope":
		if e.Status == http.StatusBadRequest && e.Code == "" {
			code = "invalid_parameter_error"
		}
		return map[string]any{"error": map[string]any{"message": e.Text, "type": e.Kind, "code": code}, "request_id": id}
	}
	return map[string]any{"error": map[string]any{"message": e.Text, "type": e.Kind, "param": nil, "code": code}}
}
