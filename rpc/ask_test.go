package rpc

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/conntest"
)

// askLine is a side question about a session.
func askLine(id int, session, ask string) string {
	return conntest.Request(id, "session/ask", fmt.Sprintf(`{"session_id":%q,"text":"What?","ask_id":%q}`, session, ask))
}

// heardAnswer reads the stream of one asker until its response, which has at least as much.
func heardAnswer(t *testing.T, p *conntest.Peer, ask string) (text string, pieces int) {
	for {
		m := gjson.Parse(p.Receive())
		switch {
		case m.Get("method").String() == "ask_delta" && m.Get("params.ask_id").String() == ask:
			text += m.Get("params.delta").String()
			pieces++
		case m.Get("result").Exists():
			if got := m.Get("result.text").String(); !strings.HasPrefix(got, text) {
				t.Errorf("the stream of %s has %.40q of %d bytes, the response %d bytes", ask, text, len(text), len(got))
			}
			return text, pieces
		default:
			t.Fatalf("%s got %.200s", ask, m.Raw)
		}
	}
}

// Two askers get their own streams alone, and one that does not read delays neither the other nor the session. When it reads at last, its
// stream has merged, and the response has the whole answer.
func TestAskersDoNotMeet(t *testing.T) {
	onStage(t, "say Hello.\n\nsay For the slow one.\ngrow 50 2000\n\nsay For the other.\ngrow 50 2000\n\nsay Next.", 0, func(s *stage) {
		id := s.result("session/new", map[string]any{"model_id": "anthropic/claude-opus-5-5"}).Get("session_id").String()
		s.result("session/prompt", map[string]any{"session_id": id, "text": "one"})
		time.Sleep(time.Second)
		slow, quick := connect(s.T, s.T.Context(), s.server), connect(s.T, s.T.Context(), s.server)
		slow.Send(askLine(1, id, "slow"))
		synctest.Wait()
		quick.Send(askLine(1, id, "quick"))
		text, pieces := heardAnswer(s.T, quick, "quick")
		if !strings.HasPrefix(text, "For the other.") || len(text) != len("For the other.")+100_000 {
			t.Errorf("the quick one got %d bytes: %.40q", len(text), text)
		}
		s.result("session/prompt", map[string]any{"session_id": id, "text": "two"}) // while the slow one does not read
		time.Sleep(5 * time.Second)
		late, merged := heardAnswer(s.T, slow, "slow")
		if !strings.HasPrefix(late, "For the slow one.") || len(late) > len("For the slow one.")+100_000 {
			t.Errorf("the slow one got %d bytes: %.40q", len(late), late)
		}
		t.Logf("an answer of 2,001 pieces came as %d notifications to an asker that reads, and as %d to one that does not", pieces, merged)
		if merged > 100 {
			t.Errorf("%d notifications for an asker that did not read", merged)
		}
		for _, m := range s.messages() {
			if strings.Contains(m, "ask_delta") {
				t.Errorf("the session's own client got %.200s", m)
			}
		}
		for _, p := range []*conntest.Peer{slow, quick} {
			if err := p.HangUp(); err != nil && !errors.Is(err, io.ErrClosedPipe) { // the line end of a large response may be unread
				t.Error(err)
			}
		}
	})
}

// A side question ends with its asker's connection, and gives its place back. One more than there are places is refused.
func TestAskEndsWithItsAsker(t *testing.T) {
	onStage(t, "wait 1h\n\nwait 1h\n\nwait 1h\n\nwait 1h\n\nsay Hello.", 0, func(s *stage) {
		id := s.result("session/new", map[string]any{"model_id": "anthropic/claude-opus-5-5"}).Get("session_id").String()
		gone := connect(s.T, s.T.Context(), s.server)
		for i := range 4 {
			gone.Send(askLine(i+1, id, fmt.Sprint("a", i)))
			synctest.Wait()
		}
		if e := s.ask("session/ask", map[string]any{"session_id": id, "text": "What?"}).Get("error"); e.Get("code").Int() != int64(conn.CodeOverloaded) {
			t.Errorf("one more: %s", e.Raw)
		}
		begun := time.Now()
		if err := gone.HangUp(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if waited := time.Since(begun); waited > time.Second {
			t.Errorf("the end of the connection took %v", waited)
		}
		s.send(conntest.Request(77, "session/ask", fmt.Sprintf(`{"session_id":%q,"text":"What?"}`, id)))
		time.Sleep(time.Second)
		if got := s.answer("77").Get("result.text").String(); got != "Hello." {
			t.Errorf("after that: %s", s.answer("77").Raw)
		}
		if code := s.ask("session/ask", map[string]any{"session_id": id, "text": strings.Repeat("x", maxQuestion+1)}).Get("error.code").Int(); code != int64(conn.CodeTooLarge) {
			t.Errorf("a question that is too large: %d", code)
		}
	})
}
