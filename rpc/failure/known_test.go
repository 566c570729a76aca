package failure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

func TestKnownErrors(t *testing.T) {
	secret := errors.New("open /home/user/.secret: canary")
	cases := []struct {
		name string
		err  error
		want string // JSON of the error; empty: internal
	}{
		{"ours", conn.InvalidParams("level", "no"), `{"code":-32602,"message":"level: no","data":{"field":"level","kind":"invalid_params"}}`},
		{"session", session.ErrNotFound, `{"code":1001,"message":"no such session","data":{"kind":"not_found"}}`},
		{"cursor", session.ErrCursor, `{"code":-32602,"message":"cursor: must be one that an earlier result returned","data":{"field":"cursor","kind":"invalid_params"}}`},
		{"closed", session.ErrClosed, `{"code":1006,"message":"the daemon is shutting down","data":{"kind":"closing"}}`},
		{"replaced", session.ErrReplaced, `{"code":1006,"message":"the store was removed or replaced; the daemon is shutting down","data":{"kind":"closing"}}`},
		{"unsynced", &session.UnsyncedError{Server: "s1"}, `{"code":1006,"message":"no session can be created: the store server s1 acknowledges messages before they are on disk; its config needs \"sync_interval: always\"","data":{"kind":"unsynced","server":"s1","setting":"sync_interval"}}`},
		{"lost", fmt.Errorf("s: %w: %w", session.ErrLost, session.ErrReadOnly), `{"code":1006,"message":"the store has lost messages of this session that it had acknowledged; the operator can restore it from the second copy","data":{"kind":"store_lost"}}`},
		{"no answer", fmt.Errorf("s: %w: %w", session.ErrReadOnly, session.ErrNoAnswer), `{"code":1006,"message":"the store servers do not answer","data":{"kind":"cut_off","retry_after_ms":1000}}`},
		{"read-only", session.ErrReadOnly, `{"code":1006,"message":"nothing can be stored: the disk is full or failing","data":{"kind":"store_readonly"}}`},
		{"elsewhere", &session.ElsewhereError{Node: "b"}, `{"code":1006,"message":"the node b serves the session","data":{"kind":"elsewhere","node":"b","retry_after_ms":1000}}`},
		{"cut off", session.ErrCutOff, `{"code":1006,"message":"this node is cut off from the store servers","data":{"kind":"cut_off","retry_after_ms":1000}}`},
		{"damaged", session.ErrDamaged, "{\"code\":-32603,\"message\":\"the stored data is damaged; run `thinkd doctor`\",\"data\":{\"kind\":\"damaged\"}}"},
		{"level", &provider.LevelError{Level: "max", Model: "a/b", Supported: []provider.Level{"off", "low"}},
			`{"code":1010,"message":"model a/b has no thinking level \"max\"; it has: off, low","data":{"kind":"level_not_supported","thinking_levels":["off","low"]}}`},
		{"no model", &registry.NotFoundError{ID: "x", Providers: []string{"sim"}},
			`{"code":1003,"message":"no model \"x\"; name it as provider/id, with one of these providers: sim","data":{"candidates":[],"kind":"no_model"}}`},
		{"two models", &registry.AmbiguousError{ID: "x", Candidates: []string{"a/x", "b/x"}},
			`{"code":-32602,"message":"model \"x\" is at several providers; say which: a/x, b/x","data":{"candidates":["a/x","b/x"],"kind":"invalid_params"}}`},
		{"provider", &provider.Error{API: "messages", Provider: "anthropic", Kind: provider.KindRateLimit, Status: 429,
			RetryAfter: 1500 * time.Millisecond, RequestID: "req_1", Message: "slow down", Err: secret},
			`{"code":1004,"message":"anthropic: slow down","data":{"kind":"rate_limit","request_id":"req_1","retry_after_ms":1500,"status":429}}`},
		{"provider without a word", &provider.Error{Provider: "anthropic", Kind: provider.KindTransport, Err: secret},
			`{"code":1004,"message":"anthropic: the call failed: transport","data":{"kind":"transport"}}`},
		{"cancelled", conn.ErrCancelled, `{"code":-32800,"message":"the request was cancelled","data":{"kind":"cancelled"}}`},
		{"unknown", secret, ""},
		{"end of input", io.EOF, ""},
		{"somebody's context", context.Canceled, ""},
	}
	for _, tc := range cases {
		for _, err := range []error{tc.err, fmt.Errorf("session 01K: %w", tc.err), errors.Join(secret, tc.err)} {
			got := Known(err)
			if tc.want == "" {
				if got != nil {
					t.Errorf("%s: got %v, want an internal error", tc.name, got)
				}
				continue
			}
			text, encodeErr := json.Marshal(got)
			if encodeErr != nil {
				t.Fatal(encodeErr)
			}
			var gotValue, wantValue any
			if json.Unmarshal(text, &gotValue) != nil || json.Unmarshal([]byte(tc.want), &wantValue) != nil {
				t.Fatalf("%s: %s", tc.name, text)
			}
			if diff := cmp.Diff(wantValue, gotValue); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.name, diff)
			}
			if strings.Contains(string(text), "canary") {
				t.Errorf("%s tells %s", tc.name, text)
			}
		}
	}
}

// A cancelled context means what ended it: the client, or the connection's end.
func TestRequestErrors(t *testing.T) {
	for cause, want := range map[error]conn.Code{
		conn.ErrCancelled:  conn.CodeCancelled,
		io.EOF:             conn.CodeClosing,
		session.ErrClosed:  conn.CodeClosing,
		errors.New("else"): conn.CodeClosing,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		for _, err := range []error{ctx.Err(), context.Cause(ctx), fmt.Errorf("turn: %w", ctx.Err())} {
			if got := OfRequest(ctx, err); got == nil || got.Code != want {
				t.Errorf("cause %v, error %v: got %v, want code %d", cause, err, got, want)
			}
		}
		if got := OfRequest(ctx, errors.New("something else")); got != nil {
			t.Errorf("cause %v hides an error of another kind: %v", cause, got)
		}
	}
	if got := OfRequest(t.Context(), context.Canceled); got != nil {
		t.Errorf("a request that nobody ended: %v", got)
	}
}
