package powercut

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// patience bounds what should come at once.
const patience = 60 * time.Second

// nobody is an address where nothing answers: servers of this machine have no part here.
const nobody = "http://127.0.0.1:1"

// command is the program with an environment of its own. What it writes to standard error is in said.
func command(home string, args ...string) (cmd *exec.Cmd, said *bytes.Buffer) {
	cmd = exec.Command(program, args...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "OLLAMA_HOST=" + nobody, "LMSTUDIO_BASE_URL=" + nobody,
		"LLAMACPP_BASE_URL=" + nobody, "VLLM_BASE_URL=" + nobody, "SGLANG_BASE_URL=" + nobody}
	said = new(bytes.Buffer)
	cmd.Stderr = said
	return cmd, said
}

// daemon is a daemon on a data directory, and a client of it.
type daemon struct {
	cmd   *exec.Cmd
	conn  net.Conn
	start time.Duration // until it was ready
	gone  chan struct{} // closed when nothing more is read

	mu      sync.Mutex
	next    int
	waiting map[int]chan message
	told    func(update)
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// update is a notification, as far as it is looked at.
type update struct {
	Method  string
	Session string `json:"session_id"`
	Turn    string `json:"turn_id"`
	Message string `json:"message_id"`
	Block   int    `json:"block"`
	Text    string `json:"text"`
	Stop    string `json:"stop_reason"`
}

var errGone = errors.New("the daemon has gone")

// run starts a daemon, with further flags, and connects to it. told hears every notification, on the reading goroutine.
func run(home, dir string, told func(update), flags ...string) (*daemon, error) {
	cmd, said := command(home, append([]string{"--data", dir, "daemon"}, flags...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "ready\n" {
		cmd.Process.Kill()
		cmd.Wait()
		return nil, fmt.Errorf("the daemon says %q, %v; %s", line, err, said)
	}
	d := &daemon{cmd: cmd, start: time.Since(began), gone: make(chan struct{}), waiting: map[int]chan message{}, told: told}
	if d.conn, err = net.Dial("unix", filepath.Join(dir, "thinkd.sock")); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return nil, err
	}
	go d.read() // ends with the connection; kill waits
	return d, nil
}

func (d *daemon) read() {
	defer close(d.gone)
	for in := bufio.NewReader(d.conn); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue // the last line may be cut
		}
		if m.Method == "" {
			d.mu.Lock()
			answer := d.waiting[m.ID]
			delete(d.waiting, m.ID)
			d.mu.Unlock()
			answer <- m
			continue
		}
		u := update{Method: m.Method}
		if json.Unmarshal(m.Params, &u) == nil {
			d.told(u)
		}
	}
}

// call sends a request and waits for its answer.
func (d *daemon) call(method string, params map[string]any, result any) error {
	answer := make(chan message, 1)
	d.mu.Lock()
	d.next++
	id := d.next
	d.waiting[id] = answer
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err == nil {
		_, err = d.conn.Write(append(request, '\n'))
	}
	d.mu.Unlock()
	if err != nil {
		return errGone
	}
	select {
	case m := <-answer:
		return m.into(method, result)
	case <-d.gone:
		select {
		case m := <-answer: // it was there before the end
			return m.into(method, result)
		default:
			return errGone
		}
	case <-time.After(patience):
		return fmt.Errorf("%s: no answer", method)
	}
}

func (m message) into(method string, result any) error {
	if m.Error != nil {
		return fmt.Errorf("%s: %s (%d)", method, m.Error.Message, m.Error.Code)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(m.Result, result)
}

// kill ends the daemon at once, and returns when all that it had said has been heard.
func (d *daemon) kill() {
	d.cmd.Process.Kill()
	<-d.gone
	d.conn.Close()
	d.cmd.Wait() // its status is the kill's
}

// sound has `thinkd doctor` look at a store that nobody uses.
func sound(home, dir string) error {
	cmd, said := command(home, "--data", dir, "doctor")
	out, err := cmd.Output()
	if err != nil || strings.Contains(string(out), "\nbad") {
		return fmt.Errorf("doctor: %v: %s%s", err, out, said)
	}
	return nil
}
