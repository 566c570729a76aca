package chat

import (
	"cmp"
	"net/http"

	"github.com/thinkd/thinkd/provider/sim"
	"github.com/thinkd/thinkd/provider/sim/strict"
)

// hostRules are the differences between the hosts of Chat Completions: the rules that a request must keep, and the form of the
// answers. [docs of each host: thinking, streaming, errors, tools]
type hostRules struct {
	name   string
	local  bool   // needs no key
	errors string // the form of its errors; empty: that of OpenAI
	models []model

	// Requests.
	think     func(c *call, f *strict.Object) error // reads the members that control thinking
	strict    bool                                  // unknown members are refused
	known     []string                              // members that it accepts in addition to commonMembers
	noChoice  bool                                  // tool_choice is unknown
	choices   []string                              // of tool_choice, "named" among them; empty: all
	refuses   []string                              // of commonMembers
	formats   []string                              // of response_format; empty: json_object and json_schema
	plainOnly bool                                  // a streamed answer has no response_format
	stops     int                                   // the most texts of stop; 0: 4
	coldest   float64                               // the lowest temperature
	hottest   float64                               // the highest temperature; 0: 2
	leastP    float64                               // the lowest top_p
	autoOnly  bool                                  // with thinking, tool_choice must be auto or none
	developer bool                                  // it accepts the role developer
	files     bool                                  // it accepts documents
	members   []string                              // of assistant messages, in addition to role, content and tool_calls
	closed    bool                                  // any other member of a message is refused
	ids9      bool                                  // ids of calls are nine letters or digits
	short     bool                                  // ids of calls have at most 40 characters
	turns     bool                                  // the roles user and assistant must alternate, or the model's template fails
	filled    bool                                  // a message without any text is refused
	blind     bool                                  // images are refused
	parsed    bool                                  // arguments of calls are read as JSON
	echo      string                                // the member that each turn with calls needs if the model thinks
	noEmpty   bool                                  // empty content in a message with calls is refused
	headers   []string                              // that every request needs

	// Answers.
	field    string    // the member for thinking; empty: it is not shown
	details  string    // openrouter or minimax: thinking is also an array
	array    bool      // content is an array
	tags     [2]string // thinking is in the content, between these tags
	filler   string    // content of a chunk of thinking: null or empty; otherwise there is no content
	opaque   bool      // one reasoning_opaque per answer
	signed   bool      // the first call of each step is signed
	whole    bool      // calls are not streamed
	usage    string    // finish, trailing, choice or groq; trailing needs stream_options unless it says always
	always   bool
	count    string // where the tokens of thinking are counted: details or flat; empty: nowhere
	outside  bool   // completion_tokens does not include thinking
	noDone   bool
	swallows bool // after an error in mid-stream the body ends without a message
	comment  string
	cache    promptCache
}

// model has the differences between the models of a host.
type model struct {
	id       string
	imitates string // for the simulator's own names: the imitated model
	note     string
	efforts  []string // words for thinking; empty: there are none
	effort   string   // the default; on if there are no words
	off      bool     // thinking can be off
	silent   bool     // does not think unless asked
	dumb     bool     // never thinks
	budget   int      // the largest one; 0: it accepts none
	stream   bool     // thinks only when streamed
	hidden   bool     // thinks, and shows nothing
	form     string   // the kind of control, if the models of the host differ
	output   int      // tokens; 0: 32,000
}

func (m *model) thinks() bool { return !m.dumb }

// model returns the row for an id. Members that the row leaves out come from the row that it imitates.
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

// promptCache has a host's rules for cached prefixes of prompts, and says where the host counts what it read. The zero value
// caches nothing.
type promptCache struct {
	least  int      // tokens of the shortest prefix that is cached; 0: the host caches nothing
	marked []string // parts of the names of models whose prompts are cached at marks; the others' are cached everywhere
	count  string   // details: prompt_tokens_details.cached_tokens; hits: prompt_cache_hit_tokens; top: cached_tokens
	effort bool     // prompts with different efforts share no prefix
}

// window is the context window of every model, in tokens.
const window = 262_144

// call is a checked request for a completion. It has only what the answer needs.
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
	json   bool // response_format is json_object: the prompt must have the word
	split  bool // the request asks for thinking separate from the text
	mute   bool // thinking is hidden: the request says so, or does not ask for it

	tokens int
	prompt sim.Prefixes
	cached sim.CacheCount
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

// think sets how much the model thinks. An empty word means not at all.
func (c *call) think(word string) {
	c.thinks = word != ""
	c.words = map[string]int{"minimal": 20, "low": 40, "medium": 120, "high": 240, "xhigh": 420, "max": 700}[word]
	if c.thinks && c.words == 0 {
		c.words = 160 // on, default
	}
}

// lastUser returns the index of the last message of a user, or -1.
func (c *call) lastUser() int {
	for i := len(c.turns) - 1; i >= 0; i-- {
		if c.turns[i].role == "user" {
			return i
		}
	}
	return -1
}

// lastPrompt returns the index of the user message with which the current turn began at Google, behind a gateway that joins messages
// of one role: one that follows results directly is part of their content, with which no turn begins. It is -1 if there is none.
// [google-gemini/gemini-cli#28565]
func (c *call) lastPrompt() int {
	for i := len(c.turns) - 1; i >= 0; i-- {
		if c.turns[i].role == "user" && (i == 0 || c.turns[i-1].role != "tool") {
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

// errorBody returns an error in the form of the host.
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
