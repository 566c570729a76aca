package main

import (
	"bufio"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/buildinfo"
	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/testgo"
)

func TestMain(m *testing.M) { proof.Main(m) }

// A whole life of the program in the process of the test: it serves, another command finds it, and it ends in order.
func TestServeInProcess(t *testing.T) {
	flags := []string{"--data", t.TempDir(), "--config", proof.WriteConfig(t, "")}
	started := func(args ...string) (out *bufio.Reader, ended <-chan error, end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		reader, writer := io.Pipe()
		done := make(chan error, 1)
		p := newProgram(strings.NewReader(""), writer, io.Discard, proof.Environment(proof.NobodyHere...))
		testgo.Go(t, func() {
			err := p.execute(ctx, append(args, flags...))
			writer.Close()
			done <- err
		})
		return bufio.NewReader(reader), done, cancel
	}
	page, ended, end := started("serve", "--listen", "127.0.0.1:0")
	defer end()
	if line, err := page.ReadString('\n'); err != nil || !strings.HasPrefix(line, "http://127.0.0.1:") || strings.Contains(line, "#") {
		t.Fatalf("%q, %v", line, err)
	}
	if line, err := page.ReadString('\n'); err != nil || line != "token: "+filepath.Join(flags[1], "token")+"\n" {
		t.Fatalf("%q, %v", line, err)
	}
	report, over, _ := started("status", "--json")
	if line, err := report.ReadString('\n'); err != nil || !strings.Contains(line, `"running":true`) {
		t.Errorf("%q, %v", line, err)
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestVersion(t *testing.T) {
	var out strings.Builder
	p := newProgram(strings.NewReader(""), &out, io.Discard, proof.Environment())
	p.build = buildinfo.Build{Version: "1.2.3", Revision: "d76b35d", Time: "2026-11-23T02:05:50Z", Go: "go1.26", OS: "linux", Arch: "arm64"}
	for _, args := range [][]string{{"version"}, {"version", "--json"}} {
		if err := p.execute(t.Context(), args); err != nil {
			t.Fatal(err)
		}
	}
	want := "thinkd 1.2.3\n" +
		`{"version":"1.2.3","revision":"d76b35d","time":"2026-11-23T02:05:50Z","modified":false,"go":"go1.26","os":"linux","arch":"arm64"}` + "\n"
	if out.String() != want {
		t.Errorf("got %s, want %s", out.String(), want)
	}
}

// A command that the arguments begin with is made alone, and is the one that is made with the others.
func TestOneCommand(t *testing.T) {
	p := &program{out: io.Discard, errOut: io.Discard}
	all := p.command(nil).Commands()
	if len(all) < 12 {
		t.Errorf("there are %d commands", len(all))
	}
	for _, c := range all {
		alone := p.command([]string{c.Name(), "--help"}).Commands()
		if len(alone) != 1 || alone[0].Use != c.Use || alone[0].Flags().FlagUsages() != c.Flags().FlagUsages() {
			t.Errorf("%s: %d commands", c.Name(), len(alone))
		}
	}
	if n := len(p.command([]string{"help", "stdio"}).Commands()); n != len(all) {
		t.Errorf("help knows %d commands of %d", n, len(all))
	}
}
