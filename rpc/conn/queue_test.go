package conn

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
		q := NewQueue()
		for i := range 6 {
			if err := q.Put(t.Context(), Class(i%2), fmt.Append(nil, i)); err != nil {
				t.Fatal(err)
			}
		}
		var got string
		for _, m := range q.Take() {
			got += string(m)
		}
		if got != "012345" {
			t.Errorf("took %s", got)
		}
	})

	t.Run("one class does not keep out the other", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := NewQueue()
			fill := func(class Class) {
				if err := q.Put(t.Context(), class, text(bounds[class])); err != nil {
					t.Error(err)
				}
			}
			fill(Update)
			fill(Answer) // does not wait for the updates
			done := make(chan struct{})
			testgo.Go(t, func() { // waits for room, which the writer makes
				defer close(done)
				fill(Update)
			})
			synctest.Wait()
			if got := len(q.Take()); got != 2 {
				t.Errorf("%d messages were in the queue, want 2", got)
			}
			synctest.Wait()
			select {
			case <-done:
				t.Error("there was room while the writer still had what filled the queue")
			default:
			}
			q.Written()
			<-done
		})
	})

	t.Run("a message above the bound goes alone", func(t *testing.T) {
		q := NewQueue()
		if err := q.Put(t.Context(), Update, text(2*bounds[Update])); err != nil {
			t.Error(err)
		}
		if o, err := q.tryPut(Update, text(1)); o == nil {
			t.Errorf("there was room behind it (%v)", err)
		}
	})

	t.Run("held updates wait, answers do not", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := NewQueue()
			q.hold(true)
			done := make(chan error, 1)
			testgo.Go(t, func() { done <- q.Put(t.Context(), Update, []byte("update")) })
			synctest.Wait()
			if err := q.Put(t.Context(), Answer, []byte("answer")); err != nil {
				t.Error(err)
			}
			q.hold(false)
			if err := <-done; err != nil {
				t.Error(err)
			}
			if got := q.Take(); string(got[0]) != "answer" || string(got[1]) != "update" {
				t.Errorf("took %s", got)
			}
		})
	})

	t.Run("those who wait come in, in order, between two requests", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := NewQueue()
			q.hold(true)
			for i := range 5 {
				testgo.Go(t, func() { q.Put(t.Context(), Update, fmt.Append(nil, i)) }) // ends below: all come in
				synctest.Wait()
			}
			q.hold(false) // the next request is there already
			q.hold(true)
			var got string
			for _, m := range q.Take() {
				got += string(m)
			}
			if got != "01234" {
				t.Errorf("took %s", got)
			}
		})
	})

	t.Run("one that goes makes room for the next", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := NewQueue()
			ctx, cancel := context.WithCancel(t.Context())
			second := make(chan error, 1)
			if err := q.Put(t.Context(), Update, text(1)); err != nil {
				t.Fatal(err)
			}
			testgo.Go(t, func() { q.Put(ctx, Update, text(bounds[Update])) }) // ends by cancel
			synctest.Wait()
			testgo.Go(t, func() { second <- q.Put(t.Context(), Update, text(1)) })
			synctest.Wait()
			cancel()
			if err := <-second; err != nil || len(q.Take()) != 2 {
				t.Errorf("the second did not come in: %v", err)
			}
		})
	})

	t.Run("waiting ends with the context and with the queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := NewQueue()
			q.hold(true)
			cause := errors.New("no more")
			ctx, cancel := context.WithCancelCause(t.Context())
			first, second := make(chan error, 1), make(chan error, 1)
			testgo.Go(t, func() { first <- q.Put(ctx, Update, text(1)) })
			testgo.Go(t, func() { second <- q.Put(t.Context(), Update, text(1)) })
			synctest.Wait()
			cancel(cause)
			if err := <-first; err != cause {
				t.Errorf("the context's end gave %v", err)
			}
			q.Close()
			if err := <-second; err != ErrGone {
				t.Errorf("the queue's end gave %v", err)
			}
			if err := q.Put(t.Context(), Answer, text(1)); err != ErrGone {
				t.Errorf("a closed queue took an answer: %v", err)
			}
		})
	})

	t.Run("a closed queue gives what it has and then nil", func(t *testing.T) {
		q := NewQueue()
		if err := q.Put(t.Context(), Answer, text(1)); err != nil {
			t.Fatal(err)
		}
		q.Close()
		if got := q.Take(); len(got) != 1 {
			t.Errorf("took %q", got)
		}
		q.Written()
		if got := q.Take(); got != nil {
			t.Errorf("took %q", got)
		}
	})
}
