package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/provider/testgo"
)

func TestQueue(t *testing.T) {
	text := func(n int) []byte { return []byte(strings.Repeat("x", n)) }

	t.Run("keeps order across classes", func(t *testing.T) {
		q := newQueue()
		for i := range 6 {
			if err := q.put(t.Context(), class(i%2), fmt.Append(nil, i)); err != nil {
				t.Fatal(err)
			}
		}
		var got string
		for _, m := range q.take() {
			got += string(m)
		}
		if got != "012345" {
			t.Errorf("took %s", got)
		}
	})

	t.Run("one class does not keep out the other", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue()
			fill := func(what class) {
				if err := q.put(t.Context(), what, text(bounds[what])); err != nil {
					t.Error(err)
				}
			}
			fill(update)
			fill(answer) // does not wait for the updates
			done := make(chan struct{})
			testgo.Go(t, func() { // waits for room, which the writer makes
				defer close(done)
				fill(update)
			})
			synctest.Wait()
			if got := len(q.take()); got != 2 {
				t.Errorf("%d messages were in the queue, want 2", got)
			}
			synctest.Wait()
			select {
			case <-done:
				t.Error("there was room while the writer still had what filled the queue")
			default:
			}
			q.written()
			<-done
		})
	})

	t.Run("a message above the bound goes alone", func(t *testing.T) {
		q := newQueue()
		if err := q.put(t.Context(), update, text(2*bounds[update])); err != nil {
			t.Error(err)
		}
		if o, err := q.tryPut(update, text(1)); o == nil {
			t.Errorf("there was room behind it (%v)", err)
		}
	})

	t.Run("held updates wait, answers do not", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue()
			q.hold(true)
			done := make(chan error, 1)
			testgo.Go(t, func() { done <- q.put(t.Context(), update, []byte("update")) })
			synctest.Wait()
			if err := q.put(t.Context(), answer, []byte("answer")); err != nil {
				t.Error(err)
			}
			q.hold(false)
			if err := <-done; err != nil {
				t.Error(err)
			}
			if got := q.take(); string(got[0]) != "answer" || string(got[1]) != "update" {
				t.Errorf("took %s", got)
			}
		})
	})

	t.Run("those who wait come in, in order, between two requests", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue()
			q.hold(true)
			for i := range 5 {
				testgo.Go(t, func() { q.put(t.Context(), update, fmt.Append(nil, i)) }) // ends below: all come in
				synctest.Wait()
			}
			q.hold(false) // the next request is there already
			q.hold(true)
			var got string
			for _, m := range q.take() {
				got += string(m)
			}
			if got != "01234" {
				t.Errorf("took %s", got)
			}
		})
	})

	t.Run("one that goes makes room for the next", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue()
			ctx, cancel := context.WithCancel(t.Context())
			second := make(chan error, 1)
			if err := q.put(t.Context(), update, text(1)); err != nil {
				t.Fatal(err)
			}
			testgo.Go(t, func() { q.put(ctx, update, text(bounds[update])) }) // ends by cancel
			synctest.Wait()
			testgo.Go(t, func() { second <- q.put(t.Context(), update, text(1)) })
			synctest.Wait()
			cancel()
			if err := <-second; err != nil || len(q.take()) != 2 {
				t.Errorf("the second did not come in: %v", err)
			}
		})
	})

	t.Run("waiting ends with the context and with the queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue()
			q.hold(true)
			cause := errors.New("no more")
			ctx, cancel := context.WithCancelCause(t.Context())
			first, second := make(chan error, 1), make(chan error, 1)
			testgo.Go(t, func() { first <- q.put(ctx, update, text(1)) })
			testgo.Go(t, func() { second <- q.put(t.Context(), update, text(1)) })
			synctest.Wait()
			cancel(cause)
			if err := <-first; err != cause {
				t.Errorf("the context's end gave %v", err)
			}
			q.close()
			if err := <-second; err != errGone {
				t.Errorf("the queue's end gave %v", err)
			}
			if err := q.put(t.Context(), answer, text(1)); err != errGone {
				t.Errorf("a closed queue took an answer: %v", err)
			}
		})
	})

	t.Run("a closed queue gives what it has and then nil", func(t *testing.T) {
		q := newQueue()
		if err := q.put(t.Context(), answer, text(1)); err != nil {
			t.Fatal(err)
		}
		q.close()
		if got := q.take(); len(got) != 1 {
			t.Errorf("took %q", got)
		}
		q.written()
		if got := q.take(); got != nil {
			t.Errorf("took %q", got)
		}
	})
}
