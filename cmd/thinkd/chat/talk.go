package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	safe "github.com/thinkd/thinkd/cmd/thinkd/printable"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
)

// A talk is the state of a chat. Its owner passes it the daemon's messages in order ([talk.notified], [talk.answered]) and the person's
// input ([talk.say], [talk.rule], [talk.cancel] and choices of the picker).
type talk struct {
	*conversation
	daemon Daemon
	now    func() time.Time
	begin  map[string]any // params of session/new
	start  func()         // begins or attaches, on the first connection

	answers    map[int]func(door.Answer)                  // how to handle the pending responses
	changing   int                                        // pending requests after which another session is open
	early      []entered                                  // what was entered meanwhile, for the session that will be open
	picker     *picker                                    // nil: nothing is to be picked
	compaction int                                        // id of the request for one
	aside      *aside                                     // the last side question of this session; nil: none was asked
	asides     int                                        // how many this chat has asked
	boxed      bool                                       // the view shows side questions in a box, and not as items
	contents   func(text string) (provider.Blocks, error) // the prompt with the files that it mentions; nil: it takes none along
	save       func(file, text string) error              // writes a new file
	copy       func(text string)                          // to the clipboard; nil: the view cannot
	editor     func(text string)                          // opens a text in $EDITOR, which becomes the input; nil: the view cannot
	models     []modelRow                                 // once they were listed, for completion
	hints      bool                                       // a person reads the output: it may say what can be done next
	fresh      bool                                       // this chat created the session, and it has no messages
	leaving    bool                                       // the person wants to go
	over       bool                                       // and can
	broken     error                                      // the connection cannot be written to
	again      time.Time                                  // when the session is followed again, which cannot be served now; zero: it is followed
}

func newTalk(now func() time.Time, begin map[string]any) *talk {
	return &talk{conversation: newConversation(), now: now, begin: begin}
}

// connected sets the connection. Requests on an earlier one get no response. An open session is attached again.
func (t *talk) connected(d Daemon) {
	t.daemon, t.broken, t.answers, t.changing, t.again = d, nil, make(map[int]func(door.Answer)), 0, time.Time{}
	if t.aside != nil && t.aside.request != 0 {
		t.aside.fail("the connection was lost; ask again")
	}
	t.ask("initialize", map[string]any{"protocol_version": 1, "client": map[string]any{"name": "thinkd chat", "attended": true},
		"capabilities": map[string]any{"confirm": true}}, nil)
	if t.id != "" {
		t.follow(t.id, t.seq)
	}
	t.refuseEarly()
}

// ask sends a request and returns its id. It calls then with the result. The person sees an error.
func (t *talk) ask(method string, params any, then func(json.RawMessage) error) (id int) {
	return t.send(method, params, func(a door.Answer) { t.take(a, then) })
}

// change is ask for a request after which another session is open. What is entered until then waits for it: sent at once, it would
// go to the session that the person has left. If the request fails, it goes nowhere.
func (t *talk) change(method string, params any, then func(json.RawMessage) error) {
	t.changing++
	id := t.send(method, params, func(a door.Answer) {
		t.take(a, then) // may need another request
		t.changing--
		if a.Error != nil {
			t.refuseEarly()
		}
		for t.changing == 0 && len(t.early) > 0 {
			e := t.early[0]
			t.early = t.early[1:]
			e.enter()
		}
	})
	if id == 0 {
		t.changing--
	}
}

// entered is input that waits.
type entered struct {
	text  string
	enter func() // again
}

// refuseEarly gives up what was entered for a session that was not opened.
func (t *talk) refuseEarly() {
	for _, e := range t.early {
		t.failed = true
		t.add(failure, "", "not sent, because no other session was opened: "+e.text)
	}
	t.early = nil
}

// take takes an answer: the person sees an error.
func (t *talk) take(a door.Answer, then func(json.RawMessage) error) {
	switch {
	case a.Error != nil:
		t.failed = true
		t.add(failure, "", refusal(a.Error))
	case then != nil:
		t.decoded(then(a.Result))
	}
}

// decoded takes the error of decoding an answer.
func (t *talk) decoded(err error) {
	if err != nil {
		t.add(failure, "", "answer of the daemon: "+err.Error())
	}
}

// send sends a request and returns its id; 0 if the connection is broken. It calls then with the answer, which may be an error.
func (t *talk) send(method string, params any, then func(door.Answer)) (id int) {
	id, err := t.daemon.Send(method, params)
	if err != nil {
		t.unsent(err)
		return 0
	}
	t.answers[id] = then
	return id
}

// unsent takes the error of a write to the connection.
func (t *talk) unsent(err error) {
	t.broken = err
	t.add(failure, "", "not sent: "+err.Error())
}

// result decodes an answer for the function that it is for.
func result[T any](then func(T)) func(json.RawMessage) error {
	return func(answer json.RawMessage) error {
		var r T
		if err := json.Unmarshal(answer, &r); err != nil {
			return err
		}
		then(r)
		return nil
	}
}

// answered takes an answer. That of a cancelled request is ignored.
func (t *talk) answered(a door.Answer) {
	then := t.answers[a.ID]
	delete(t.answers, a.ID)
	if a.ID == t.compaction {
		t.compacting = false
	}
	if then != nil {
		then(a)
	}
}

// refusal is an error with what it offers.
func refusal(e *conn.Error) string {
	text := e.Message
	if list, ok := e.Data["candidates"].([]any); ok && len(list) > 0 {
		var words []string
		for _, w := range list {
			words = append(words, fmt.Sprint(w))
		}
		text += " (" + strings.Join(words, ", ") + ")"
	}
	return text
}

// notified applies a notification. Late ones of other sessions are ignored.
func (t *talk) notified(u update) {
	switch {
	case u.Session != t.id:
	case u.Method == "stale":
		t.follow(t.id, t.seq)
	case u.Method == "ask_delta":
		if t.aside != nil && t.aside.name == u.Ask {
			t.aside.grow(u.Kind, u.Delta)
		}
	default:
		last := t.turn
		t.apply(u, t.now())
		if u.Method == "turn_end" {
			t.read(t.id)
		}
		if u.Method == "turn_end" && u.Turn == last && u.Into == "" && unfinished(u.Stop) && len(t.queue) == 0 {
			t.offerToContinue()
		}
	}
}

// read marks a session as read. Nobody has to know if that fails.
func (t *talk) read(id string) {
	t.send("session/read", map[string]any{"session_id": id}, func(door.Answer) {})
}

// create begins a session.
func (t *talk) create() {
	t.change("session/new", t.begin, result(func(s settled) {
		t.leave()
		t.conversation, t.fresh = newConversation(), true
		t.id, t.level = s.Session, s.Level
		if s.Model != nil {
			t.model = *s.Model
		}
		t.instructed(s.Instructions)
	}))
}

// instructed names the files with instructions that models of the session get.
func (t *talk) instructed(list []instructionFile) {
	for _, f := range list {
		words := fmt.Sprintf("instructions: %s (%s)", f.Path, size64(int64(f.Bytes)))
		if f.Cut {
			words += ", and the rest of the file is left out"
		}
		t.note("%s", words)
	}
}

// leave runs before a change of session. It deletes a session without messages.
func (t *talk) leave() {
	if t.id == "" {
		return
	}
	t.closeAside()
	t.aside = nil
	if t.fresh {
		t.ask("session/delete", map[string]any{"session_id": t.id}, nil)
	} else {
		t.ask("session/detach", map[string]any{"session_id": t.id}, nil)
	}
	t.fresh = false
}

// historyMessages is how much of a session is shown when it is opened; resumedMessages when a connection was lost.
const (
	historyMessages = 50
	resumedMessages = 2
)

// follow attaches to a session: after the last known notification, or from the beginning.
func (t *talk) follow(id string, after uint64) { t.followThen(id, after, func() {}) }

// followThen follows a session, and calls then once it is shown.
func (t *talk) followThen(id string, after uint64, then func()) {
	params := map[string]any{"session_id": id, "limit": historyMessages}
	if id == t.id {
		params["after_seq"], params["limit"] = after, resumedMessages
	}
	send := t.change
	if id == t.id {
		send = func(method string, params any, then func(json.RawMessage) error) {
			t.send(method, params, func(a door.Answer) { t.followed(id, a, then) })
		}
	}
	send("session/attach", params, result(func(a attached) {
		t.again = time.Time{}
		switch {
		case id == t.id && a.Updates == nil: // discard what is known of the open turn
			t.conversation = newConversation()
			t.note("the connection was lost; attached again")
			a.More = false // the earlier messages stand above
		case id != t.id:
			t.leave()
			t.conversation = newConversation()
			t.note("session %s · %s", id, a.Session.Title)
			t.sharedBy(a.Session)
			t.instructed(a.Session.Instructions)
		}
		if err := t.attach(a, t.now()); err != nil {
			t.add(failure, "", err.Error())
		}
		t.read(id)
		then()
		if len(a.Messages) > 0 && t.turn == "" && len(t.queue) == 0 {
			t.offerToContinue()
		}
	}))
}

// followed takes the answer to attach of the session that is open. A node of a cluster may be unable to serve it for a while, and says when to try again.
func (t *talk) followed(id string, a door.Answer, then func(json.RawMessage) error) {
	pause, later := retryAfter(a.Error)
	if !later || id != t.id {
		t.take(a, then)
		return
	}
	if t.again.IsZero() {
		t.note("the session cannot be shown now (%s); trying again", line(a.Error.Message, 80))
	}
	t.again = t.now().Add(pause)
}

// followAgain follows the session, if it is time. Its owner calls it at least once a second while again is set.
func (t *talk) followAgain() {
	if t.again.IsZero() || t.now().Before(t.again) {
		return
	}
	t.again = t.now().Add(answerTime) // the next answer sets it, or the session is followed
	t.follow(t.id, t.seq)
}

// Bounds of the pause before a session is followed again. answerTime is how long an answer may take: a node may wait for the move of a session.
const (
	minPause   = 100 * time.Millisecond
	maxPause   = 10 * time.Second
	answerTime = 30 * time.Second
)

// retryAfter is when a request that was refused can be repeated.
func retryAfter(e *conn.Error) (pause time.Duration, ok bool) {
	if e == nil || e.Code != conn.CodeClosing {
		return 0, false
	}
	ms, ok := e.Data["retry_after_ms"].(float64)
	return min(max(time.Duration(ms)*time.Millisecond, minPause), maxPause), ok
}

// sharedBy says what a guest may do with a session.
func (t *talk) sharedBy(s summary) {
	switch {
	case s.Owner == "":
	case s.Access == "write":
		t.note("%s shares this session with you: you can send prompts, which count as theirs. Model, level and forks are for them", line(s.Owner, 60))
	default:
		t.note("%s shares this session with you for reading: you cannot send prompts", line(s.Owner, 60))
	}
}

// prompt returns the params of a request with a prompt: its text, or blocks if it mentions files. nil: a file cannot be sent, which the person sees.
func (t *talk) prompt(text string) map[string]any {
	if t.contents != nil {
		switch content, err := t.contents(text); {
		case err != nil:
			t.failed = true
			t.add(failure, "", "not sent: "+err.Error())
			return nil
		case len(content) > 1:
			return map[string]any{"session_id": t.id, "content": content}
		}
	}
	return map[string]any{"session_id": t.id, "text": text}
}

// say sends a prompt. While a turn runs it waits, or steers that turn.
func (t *talk) say(text string, steer bool) {
	if t.id == "" {
		t.add(failure, "", "there is no session; /new starts one")
		return
	}
	params := t.prompt(text)
	if params == nil {
		return
	}
	if steer {
		params["when_busy"] = "steer"
	}
	t.fresh = false
	t.ask("session/prompt", params, result(func(r struct {
		Turn   string `json:"turn_id"`
		Placed string `json:"disposition"`
	}) {
		if r.Placed == "started" && t.id == params["session_id"] {
			t.turn, t.began = r.Turn, t.now()
		}
	}))
}

// append adds a message without a model call. While a turn runs it waits.
func (t *talk) append(text string) {
	switch {
	case t.id == "":
		t.add(failure, "", "there is no session; /new starts one")
	case text == "":
		t.add(failure, "", "there is nothing to add; write /append TEXT")
	default:
		if params := t.prompt(text); params != nil {
			t.fresh = false
			t.ask("session/append", params, nil)
		}
	}
}

// goOn continues the last turn, if that was cut off, and says what the model gets of it. A text that the new one joins is in the
// scrollback already, so the new one stands below it.
func (t *talk) goOn() {
	t.ask("session/continue", map[string]any{"session_id": t.id}, result(func(c continued) { t.note("continuing; %s", c) }))
}

// offerToContinue says that the last turn can be continued, and what of it the model would get. The daemon knows whether it can.
func (t *talk) offerToContinue() {
	if !t.hints {
		return
	}
	t.send("session/continue", map[string]any{"session_id": t.id, "dry_run": true}, func(a door.Answer) {
		if a.Error == nil && t.turn == "" {
			t.decoded(result(func(c continued) {
				t.note("/continue goes on from here (%s). Nothing runs until then.", c)
			})(a.Result))
		}
	})
}

// askAside asks a side question. The view may show the answer while it comes. Otherwise it comes as a whole, so that it does not mix
// with that of a running turn. An earlier question ends.
func (t *talk) askAside(text string) {
	if t.id == "" || text == "" {
		t.add(failure, "", "there is nothing to ask about; write /ask TEXT in a session")
		return
	}
	params := t.prompt(text)
	if params == nil {
		return
	}
	t.closeAside()
	t.asides++
	a := &aside{name: fmt.Sprintf("a%d", t.asides), question: safe.Clean(text)}
	t.aside = a
	if t.boxed {
		params["ask_id"] = a.name
	} else {
		t.add(said, "side question", text)
	}
	a.request = t.send("session/ask", params, func(answer door.Answer) {
		if answer.Error != nil {
			a.fail(refusal(answer.Error))
		} else {
			t.decoded(result(a.finish)(answer.Result))
		}
		if !t.boxed {
			t.showAside()
		}
	})
	if a.request == 0 {
		a.fail("it was not sent")
	}
}

// showAside adds a complete answer to the conversation, for a view without boxes.
func (t *talk) showAside() {
	t.aside.closed = true
	if t.aside.text.Len() > 0 {
		t.add(answer, "", t.aside.text.String())
	}
	if t.aside.failure != "" {
		t.failed = true
		t.add(failure, "", t.aside.failure)
	}
	t.note("%s · /keep asks it again in a fork", t.aside.head())
}

// closeAside closes the side question, and cancels it if its answer is not complete. It returns false if none is open.
func (t *talk) closeAside() bool {
	a := t.aside
	if a == nil || a.closed {
		return false
	}
	a.closed = true
	if a.request == 0 {
		return true
	}
	if _, pending := t.answers[a.request]; pending {
		delete(t.answers, a.request)
		if err := t.daemon.Cancel(a.request); err != nil {
			t.unsent(err)
		}
	}
	a.fail("cancelled")
	return true
}

// keepAside asks the side question again as the first prompt of a fork. This chat stays in its session, in which a turn may run.
func (t *talk) keepAside() {
	a := t.aside
	switch {
	case a == nil:
		t.add(failure, "", "there is no side question; /ask TEXT asks one")
	case a.kept != "":
		t.note("%s", a.forked())
	default:
		a.at = ""
		t.ask("session/ask", map[string]any{"session_id": t.id, "text": a.question, "keep": true}, result(func(s settled) {
			a.kept = s.Session
			t.note("%s", a.forked())
		}))
	}
}

// resume resumes a parked turn, with another model if one is named. Without a parked turn it continues a held queue.
func (t *talk) resume(model string) {
	switch {
	case t.parked != nil && model != "":
		t.resumeParked(map[string]any{"model_id": model}, func() {})
	case t.parked != nil:
		t.resumeParked(map[string]any{}, func() {})
	case model != "":
		t.add(failure, "", "no turn is parked; /models chooses the model of the next one")
	default:
		t.ask("session/queue", map[string]any{"session_id": t.id, "resume": true}, nil)
	}
}

// resumeParked resumes the parked turn in a way, and calls then if that worked.
func (t *talk) resumeParked(params map[string]any, then func()) {
	params["session_id"], params["turn_id"] = t.id, t.turn
	t.ask("turn/resume", params, func(json.RawMessage) error {
		then()
		return nil
	})
}

// cancel ends the running turn, or the compaction that runs without one; false if there is neither.
func (t *talk) cancel() bool {
	params := map[string]any{"session_id": t.id}
	switch {
	case t.turn != "":
		params["turn_id"] = t.turn
	case !t.compacting:
		return false
	}
	t.ask("session/cancel", params, nil)
	return true
}

// rule answers a question: action, and perhaps grant or reason.
func (t *talk) rule(confirm string, ruling map[string]any) {
	ruling["session_id"], ruling["confirm_id"] = t.id, confirm
	t.ask("confirm/answer", ruling, nil)
}

// settle takes the answer of model/set and thinking/set.
func (t *talk) settle(s settled) {
	if s.Model != nil {
		t.model = *s.Model
	}
	t.level = s.Level
	text := fmt.Sprintf("%s, thinking %s", t.model, s.Level)
	if s.Reasoning.Requested != s.Level && s.Reasoning.Requested != "" {
		text += fmt.Sprintf(" (requested %s: %s)", s.Reasoning.Requested, strings.ReplaceAll(s.Reasoning.Reason, "_", " "))
	}
	if s.Applies == "next_turn" {
		text += ", from the next turn on"
	}
	t.note("%s", text)
}

// setModel sets the model. Without a provider, its id may name one, as provider/id.
func (t *talk) setModel(m model, level provider.Level) {
	params := map[string]any{"session_id": t.id, "model_id": m.ID}
	if m.Provider != "" {
		params["provider"] = m.Provider
	}
	if level != "" {
		params["thinking_level"] = level
	}
	t.ask("model/set", params, result(t.settle))
}

func (t *talk) setLevel(level string) {
	t.ask("thinking/set", map[string]any{"session_id": t.id, "level": level}, result(t.settle))
}

// quit ends the chat. It deletes a session without messages, and waits for that.
func (t *talk) quit() {
	t.leaving = true
	if !t.fresh || t.daemon == nil {
		t.over = true
		return
	}
	t.ask("session/delete", map[string]any{"session_id": t.id}, func(json.RawMessage) error {
		t.over = true
		return nil
	})
	t.over = t.broken != nil
}

// farewell says how the session can be continued; empty: it cannot.
func (t *talk) farewell() string {
	if t.id == "" || t.fresh || t.deleted {
		return ""
	}
	words := "To continue: thinkd chat --session " + t.id
	if c := t.usage.Cost; c != nil && c.Amount > 0 {
		words += " · " + c.String()
	}
	return words
}
