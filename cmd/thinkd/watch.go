package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/chat"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session"
)

// watch shows a turn to a person.
type watch struct {
	out, errOut io.Writer // see printing
	own         io.Writer // standard error, for our own sequences
	json        bool      // write the notifications as they are
	style       bool      // standard error is a terminal: thinking is dim, and silence is told
	asked       struct {
		Turn session.TurnID `json:"turn_id"`
	}
	ended  bool
	failed error

	mu    sync.Mutex // over what is written, and over:
	heard time.Time  // when something came
	begun bool       // a line is not yet whole
	told  bool       // the line about silence stands there
}

// quiet is how long nothing comes before that is told, and how often it is told anew.
const quiet = time.Second

const eraseLine = "\r\x1b[K"

// tellSilence has a line say how long nothing has come, unless a line of the model's would be lost by it. The function
// that it returns ends that.
func (w *watch) tellSilence() (stop func()) {
	w.heard = time.Now()
	over, done := make(chan struct{}), make(chan struct{})
	go func() { // until stop, which waits
		defer close(done)
		tick := time.NewTicker(quiet)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.silence()
			case <-over:
				return
			}
		}
	}()
	return func() {
		close(over)
		<-done
		w.eraseSilence()
	}
}

func (w *watch) silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if since := time.Since(w.heard); since >= quiet && !w.begun {
		fmt.Fprintf(w.own, "%sthinkd: waiting for %s", eraseLine, since.Truncate(time.Second)) // a person's comfort: what cannot be written is not missed
		w.told = true
	}
}

func (w *watch) eraseSilence() {
	if w.told {
		io.WriteString(w.own, eraseLine)
		w.told = false
	}
}

// cite lists the pages that a text refers to.
func (w *watch) cite(sources []provider.Citation) error {
	list := provider.SourceList(sources)
	if list == "" {
		return nil
	}
	_, err := fmt.Fprintf(w.errOut, "thinkd: sources:\n%s", chat.Clean(list))
	return err
}

func (w *watch) update(m door.Notification) error {
	var u struct {
		Turn       session.TurnID `json:"turn_id"`
		Delta      string         `json:"delta"`
		Message    string         `json:"message"`
		StopReason string         `json:"stop_reason"`
		Limit      string         `json:"limit"`
		Error      *conn.Error    `json:"error"`
		AfterMS    int            `json:"after_ms"`

		Sources  []provider.Citation `json:"sources"`
		Cited    []session.Cited     `json:"cited"`
		MimeType string              `json:"mime_type"`
		Size     int                 `json:"size"`
	}
	if err := json.Unmarshal(m.Params, &u); err != nil {
		return fmt.Errorf("%s: %w", m.Method, err)
	}
	if m.Method == "turn_end" && u.Turn == w.asked.Turn {
		w.ended = true
		w.failed = outcome(u.StopReason, u.Limit, u.Error)
	}
	if w.json {
		_, err := fmt.Fprintf(w.out, "%s\n", m.Raw)
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.eraseSilence()
	w.heard = time.Now()
	var err error
	switch m.Method {
	case "thinking_delta":
		if w.style {
			_, err = io.WriteString(w.own, dimmed(u.Delta))
		} else {
			_, err = io.WriteString(w.errOut, u.Delta)
		}
		w.begun = true
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
	case "media_end":
		_, err = fmt.Fprintf(w.errOut, "thinkd: the model made %s of %d bytes; the session keeps it\n", chat.Clean(u.MimeType), u.Size)
	case "notice":
		_, err = fmt.Fprintf(w.errOut, "thinkd: %s\n", u.Message)
	case "retry":
		_, err = fmt.Fprintf(w.errOut, "thinkd: trying again in %.1f s: %s\n", float64(u.AfterMS)/1000, u.Message)
	case "stale":
		return errors.New("the session was closed")
	}
	return err
}

// dimmed is a piece of thinking for a terminal: dim, and without what that would obey.
func dimmed(text string) string {
	return "\x1b[2m" + strings.ReplaceAll(chat.Clean(text), "\n", "\x1b[m\n\x1b[2m") + "\x1b[m"
}

// shortError is a turn that ended, but not by itself.
type shortError struct {
	reason, limit string
	failure       *conn.Error // what the vendor said, if anything
}

func (e *shortError) Error() string {
	switch {
	case e.failure != nil:
		return e.failure.Error()
	case e.limit != "":
		return fmt.Sprintf("the turn ended: %s (%s)", e.reason, e.limit)
	}
	return "the turn ended: " + e.reason
}

// outcome is nil for a turn that ended well.
func outcome(reason, limit string, failure *conn.Error) error {
	switch {
	case reason == "end_turn":
		return nil
	case failure != nil && reason != "refusal":
		return failure
	}
	return &shortError{reason, limit, failure}
}
