// Floor is the minimum that a program in place of thinkd has to do. It measures what the machine itself costs. It reads the stream of a
// Messages API, cuts out each delta of thinking by its bytes, and writes it as one line of JSON-RPC. It decides, checks and stores
// nothing, and has one client.
//
// Its lines have the same members as those of thinkd. It flushes when its input is empty, so no delta waits for the next one. With -each
// it writes every delta separately. With -json it reads and writes with encoding/json, as a simple program would.
//
// It answers initialize, session/new and session/prompt by their ids, as far as the benchmark's driver needs.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	upstream := flag.String("upstream", "", "base `URL` of the Messages API")
	each := flag.Bool("each", false, "a write for each delta")
	viaJSON := flag.Bool("json", false, "encoding/json both ways")
	flag.Parse()
	f := &floor{upstream: *upstream, each: *each, viaJSON: *viaJSON, out: os.Stdout}
	if err := f.serve(os.Stdin); err != nil {
		log.Fatal(err)
	}
}

type floor struct {
	upstream string
	each     bool
	viaJSON  bool
	sessions int

	mu  sync.Mutex // held while whole lines are written
	out io.Writer
}

// request is what clients send. The id is written back as it came.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Session string `json:"session_id"`
		Text    string
	}
}

// serve answers until there are no more requests, and returns when the streams have ended that they began.
func (f *floor) serve(in io.Reader) error {
	var streams sync.WaitGroup
	defer streams.Wait()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		result := "{}"
		switch r.Method {
		case "session/new":
			f.sessions++
			result = fmt.Sprintf(`{"session_id":"%026d"}`, f.sessions)
		case "session/prompt":
			result = fmt.Sprintf(`{"turn_id":"%026d"}`, f.sessions)
		}
		if err := f.write(fmt.Appendf(nil, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", r.ID, result)); err != nil {
			return err
		}
		if r.Method == "session/prompt" {
			streams.Go(func() { // ends with its stream; awaited above
				if err := f.stream(r.Params.Session, r.Params.Text); err != nil {
					log.Fatal(err)
				}
			})
		}
	}
}

func (f *floor) write(b []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.out.Write(b)
	return err
}

// stream asks the model and passes on what it thinks.
func (f *floor) stream(session, prompt string) error {
	body := fmt.Sprintf(`{"model":"claude-opus-4-6","max_tokens":64000,"stream":true,"thinking":{"type":"adaptive","display":"summarized"},"messages":[{"role":"user","content":%q}]}`, prompt)
	r, err := http.NewRequest(http.MethodPost, f.upstream+"/v1/messages", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	r.Header.Set("X-Api-Key", "sk-of-the-bench")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	t := turn{floor: f, session: session, now: time.Now().UnixMilli()}
	in := bufio.NewReaderSize(resp.Body, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if f.viaJSON {
			err = t.decode(line)
		} else {
			t.cut(line)
		}
		if err != nil {
			return err
		}
		if len(t.out) > 0 && (f.each || in.Buffered() == 0 || len(t.out) > 64<<10) {
			if err := t.flush(); err != nil {
				return err
			}
		}
	}
	t.out = fmt.Appendf(t.out, "{\"jsonrpc\":\"2.0\",\"method\":\"turn_end\",\"params\":{\"session_id\":\"%s\",\"seq\":%d,\"stop_reason\":\"end_turn\"}}\n", session, t.seq+1)
	return t.flush()
}

// turn is a stream on its way.
type turn struct {
	*floor
	session string
	seq     int
	now     int64  // Unix milliseconds, of the last write
	out     []byte // lines that wait
}

func (t *turn) flush() error {
	err := t.write(t.out)
	t.out, t.now = t.out[:0], time.Now().UnixMilli()
	return err
}

var before = []byte(`"thinking_delta","thinking":"`)

// cut finds the delta by what stands before it. What is a string there is one here: nothing is escaped again.
func (t *turn) cut(line []byte) {
	_, rest, ok := bytes.Cut(line, before)
	if !ok {
		return
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return
	}
	t.seq++
	t.out = append(t.out, `{"jsonrpc":"2.0","method":"thinking_delta","params":{"session_id":"`...)
	t.out = append(t.out, t.session...)
	t.out = append(t.out, `","seq":`...)
	t.out = strconv.AppendInt(t.out, int64(t.seq), 10)
	t.out = append(t.out, `,"ts":`...)
	t.out = strconv.AppendInt(t.out, t.now, 10)
	t.out = append(t.out, `,"turn_id":"`...)
	t.out = append(t.out, t.session...)
	t.out = append(t.out, `","message_id":"`...)
	t.out = append(t.out, t.session...)
	t.out = append(t.out, `","block":0,"delta":"`...)
	t.out = append(t.out, rest[:end]...)
	t.out = append(t.out, "\"}}\n"...)
}

type event struct {
	Type  string `json:"type"`
	Index int    `json:"index"`
	Delta struct {
		Type     string `json:"type"`
		Thinking string `json:"thinking"`
	} `json:"delta"`
}

type notification struct {
	Version string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  struct {
		Session string `json:"session_id"`
		Seq     int    `json:"seq"`
		TS      int64  `json:"ts"`
		Turn    string `json:"turn_id"`
		Message string `json:"message_id"`
		Block   int    `json:"block"`
		Delta   string `json:"delta"`
	} `json:"params"`
}

func (t *turn) decode(line []byte) error {
	data, ok := bytes.CutPrefix(line, []byte("data: "))
	if !ok {
		return nil
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	if e.Delta.Type != "thinking_delta" {
		return nil
	}
	t.seq++
	n := notification{Version: "2.0", Method: "thinking_delta"}
	n.Params.Session, n.Params.Turn, n.Params.Message = t.session, t.session, t.session
	n.Params.Seq, n.Params.TS, n.Params.Block, n.Params.Delta = t.seq, t.now, e.Index, e.Delta.Thinking
	out, err := json.Marshal(n)
	t.out = append(append(t.out, out...), '\n')
	return err
}
