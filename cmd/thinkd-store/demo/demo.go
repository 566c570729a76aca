package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider/durable"
)

// Config says what a demo is made of.
type Config struct {
	Dir         string                 // a folder that is not there yet; empty: a new one, which is removed at the end
	Listen      string                 // the address for clients, on this machine
	Store       string                 // the program thinkd-store
	Thinkd      string                 // the program thinkd
	Credentials func(dir string) error // makes store.keys and node.creds
	In          io.Reader              // an empty line starts again what was killed
	Out         io.Writer
}

// Run runs a demo until ctx ends. Then nothing of it runs any more.
func Run(ctx context.Context, c Config) (err error) {
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer listener.Close() // front closes it first
	dir, remove, err := c.folder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	l, err := newLayout(dir, listener.Addr().String())
	if err == nil {
		err = c.Credentials(dir)
	}
	if err == nil {
		err = l.write()
	}
	if err != nil {
		return err
	}
	d := &demo{config: c, layout: l, out: make(chan string, 64)}
	d.parts = d.newParts()
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	f := &front{listener: listener, nodes: l.nodes}
	var frontErr error
	running.Go(func() { frontErr = f.run(ctx) }) // ends with ctx
	err = d.run(ctx)
	cancel()
	running.Wait()
	return errors.Join(err, frontErr)
}

// folder makes the folder.
func (c Config) folder() (dir string, remove func() error, err error) {
	if c.Dir == "" {
		dir, err = os.MkdirTemp("", "thinkd-demo-")
		return dir, func() error { return os.RemoveAll(dir) }, err
	}
	if dir, err = filepath.Abs(c.Dir); err != nil {
		return "", nil, err
	}
	if _, err := os.Lstat(dir); err == nil {
		return "", nil, fmt.Errorf("--dir: %s is there already: a demo begins in a new folder", dir)
	}
	return dir, func() error { return nil }, durable.MakeDir(dir)
}

// demo is one that runs.
type demo struct {
	config Config
	layout layout
	parts  []*part // stores, then nodes
	out    chan string
	ending sync.WaitGroup
}

func (d *demo) newParts() (list []*part) {
	l := d.layout
	env := append(os.Environ(), "NOTIFY_SOCKET=")
	for i, name := range storeNames {
		list = append(list, &part{name: name, address: l.stores[i], program: d.config.Store, args: []string{"--config", l.path(name + ".toml")}, dir: l.dir, env: env, log: l.path(name + ".log")})
	}
	for i, name := range nodeNames {
		args := []string{"--data", l.path(name), "--config", l.path(name + ".toml"), "serve", "--listen", l.nodes[i]}
		list = append(list, &part{name: name, address: l.nodes[i], program: d.config.Thinkd, args: args, dir: l.dir, env: env, log: l.path(name + ".log")})
	}
	return list
}

// say prints a line, if the demo has not ended.
func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.config.Out, format+"\n", args...)
}

// run starts everything, tells how to use it, and ends everything.
func (d *demo) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, d.end()) }()
	d.say("Starting three stores and three nodes in %s", d.layout.dir)
	if err := d.startAll(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	if err := d.logIn(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	d.show()
	lines := make(chan struct{})
	if d.config.In != nil {
		go d.read(ctx, lines) // ends with its input, or with the process: a read of a terminal cannot be cancelled
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case line := <-d.out:
			d.say("%s", line)
		case <-lines:
			if err := d.startAll(ctx); err != nil {
				return err
			}
			d.list()
		}
	}
}

// read sends for each line of the input.
func (d *demo) read(ctx context.Context, lines chan<- struct{}) {
	for scan := bufio.NewScanner(d.config.In); scan.Scan(); {
		select {
		case lines <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

// startAll starts what does not run, and returns when it is ready. A store prints nothing: nodes wait for it.
func (d *demo) startAll(ctx context.Context) error {
	var begun []*part
	for _, p := range d.parts {
		if p.running() != 0 {
			continue
		}
		d.ending.Add(1)
		over := func() {
			if ctx.Err() == nil {
				select {
				case d.out <- fmt.Sprintf("%s has ended: %s. Press Enter to start it again.", p.name, p.how()):
				default: // more has ended than a person reads
				}
			}
			d.ending.Done()
		}
		if err := p.start(over); err != nil {
			d.ending.Done()
			return err
		}
		begun = append(begun, p)
	}
	for _, p := range begun {
		if strings.HasPrefix(p.name, "store") {
			continue
		}
		select {
		case <-p.ready:
		case <-p.ended:
			return fmt.Errorf("%s did not start: %s\n%s", p.name, p.how(), p.lastLines())
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// logIn makes a login of the folder client, for commands with --remote.
func (d *demo) logIn(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, d.config.Thinkd, "--data", d.layout.client(), "remote", "login", "--token", d.url())
	cmd.Stdin = strings.NewReader(d.layout.token + "\n")
	if out, err := cmd.CombinedOutput(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("thinkd remote login: %w\n%s", err, out)
	}
	return nil
}

func (d *demo) url() string { return "http://" + d.layout.front + "/" }

func (d *demo) show() {
	d.list()
	d.say(`
Page:  %s#token=%s
Chat:  %s --data %s --remote %s chat
Nodes: %s --data %s cluster status

Open the page or the chat several times: each connection goes to the next node. Send a prompt that takes a while:

  Which date is later? [[sim: thinking=600 text=200 pace=20]]

Then kill parts, such as with kill -9 %d. Enter starts again what was killed, and ^C ends everything.
`, d.url(), d.layout.token, d.config.Thinkd, d.layout.client(), d.url(), d.config.Thinkd, d.layout.path(nodeNames[0]), d.parts[len(storeNames)].running())
}

func (d *demo) list() {
	for _, p := range d.parts {
		state := fmt.Sprintf("process %d", p.running())
		if p.running() == 0 {
			state = "does not run"
		}
		d.say("%-8s %-16s %s", p.name, p.address, state)
	}
}

// end ends the nodes at once, and then the stores.
func (d *demo) end() error {
	n := len(storeNames)
	err := errors.Join(endAll(d.parts[n:]), endAll(d.parts[:n]))
	d.ending.Wait()
	return err
}

// endAll ends parts in parallel.
func endAll(parts []*part) error {
	errs := make([]error, len(parts))
	var ending sync.WaitGroup
	for i, p := range parts {
		ending.Go(func() { errs[i] = p.end() }) // ends with the part
	}
	ending.Wait()
	return errors.Join(errs...)
}
