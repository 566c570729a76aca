//go:build unix

package jettest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session/jet"
	"github.com/thinkd/thinkd/session/jet/ports"
)

// Processes are three store servers, each a process of its own.
type Processes struct {
	t       testing.TB
	program string
	dir     string
	args    []string // of each server
	listen  []string
	cluster []string
	running []*exec.Cmd
}

// StartProcesses builds thinkd-store, and starts servers with data below a directory and further flags. They end with the test.
func StartProcesses(t testing.TB, dir string, args ...string) *Processes {
	t.Helper()
	p := &Processes{t: t, dir: dir, args: args, running: make([]*exec.Cmd, 3)}
	p.program = filepath.Join(t.TempDir(), "thinkd-store")
	if out, err := exec.Command("go", "build", "-o", p.program, "github.com/thinkd/thinkd/cmd/thinkd-store").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	free, err := ports.Free(6)
	if err != nil {
		t.Fatal(err)
	}
	p.listen, p.cluster = free[:3], free[3:]
	t.Cleanup(func() {
		for i, cmd := range p.running {
			if cmd != nil {
				p.Signal(i, syscall.SIGCONT)
				p.Kill(i)
			}
		}
	})
	p.StartAll()
	return p
}

// StartAll starts all servers.
func (p *Processes) StartAll() {
	for i := range p.running {
		p.Start(i)
	}
}

// Start starts a server, and returns when the server accepts connections.
func (p *Processes) Start(i int) {
	p.t.Helper()
	name := fmt.Sprint("s", i+1)
	cmd := exec.Command(p.program, "--name", name, "--dir", p.Dir(i), "--listen", p.listen[i], "--cluster-listen", p.cluster[i], "--routes", strings.Join(p.cluster, ","))
	cmd.Args = append(cmd.Args, p.args...)
	read, write, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd.Stderr = write
	if err := errors.Join(cmd.Start(), write.Close()); err != nil {
		p.t.Fatal(err)
	}
	p.running[i] = cmd
	lines := bufio.NewReader(read)
	for log := ""; ; {
		line, err := lines.ReadString('\n')
		if log += line; err != nil {
			p.t.Fatalf("server %d: %v\n%s", i+1, err, log)
		}
		if strings.Contains(line, "accepts connections") {
			break
		}
	}
	testgo.Go(p.t, func() { // ends with the process
		if _, err := io.Copy(io.Discard, lines); err != nil {
			p.t.Error(err)
		}
		read.Close()
	})
}

// Signal sends a signal to a server.
func (p *Processes) Signal(i int, s syscall.Signal) {
	p.t.Helper()
	if err := p.running[i].Process.Signal(s); err != nil {
		p.t.Error(err)
	}
}

// Kill ends a server at once, and returns when its process has ended.
func (p *Processes) Kill(i int) {
	p.t.Helper()
	p.Signal(i, syscall.SIGKILL)
	var exit *exec.ExitError
	if err := p.running[i].Wait(); !errors.As(err, &exit) {
		p.t.Errorf("server %d: %v", i+1, err)
	}
	p.running[i] = nil
}

// Dial connects to each of some servers.
func (p *Processes) Dial(which ...int) jet.Conns {
	var urls []string
	for _, i := range which {
		urls = append(urls, p.URL(i))
	}
	return Dial(p.t, urls...)
}

// Leader is the server that leads a stream, as soon as there is one.
func (p *Processes) Leader(conns jet.Conns, stream string) int {
	p.t.Helper()
	for try := 0; ; try++ {
		m, err := conns.Request(p.t.Context(), try, nats.NewMsg("$JS.API.STREAM.INFO."+stream))
		var info struct {
			Cluster struct {
				Leader string `json:"leader"`
			} `json:"cluster"`
		}
		if err == nil {
			err = json.Unmarshal(m.Data, &info)
		}
		if leader := info.Cluster.Leader; err == nil && leader != "" {
			return int(leader[1] - '1')
		}
		if p.t.Context().Err() != nil {
			p.t.Fatal(err)
		}
	}
}

// Shutdown ends a server as a service manager does, and returns when its process has ended.
func (p *Processes) Shutdown(i int) {
	p.t.Helper()
	p.Signal(i, syscall.SIGTERM)
	if err := p.running[i].Wait(); err != nil {
		p.t.Errorf("server %d: %v", i+1, err)
	}
	p.running[i] = nil
}

// Dir has the files of a server.
func (p *Processes) Dir(i int) string { return filepath.Join(p.dir, fmt.Sprint("s", i+1)) }

// URL is that of a server.
func (p *Processes) URL(i int) string { return "nats://" + p.listen[i] }

// Address is that of a server, for a proxy.
func (p *Processes) Address(i int) string { return p.listen[i] }
