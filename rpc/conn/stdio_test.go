package conn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/rpc/conntest"
)

// stuck is a file whose Read or Write nothing ends but its own release.
type stuck chan struct{}

func (s stuck) Read([]byte) (int, error)  { <-s; return 0, io.EOF }
func (s stuck) Write([]byte) (int, error) { <-s; return 0, io.ErrShortWrite }

func TestStdio(t *testing.T) {
	in, client, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { in.Close(); out.Close(); answers.Close() }()
	served := make(chan error, 1)
	testgo.Go(t, func() { served <- testServer(t, 0).Serve(t.Context(), Stdio(in, out)) })
	fmt.Fprintln(client, conntest.Ping("1"))
	fmt.Fprint(client, conntest.Request(2, "echo", `{"text":"xxxxxxxxxx","times":5000}`))
	client.Close()
	got := make([]byte, len(fmt.Sprintf(conntest.Pong, "1"))+1+len(`{"jsonrpc":"2.0","id":2,"result":{"text":""}}`)+50000+1)
	if _, err := io.ReadFull(answers, got); err != nil || !strings.HasPrefix(string(got), fmt.Sprintf(conntest.Pong, "1")+"\n") {
		t.Errorf("%v, got %.100s", err, got)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve ended with %v", err)
	}
}

// Serve ends in time although the system gives neither file back.
func TestStdioThatHangs(t *testing.T) {
	why := errors.New("going down")
	synctest.Test(t, func(t *testing.T) {
		file := make(stuck)
		defer close(file)
		ctx, cancel := context.WithCancelCause(t.Context())
		served := make(chan error, 1)
		testgo.Go(t, func() { served <- testServer(t, 0).Serve(ctx, Stdio(file, file)) })
		synctest.Wait()
		cancel(why)
		if err := <-served; err != why {
			t.Errorf("Serve ended with %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		file := make(stuck)
		defer close(file)
		in := io.MultiReader(strings.NewReader(conntest.Ping("1")+"\n"), file)
		if err := testServer(t, 0).Serve(t.Context(), Stdio(in, file)); !errors.Is(err, ErrStalled) {
			t.Errorf("Serve ended with %v", err)
		}
	})
}
