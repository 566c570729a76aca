package door

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/thinkd/thinkd/rpc/conntest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A session/new that is sent again is answered as the first, and the client goes on from what it had.
func TestDoorKeepsTheNumberOfASessionThatIsMadeAgain(t *testing.T) {
	l := newLedger(nativeDialect)
	for id := range 3 {
		l.sent([]byte(conntest.Request(id, "session/new", `{"client_id":"c"}`)))
		l.received([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"session_id":"A"}}`, id)))
		if id == 0 {
			l.received([]byte(`{"jsonrpc":"2.0","method":"tick","params":{"session_id":"A","seq":9}}`))
		}
	}
	if got := l.stale(); len(got) != 1 || string(got[0]) != string(Stale("A", 9)) {
		t.Errorf("%s, want after_seq 9", got)
	}
}

// A door that did not follow the session before learns its number from the answer.
func TestDoorLearnsTheNumberOfASessionThatIsMadeAgain(t *testing.T) {
	l := newLedger(nativeDialect)
	l.sent([]byte(conntest.Request(0, "session/new", `{"client_id":"c"}`)))
	l.received([]byte(`{"jsonrpc":"2.0","id":0,"result":{"session_id":"A","seq":7}}`))
	if got := l.stale(); len(got) != 1 || string(got[0]) != string(Stale("A", 7)) {
		t.Errorf("%s, want after_seq 7", got)
	}
}

func TestStale(t *testing.T) {
	if got, want := string(Stale("01K", 7)), `{"jsonrpc":"2.0","method":"stale","params":{"session_id":"01K","after_seq":7}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func BenchmarkDoorDelta(b *testing.B) {
	l := newLedger(nativeDialect)
	f := new(session)
	l.followed["01KA8Z1Y4M4T8ZJQ6W5D0Q3V7E"] = f
	frame := []byte(`{"jsonrpc":"2.0","method":"thinking_delta","params":{"session_id":"01KA8Z1Y4M4T8ZJQ6W5D0Q3V7E","seq":123,"ts":1790000000000,"turn_id":"01KA8Z1Y4M4T8ZJQ6W5D0Q3V7E","message_id":"01KA8Z1Y4M4T8ZJQ6W5D0Q3V7E","block":0,"delta":" some words of thinking"}}`)
	b.ReportAllocs()
	for b.Loop() {
		l.received(frame)
	}
	if f.seq != 123 {
		b.Error(f.seq)
	}
}

// A client that watches the list of sessions learns that it missed changes.
func TestDoorKnowsWhoWatchesTheList(t *testing.T) {
	l := newLedger(nativeDialect)
	call := func(method, answer string) {
		l.sent([]byte(conntest.Request(1, method, `{}`)))
		l.received([]byte(`{"jsonrpc":"2.0","id":1,` + answer + `}`))
	}
	call("session/watch", `"error":{}`)
	if got := l.stale(); len(got) != 0 {
		t.Errorf("after a failure: %s", got)
	}
	call("session/watch", `"result":{"sessions":[]}`)
	for range 2 { // until it watches again, or no more
		if got := l.stale(); len(got) != 1 || string(got[0]) != `{"jsonrpc":"2.0","method":"list_update","params":{"stale":true}}` {
			t.Errorf("%s", got)
		}
	}
	call("session/unwatch", `"result":{}`)
	if got := l.stale(); len(got) != 0 {
		t.Errorf("after unwatch: %s", got)
	}
}
