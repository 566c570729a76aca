package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/fellback"
	"github.com/thinkd/thinkd/cmd/thinkd/parked"
	"github.com/thinkd/thinkd/cmd/thinkd/printable"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session"
)

// output writes what the daemon says about a turn. One goroutine uses it, and another one shows how long it has waited.
type output struct {
	out, errOut io.Writer // see View
	own         io.Writer // standard error, for our own sequences
	json        bool      // write the messages as they are
	noThinking  bool      // leave out thinking
	style       bool      // standard error is a terminal: thinking is dim, and a line shows the time without output
	asked       struct {
		Turn session.TurnID `json:"turn_id"`
	}
	ended  bool
	failed error
	said   strings.Builder // the answer to a side question so far
	parked string          // why the turn is parked; empty: it is not

	mu       sync.Mutex // over what is written, and over:
	last     time.Time  // when something came
	begun    bool       // the last line has no end yet
	thinking bool       // the last line is thinking of a side question: no message marks its end
	waiting  bool       // the line about waiting is shown
}

// quiet is after how long without output the line about waiting is shown, and how often it is renewed.
const quiet = time.Second

const eraseLine = "\r\x1b[K"

// showWaiting shows in a line for how long nothing has come, except behind a line that has no end yet. The function that it returns stops
// that, and waits for the goroutine.
func (w *output) showWaiting() (stop func()) {
	w.last = time.Now()
	over, done := make(chan struct{}), make(chan struct{})
	go func() { // until stop, which waits
		defer close(done)
		tick := time.NewTicker(quiet)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.showTime()
			case <-over:
				return
			}
		}
	}()
	return func() {
		close(over)
		<-done
		w.eraseWaiting()
	}
}

func (w *output) showTime() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if since := time.Since(w.last); since >= quiet && !w.begun {
		fmt.Fprintf(w.own, "%sthinkd: waiting for %s", eraseLine, since.Truncate(time.Second)) // nobody misses it if it cannot be written
		w.waiting = true
	}
}

func (w *output) eraseWaiting() {
	if w.waiting {
		io.WriteString(w.own, eraseLine)
		w.waiting = false
	}
}

// cite lists the pages that a text refers to.
func (w *output) cite(sources []provider.Citation) error {
	list := provider.SourceList(sources)
	if list == "" {
		return nil
	}
	_, err := fmt.Fprintf(w.errOut, "thinkd: sources:\n%s", printable.Clean(list))
	return err
}

// update shows a notification. Its error ends the command.
func (w *output) update(m door.Notification) error {
	var u struct {
		Session    session.ID     `json:"session_id"`
		Turn       session.TurnID `json:"turn_id"`
		Kind       string         `json:"kind"`
		Delta      string         `json:"delta"`
		Message    string         `json:"message"`
		StopReason string         `json:"stop_reason"`
		Limit      string         `json:"limit"`
		Error      *conn.Error    `json:"error"`
		AfterMS    int            `json:"after_ms"`

		Sources  []provider.Citation `json:"sources"`
		Cited    []session.Cited     `json:"cited"`
		MimeType string              `json:"mime_type"`

		Name      string          `json:"name"`
		Status    string          `json:"status"`
		Arguments json.RawMessage `json:"arguments"`
		Size      int             `json:"size"`
	}
	if err := json.Unmarshal(m.Params, &u); err != nil {
		return fmt.Errorf("%s: %w", m.Method, err)
	}
	if m.Method == "turn_end" && u.Turn == w.asked.Turn {
		w.ended = true
		w.failed = Outcome(u.StopReason, u.Limit, u.Error)
	}
	if w.json {
		_, err := fmt.Fprintf(w.out, "%s\n", m.Raw)
		return err
	}
	if w.noThinking && (m.Method == "thinking_delta" || m.Method == "thinking_end") {
		return nil // the line about waiting goes on
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.eraseWaiting()
	w.last = time.Now()
	var err error
	switch m.Method {
	case "thinking_delta":
		err = w.think(u.Delta)
	case "thinking_end":
		_, err = io.WriteString(w.errOut, "\n\n")
		w.begun = false
	case "message_delta":
		_, err = io.WriteString(w.out, u.Delta)
		w.begun = true
	case "text_end":
		_, err = io.WriteString(w.out, "\n")
		w.begun = false
		err = errors.Join(err, w.cite(u.Sources))
	case "message_end":
		for _, cited := range u.Cited {
			err = errors.Join(err, w.cite(cited.Sources))
		}
	case "server_tool":
		if u.Status == "running" && len(u.Arguments) > 0 {
			err = printable.Say(w.errOut, printable.Clean("the provider runs "+u.Name+" "+string(u.Arguments)))
		}
	case "media_end":
		err = printable.Say(w.errOut, fmt.Sprintf("the model made %s of %d bytes; the session keeps it", printable.Clean(u.MimeType), u.Size))
	case "notice":
		err = printable.Say(w.errOut, u.Message)
	case "retry":
		err = printable.Say(w.errOut, fmt.Sprintf("trying again in %.1f s: %s", float64(u.AfterMS)/1000, u.Message))
	case "ask_delta":
		if u.Kind == "thinking" {
			w.thinking = true
			err = w.think(u.Delta)
		} else {
			err = w.say(u.Delta)
		}
	case "fell_back":
		var f fellback.Switch
		if err := json.Unmarshal(m.Params, &f); err != nil {
			return fmt.Errorf("%s: %w", m.Method, err)
		}
		err = errors.Join(printable.Say(w.errOut, printable.Clean(f.Text())), printable.Say(w.errOut, printable.Clean(f.Costs())))
	case "turn_parked":
		var p parked.Turn
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return fmt.Errorf("%s: %w", m.Method, err)
		}
		if p.Why != "approval" && p.Why != w.parked {
			hint := fmt.Sprintf("To resume it now: thinkd resume %s", u.Session)
			if p.Spending != nil {
				hint = fmt.Sprintf("To allow the call: thinkd resume %s. To raise the limit: thinkd resume --raise USD %s", u.Session, u.Session)
			}
			err = printable.Say(w.errOut, printable.Clean(p.Text(time.Now()))+" "+hint)
		}
		w.parked = p.Why
	case "turn_resumed":
		if w.parked != "approval" {
			err = printable.Say(w.errOut, "the turn resumes")
		}
		w.parked = ""
	case "stale":
		return errors.New("the session was closed")
	}
	return err
}

func (w *output) think(delta string) (err error) {
	if w.style {
		_, err = io.WriteString(w.own, dimmed(delta))
	} else {
		_, err = io.WriteString(w.errOut, delta)
	}
	w.begun = true
	return err
}

// say writes a piece of the answer to a side question.
func (w *output) say(delta string) error {
	var err error
	if w.thinking {
		w.thinking = false
		_, err = io.WriteString(w.errOut, "\n\n")
	}
	w.begun = true
	w.said.WriteString(delta)
	_, failed := io.WriteString(w.out, delta)
	return errors.Join(err, failed)
}

// dimmed is a piece of thinking for a terminal: dim, and without what that would obey.
func dimmed(text string) string {
	return "\x1b[2m" + strings.ReplaceAll(printable.Clean(text), "\n", "\x1b[m\n\x1b[2m") + "\x1b[m"
}
