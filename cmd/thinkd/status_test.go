package main

import (
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/watch"
	"github.com/thinkd/thinkd/rpc/conn"
)

func TestPromptStatus(t *testing.T) {
	failure := &conn.Error{Message: "overloaded"}
	for _, test := range []struct {
		err  error
		want int
	}{
		{watch.Outcome("error", "", failure), 1},
		{watch.Outcome("refusal", "", failure), 2},
		{watch.Outcome("max_tokens", "", nil), 2},
		{watch.Outcome("limit", "cost", nil), 2},
		{watch.Outcome("cancelled", "", nil), 130},
		{errInterrupted, 130},
	} {
		if got := status(test.err); got != test.want {
			t.Errorf("%v: status %d, want %d", test.err, got, test.want)
		}
	}
	if err := watch.Outcome("end_turn", "", nil); err != nil {
		t.Errorf("a turn that ended well: %v", err)
	}
}
