package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A subject is one of the programs that are compared.
type subject struct {
	name  string
	args  []string // of the floor
	door  string   // of thinkd: stdio or ws; empty: it is a floor
	floor bool
	peer  peer // nil: it is none
}

// A peer is another program that streams the thinking of models to a client. It is measured as it is installed, with its default
// settings, except that those that its documents name turn its other network traffic off. opencode still makes one connection when its
// first turn begins.
type peer interface {
	// command returns the program and its arguments.
	command() []string
	// configure writes the files that the program reads in its home directory, and returns variables of its environment.
	configure(home, upstream string) (env []string, err error)
	// connect returns a client of the started program. The sessions are for the directory work.
	connect(p *process, work string) (*client, error)
}

const peerLimit = 2 * time.Minute // for one start of a peer, with all that is measured in it

// subjects are the columns of the table. Ratios are relative to the first one.
var subjects = []subject{
	{name: "floor", floor: true},
	{name: "floor, a write per delta", floor: true, args: []string{"-each"}},
	{name: "floor, encoding/json", floor: true, args: []string{"-json"}},
	{name: "thinkd stdio", door: "stdio"},
	{name: "thinkd ws", door: "ws"},
}

func columnsOf(subjects []subject) (columns []column) {
	for _, s := range subjects {
		columns = append(columns, column{s.name, s.door != ""})
	}
	return columns
}

// house has what all measurements share: the programs, the upstream, and a directory that is removed at the end.
type house struct {
	ctx      context.Context
	dir      string
	upstream string // the address
	config   string // the file
	env      []string
	child    *child
	made     int // data directories
}

// openHouse builds the programs and starts the upstream. program is a build of thinkd, profiles and traces are directories for its profiles
// and traces; empty: none.
func openHouse(ctx context.Context, program, profiles, traces string) (*house, error) {
	dir, err := os.MkdirTemp("", "thinkd-bench-")
	if err != nil {
		return nil, err
	}
	h := &house{ctx: ctx, dir: dir}
	if err := h.open(program, profiles, traces); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

func (h *house) open(program, profiles, traces string) error {
	for _, name := range []string{"cmd/thinkd", "bench/floor"} {
		if program != "" && name == "cmd/thinkd" {
			path, err := filepath.Abs(program)
			if err == nil {
				err = os.Symlink(path, h.program("thinkd"))
			}
			if err != nil {
				return err
			}
			continue
		}
		build := exec.CommandContext(h.ctx, "go", "build", "-o", h.program(filepath.Base(name)), "github.com/thinkd/thinkd/"+name)
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as in releases: nothing is linked when it starts
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", name, err, out)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if h.child, err = startChild(h.ctx, self, "upstream"); err != nil {
		return err
	}
	h.upstream = h.child.line
	h.config = filepath.Join(h.dir, "config.toml")
	if err := os.WriteFile(h.config, []byte(config(h.upstream)), 0o600); err != nil {
		return err
	}
	h.env = []string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "THINKD_IDLE=100ms", // for a daemon that a door has started
		"ANTHROPIC_API_KEY=" + benchKey,
		"OPENAI_API_KEY=" + benchKey, "DEEPSEEK_API_KEY=" + benchKey, "GEMINI_API_KEY=" + benchKey}
	for variable, dir := range map[string]string{"THINKD_PROFILE": profiles, "THINKD_TRACE": traces} {
		if dir == "" {
			continue
		}
		if dir, err = filepath.Abs(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		h.env = append(h.env, variable+"="+dir)
	}
	return nil
}

// Close ends the upstream and removes the directory.
func (h *house) Close() error {
	var err error
	if h.child != nil {
		err = h.child.Close()
	}
	return errors.Join(err, os.RemoveAll(h.dir))
}

func (h *house) program(name string) string { return filepath.Join(h.dir, name) }

// data makes a new data directory.
func (h *house) data() (string, error) {
	h.made++
	dir := filepath.Join(h.dir, fmt.Sprintf("data%d", h.made))
	return dir, os.Mkdir(dir, 0o700)
}

const benchKey = "sk-of-the-bench"

// api is a wire API and the model that represents it.
type api struct{ name, model string }

var apis = []api{
	{"messages", "anthropic/claude-opus-4-6"},
	{"responses", "openai/gpt-5.6"},
	{"chat", "deepseek/deepseek-v4-pro"},
	{"gemini", "gemini/gemini-3.8-flash"},
	{"ollama", "ollama/qwen3.5:9b"},
}

// config sends the calls to all vendors to the upstream. Its limits allow a thought of 10 MB.
func config(upstream string) string {
	return fmt.Sprintf(`model = %q
thinking_level = "high"
[providers.anthropic]
base_url = "%[2]s"
[providers.openai]
base_url = "%[2]s/v1"
[providers.deepseek]
base_url = "%[2]s/deepseek"
[providers.gemini]
base_url = "%[2]s"
[providers.ollama]
base_url = "%[2]s"
[limits]
max_turn_bytes = "1GiB"
max_message_bytes = "64MiB"
`, apis[0].model, upstream)
}

// instance is a running subject with its client.
type instance struct {
	*client
	processes []*process // whose costs count
	conn      io.Closer  // of the client
	peer      bool       // the processes are a peer's
}

// process is a running process. It runs until its standard input is closed.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.Reader
	limit  *time.Timer // kills it; nil: none
}

// spawn starts one of the programs.
func (h *house) spawn(name string, args ...string) (*process, error) {
	cmd := exec.CommandContext(h.ctx, h.program(name), args...)
	cmd.Env = append(slices.Clip(h.env), "THINKD_DUMPABLE=1") // so that any user can measure it
	cmd.Stderr = os.Stderr
	return startProcess(cmd)
}

func startProcess(cmd *exec.Cmd) (*process, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &process{cmd: cmd, stdin: stdin, stdout: stdout}, cmd.Start()
}

// end closes the standard input of the process, and kills it if it does not exit.
func (p *process) end() error {
	p.stdin.Close()
	late := time.AfterFunc(10*time.Second, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	io.Copy(io.Discard, p.stdout)
	return p.cmd.Wait()
}

// stop asks the process to exit, and waits.
func (p *process) stop() error {
	return errors.Join(p.cmd.Process.Signal(syscall.SIGTERM), p.end())
}

// thinkd starts a command of thinkd on a data directory.
func (h *house) thinkd(data string, command ...string) (*process, error) {
	return h.spawn("thinkd", append([]string{"--config", h.config, "--data", data}, command...)...)
}

// daemon starts a daemon and waits until it listens.
func (h *house) daemon(data string) (*process, error) {
	p, err := h.thinkd(data, "daemon", "--idle", "60s")
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(p.stdout).ReadString('\n')
	if err == nil && line != "ready\n" {
		err = fmt.Errorf("the daemon says %q", line)
	}
	if err != nil {
		return nil, errors.Join(err, p.end())
	}
	return p, nil
}

// speak returns a client on the standard input and output of a process.
func speak(p *process, how protocol) *client {
	return &client{protocol: how, in: newLines(p.stdout), out: func(m []byte) error {
		_, err := p.stdin.Write(append(m, '\n'))
		return err
	}}
}

// start starts a subject on a data directory, and waits for its answer to initialize.
func (h *house) start(s subject, data string) (*instance, error) {
	i, err := h.launch(s, data)
	if err != nil {
		return nil, err
	}
	if err := i.initialize(i.client); err != nil {
		return nil, errors.Join(err, i.end())
	}
	return i, nil
}

// launch starts a subject, with its daemon if it has one. It sends no request.
func (h *house) launch(s subject, data string) (*instance, error) {
	if s.peer != nil {
		return h.launchPeer(s, data)
	}
	switch s.door {
	case "":
		p, err := h.spawn("floor", append([]string{"-upstream", h.upstream}, s.args...)...)
		if err != nil {
			return nil, err
		}
		return &instance{client: speak(p, native{}), processes: []*process{p}}, nil
	case "stdio":
		daemon, err := h.daemon(data)
		if err != nil {
			return nil, err
		}
		door, err := h.thinkd(data, "stdio")
		if err != nil {
			return nil, errors.Join(err, daemon.stop())
		}
		return &instance{client: speak(door, native{}), processes: []*process{door, daemon}}, nil
	}
	daemon, page, err := h.serve(data)
	if err != nil {
		return nil, err
	}
	w, err := dialWebSocket(page)
	if err != nil {
		return nil, errors.Join(err, daemon.stop())
	}
	return &instance{client: w.client(), processes: []*process{daemon}, conn: w.conn}, nil
}

// serve starts a daemon that listens for WebSockets, and returns the address of its page, with the token in the fragment.
func (h *house) serve(data string) (*process, string, error) {
	daemon, err := h.thinkd(data, "serve", "--listen", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	out := bufio.NewReader(daemon.stdout)
	page, err := out.ReadString('\n')
	var token []byte
	if err == nil {
		var line string
		if line, err = out.ReadString('\n'); err == nil {
			token, err = os.ReadFile(strings.TrimSpace(strings.TrimPrefix(line, "token: ")))
		}
	}
	if err != nil {
		return nil, "", errors.Join(fmt.Errorf("the address and the token of thinkd serve: %w", err), daemon.end())
	}
	return daemon, strings.TrimSpace(page) + "#token=" + strings.TrimSpace(string(token)), nil
}

// client returns a client that speaks over the connection.
func (w *webSocket) client() *client {
	return &client{protocol: native{}, in: w, out: func(m []byte) error { return w.write(opText, m) }}
}

// end ends the client, and then the processes in order: the door first, so that it starts no other daemon.
func (i *instance) end() error {
	if i.conn != nil {
		i.conn.Close()
	}
	var errs []error
	for n, p := range i.processes {
		if i.peer {
			errs = append(errs, p.kill())
		} else if n == 0 && i.conn == nil {
			errs = append(errs, p.end())
		} else {
			errs = append(errs, p.stop())
		}
	}
	return errors.Join(errs...)
}

// cpu returns the CPU time of the processes so far.
func (i *instance) cpu() (sum time.Duration, err error) {
	for _, p := range i.processes {
		of, err := sumFamily(p.cmd.Process.Pid, cpuTime)
		if err != nil {
			return 0, err
		}
		sum += of
	}
	return sum, nil
}

// writes returns how often the processes have called the system to write so far.
func (i *instance) writes() (sum int, err error) {
	for _, p := range i.processes {
		of, err := sumFamily(p.cmd.Process.Pid, writeCalls)
		if err != nil {
			return 0, err
		}
		sum += of
	}
	return sum, nil
}

// memory returns the memory of the processes, with each page counted once.
func (i *instance) memory() (sum float64, err error) {
	for _, p := range i.processes {
		of, err := sumFamily(p.cmd.Process.Pid, memory)
		if err != nil {
			return 0, err
		}
		sum += of
	}
	return sum, nil
}

// sumFamily adds what a process and its descendants use. A descendant may exit meanwhile.
func sumFamily[T int | float64 | time.Duration](pid int, of func(pid int) (T, error)) (T, error) {
	sum, err := of(pid)
	for _, member := range family(pid)[1:] {
		if used, err := of(member); err == nil {
			sum += used
		}
	}
	return sum, err
}

func peerEnv(home string, more ...string) []string {
	return append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}, more...)
}

// launchPeer starts a peer with its home in a data directory.
func (h *house) launchPeer(s subject, home string) (*instance, error) {
	env, err := s.peer.configure(home, h.upstream)
	if err != nil {
		return nil, err
	}
	work := filepath.Join(home, "work") // some programs do less in a home directory
	if err := os.MkdirAll(work, 0o700); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(home+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	command := s.peer.command()
	cmd := exec.CommandContext(h.ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = work, peerEnv(home, env...), log
	p, err := startProcess(cmd)
	if err != nil {
		return nil, err
	}
	p.limit = time.AfterFunc(peerLimit, func() { killFamily(cmd.Process.Pid) })
	c, err := s.peer.connect(p, work)
	if err != nil {
		return nil, errors.Join(err, p.kill())
	}
	return &instance{client: c, processes: []*process{p}, peer: true}, nil
}

// killFamily kills a process and its descendants. A peer from npm is a script that starts the program.
func killFamily(pid int) {
	for _, member := range family(pid) {
		if p, err := os.FindProcess(member); err == nil {
			p.Kill() // it may have exited
		}
	}
}

// kill kills the process with its descendants and waits. It fails if the process was killed before, for its time was up.
func (p *process) kill() error {
	inTime := p.limit == nil || p.limit.Stop()
	killFamily(p.cmd.Process.Pid)
	p.cmd.Wait() // its status is that of the kill
	if !inTime {
		return fmt.Errorf("killed after %v", peerLimit)
	}
	return nil
}
