package relay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
)

// All that is put comes, in order, whatever the pace of either side, and the end of it comes last.
func TestStepsAllCome(t *testing.T) {
	testgo.Check(t, func(rt *rapid.T) {
		const far = 5 * stepsAhead
		puts := rapid.SliceOfN(rapid.SampledFrom([]int{1, 2, 3, 50, far}), 1, 8).Draw(rt, "puts")
		most := rapid.SampledFrom([]int{-1, 5, MaxStride}).Draw(rt, "most")
		var err error
		synctest.Test(t, func(t *testing.T) { err = allCome(t, puts, most) })
		if err != nil {
			rt.Fatal(err)
		}
	})
}

func allCome(t *testing.T, puts []int, most int) error {
	ctx := t.Context()
	q := NewSteps()
	var want strings.Builder
	testgo.Go(t, func() { // ends when all was put
		defer q.Close()
		for i, n := range puts {
			for j := range n {
				text := fmt.Sprint(j, " ")
				q.Put(ctx, Step{Event: provider.Delta{Index: i, Text: text}})
				fmt.Fprintf(&want, "%d:%s", i, text)
			}
			q.Put(ctx, Step{Event: provider.Begin{Index: i}})
			want.WriteString("begin ")
			if i%2 == 0 {
				synctest.Wait() // the other side has taken all, and waits
			}
		}
	})
	var got strings.Builder
	for range q.ready { // never closed: a token that is missing is a deadlock of the bubble
		list, ok := q.Next(most)
		if !ok {
			break
		}
		if len(list) == 0 {
			continue
		}
		d, ok := list[0].Event.(provider.Delta)
		if !ok {
			got.WriteString("begin ")
			continue
		}
		text, ends, _ := q.Join(list)
		if len(list) > 1 && (len(text) > most || len(ends) != len(list)) {
			return fmt.Errorf("%d steps of %d bytes with %d ends come together", len(list), len(text), len(ends))
		}
		if ends == nil {
			ends = []int{len(text)}
		}
		begin := 0
		for _, end := range ends {
			fmt.Fprintf(&got, "%d:%s", d.Index, text[begin:end])
			begin = end
		}
	}
	if got.String() != want.String() {
		return fmt.Errorf("%d bytes came, and %d were put", got.Len(), want.Len())
	}
	return nil
}

// Whoever puts and finds no room is let go by the end of its context.
func TestStepsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		q, put := NewSteps(), make(chan int)
		testgo.Go(t, func() {
			n := 0
			for q.Put(ctx, Step{Event: provider.Alive{}}) {
				n++
			}
			put <- n
		})
		synctest.Wait()
		stop(errors.New("enough"))
		if n := <-put; n != stepsAhead {
			t.Errorf("%d were put, want %d", n, stepsAhead)
		}
	})
}

// BenchmarkSteps is a delta's way from the call to the agent. The floor is a channel.
func BenchmarkSteps(b *testing.B) {
	delta := Step{Event: provider.Delta{Text: "some twenty characters"}}
	b.Run("steps", func(b *testing.B) {
		q := NewSteps()
		testgo.Go(b, func() { // ends when all was put
			defer q.Close()
			for range b.N {
				q.Put(b.Context(), delta)
			}
		})
		b.ReportAllocs()
		for n := 0; n < b.N; {
			<-q.ready
			list, _ := q.Next(MaxStride)
			n += len(list)
		}
	})
	b.Run("floor", func(b *testing.B) {
		c := make(chan Step, stepsAhead)
		testgo.Go(b, func() {
			defer close(c)
			for range b.N {
				c <- delta
			}
		})
		b.ReportAllocs()
		for range c {
		}
	})
}
