package watch

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/printable"
	"github.com/thinkd/thinkd/rpc/door"
)

// While nothing comes, a line says so. It is erased before the next output, and never follows a line of the model that has no end.
func TestWaitingIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, errOut strings.Builder
		w := &output{out: &printable.Writer{To: &out}, errOut: &printable.Writer{To: &errOut}, own: &errOut, style: true}
		stop := w.showWaiting()
		update := func(method, params string) {
			if err := w.update(door.Notification{Method: method, Params: json.RawMessage(params)}); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		update("thinking_delta", `{"delta":"a\u001b[2J"}`)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		update("thinking_end", `{}`)
		update("message_delta", `{"delta":"b\u0007"}`)
		update("text_end", `{}`)
		stop()
		want := eraseLine + "thinkd: waiting for 1s" + eraseLine + "thinkd: waiting for 2s" + eraseLine + "\x1b[2ma\uFFFD[2J\x1b[m\n\n"
		if errOut.String() != want {
			t.Errorf("standard error has %q, want %q", errOut.String(), want)
		}
		if out.String() != "b\uFFFD\n" {
			t.Errorf("standard output has %q", out.String())
		}
	})
}

// Sources go to standard error, so that standard output has only the answer: those of a text with its end, and later ones with the end of
// the message. Of an image, its type and size are shown.
func TestSourcesAndMedia(t *testing.T) {
	var out, errOut strings.Builder
	w := &output{out: &printable.Writer{To: &out}, errOut: &printable.Writer{To: &errOut}, own: &errOut}
	for _, m := range []struct{ method, params string }{
		{"message_delta", `{"message_id":"m","block":0,"delta":"Paris."}`},
		{"text_end", `{"message_id":"m","block":0,"text":"Paris.","sources":[{"url":"https://e.x/1","title":"One","end":5},{"url":"https://e.x/1"}]}`},
		{"media_end", `{"message_id":"m","block":1,"mime_type":"image/png","size":68}`},
		{"message_end", `{"message_id":"m","stop_reason":"end_turn","cited":[{"block":0,"sources":[{"url":"https://e.x/2","title":"T\u001b[2Jwo"}]}]}`},
	} {
		if err := w.update(door.Notification{Method: m.method, Params: json.RawMessage(m.params)}); err != nil {
			t.Error(err)
		}
	}
	if out.String() != "Paris.\n" {
		t.Errorf("standard output has %q", out.String())
	}
	want := "thinkd: sources:\n- One: https://e.x/1\n" +
		"thinkd: the model made image/png of 68 bytes; the session keeps it\n" +
		"thinkd: sources:\n- T\uFFFD[2Jwo: https://e.x/2\n"
	if errOut.String() != want {
		t.Errorf("standard error has %q, want %q", errOut.String(), want)
	}
}
