package providertest_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/providertest"
)

// recording is one exchange with a provider as another project recorded it, with what a correct reader finds in it.
type recording struct {
	ID       string   `json:"id"`
	API      string   `json:"provider_api"`
	Dialect  string   `json:"dialect"`
	Features []string `json:"features"`
	Request  struct {
		Path string `json:"path"`
	} `json:"request"`
	Response struct {
		Status       int    `json:"status"`
		ContentType  string `json:"content_type"`
		Body         string `json:"body"`
		BodyEncoding string `json:"body_encoding"`
	} `json:"response"`
	Expected expected `json:"expected"`
	Previous string   `json:"previous"`
	Echo     *struct {
		Continues bool `json:"continues"`
	} `json:"echo_of_previous"`
}

// body is that of the answer. Streams of Amazon are binary, and are kept as base64.
func (c recording) body(t *testing.T) []byte {
	if c.Response.BodyEncoding == "" {
		return []byte(c.Response.Body)
	}
	data, err := base64.StdEncoding.DecodeString(c.Response.Body)
	if err != nil {
		t.Errorf("%s: %v", c.ID, err)
	}
	return data
}

// invoked is the model in the path of a request to Amazon; empty: there is none.
func (c recording) invoked() string {
	id, _, _ := strings.Cut(strings.TrimPrefix(c.Request.Path, "/model/"), "/")
	if id == c.Request.Path {
		return ""
	}
	id, err := url.PathUnescape(id)
	if err != nil {
		return ""
	}
	return id
}

type expected struct {
	Thinking  string `json:"thinking_text"`
	Text      string `json:"text"`
	ToolCalls []struct {
		ID             string          `json:"id"`
		Name           string          `json:"name"`
		Arguments      json.RawMessage `json:"arguments"`
		ArgumentsValid *bool           `json:"arguments_valid"`
	} `json:"tool_calls"`
	Opaque []struct {
		Kind   string `json:"kind"`
		SHA256 string `json:"value_sha256"`
	} `json:"opaque"`
	StopReason string `json:"stop_reason"`
	Usage      *struct {
		Input     *int64 `json:"input"`
		Output    *int64 `json:"output"`
		Reasoning *int64 `json:"reasoning"`
	} `json:"usage"`
	Model  string `json:"model"`
	Blocks []struct {
		Type   string `json:"type"`
		SHA256 string `json:"sha256"`
	} `json:"blocks"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
	Complete *bool `json:"complete"`
}

type tally struct{ cases, passed, failed, skipped int }

// TestRecordings reads the folder that THINKD_RECORDINGS names: index.json, and cases with the members above. Each
// recorded answer is served over HTTP to the adapter of its API; where a later case of the same recording goes on from
// it, the next request has to carry all that is opaque, byte for byte.
func TestRecordings(t *testing.T) {
	dir := os.Getenv("THINKD_RECORDINGS")
	if dir == "" {
		t.Skip("needs: recordings, in the folder that THINKD_RECORDINGS names")
	}
	cases := readCases(t, dir)
	continued := map[string]bool{}
	for _, c := range cases {
		if c.Echo != nil && c.Echo.Continues {
			continued[c.Previous] = true
		}
	}
	results := map[string]*tally{}
	reasons := map[string]map[string]bool{}
	for _, c := range cases {
		key := c.API + " " + c.Dialect
		if results[key] == nil {
			results[key], reasons[key] = &tally{}, map[string]bool{}
		}
		sum := results[key]
		sum.cases++
		if why := notApplicable(c); why != "" {
			sum.skipped++
			reasons[key][why] = true
			continue
		}
		wrong := replayRecording(t, c, continued[c.ID])
		if len(wrong) == 0 {
			sum.passed++
			continue
		}
		sum.failed++
		t.Errorf("%s:\n\t%s", c.ID, strings.Join(wrong, "\n\t"))
	}
	for _, key := range slices.Sorted(maps.Keys(results)) {
		sum := results[key]
		line := fmt.Sprintf("%-34s cases %3d  passed %3d  failed %3d  not applicable %3d", key, sum.cases, sum.passed, sum.failed, sum.skipped)
		if why := slices.Sorted(maps.Keys(reasons[key])); len(why) > 0 {
			line += " (" + strings.Join(why, "; ") + ")"
		}
		fmt.Println(line)
	}
}

func readCases(t *testing.T, dir string) []recording {
	t.Helper()
	var index []struct {
		File string `json:"file"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	var cases []recording
	for _, line := range index {
		data, err := os.ReadFile(filepath.Join(dir, line.File))
		if err != nil {
			t.Fatal(err)
		}
		var c recording
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatalf("%s: %v", line.File, err)
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		t.Fatalf("%s lists no cases", dir)
	}
	return cases
}

// reader is what the test has to know of an adapter.
type reader struct {
	open    func(c recording, address string) provider.Provider
	opaque  func(reply providertest.Reply) []string // hashes of what is kept of it to be sent back
	carried func(body gjson.Result) []string        // the same of what a request carries
	// Places of the counts in the vendor's usage; the first that is there counts.
	input, output, reasoning []string
	asked                    bool                      // answers name no model, so the one that was asked is taken
	silent                   bool                      // a block without text is not among the expected ones
	unseen                   func(provider.Block) bool // nil, or whether a block is not among the expected ones
}

var readers = map[string]reader{
	"anthropic-messages": {
		open: func(c recording, address string) provider.Provider {
			host := messages.Host{}
			if c.Response.BodyEncoding != "" {
				host = messages.HostNamed("bedrock")
			}
			return messages.New(exchange.Config{Provider: c.Dialect, Vendor: "anthropic", BaseURL: address, Key: provider.NewSecret("sk-recordings")}, host)
		},
		opaque: func(reply providertest.Reply) []string {
			return opaqueValues(states(reply), "signature", "data")
		},
		carried: func(body gjson.Result) []string {
			return opaqueValues(body.Get("messages.1.content").Array(), "signature", "data")
		},
		input:     []string{"input_tokens"},
		output:    []string{"output_tokens"},
		reasoning: []string{"output_tokens_details.thinking_tokens"},
	},
	"openai-responses": responsesReader,
	"openai-chat":      chatReader,
	"mistral":          chatReader,
	"gemini":           geminiReader,
	"ollama":           ollamaReader,
	"bedrock-converse": converseReader,
	"cohere-chat":      cohereReader,
}

func notApplicable(c recording) string {
	switch {
	case readers[c.API].open == nil:
		return "no adapter serves it"
	}
	return ""
}

// replayRecording says what is wrong with how the adapter reads the case, and with what it sends next.
func replayRecording(t *testing.T, c recording, echo bool) []string {
	t.Helper()
	var sent []byte
	var leaves atomic.Bool // the client goes when it has sent its request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var err error
		if sent, err = io.ReadAll(req.Body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", c.Response.ContentType)
		w.WriteHeader(c.Response.Status)
		if _, err := w.Write(c.body(t)); err != nil && !leaves.Load() {
			t.Error(err)
		}
	}))
	defer server.Close()
	read := readers[c.API]
	api := read.open(c, server.URL)
	ask := provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "ask"}}}
	req := &provider.Request{Model: provider.Model{ID: cmp.Or(c.Expected.Model, c.invoked(), "model")}, Messages: []provider.Message{ask}}
	reply, err := providertest.Collect(api.Stream(t.Context(), req))
	if err != nil {
		return []string{err.Error()}
	}
	wrong := compare(c, reply)
	if !echo || len(wrong) > 0 {
		return wrong
	}
	answer := provider.Message{Role: provider.Assistant, Blocks: stored(t, reply.Blocks)}
	if reply.Stop != nil {
		answer.State = reply.Stop.State
	}
	req.Messages = append(req.Messages, answer, ask)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	leaves.Store(true)
	for range api.Stream(ctx, req) {
		break // what it sends is all that counts
	}
	carried := read.carried(gjson.ParseBytes(sent))
	for _, o := range c.Expected.Opaque {
		if !slices.Contains(carried, o.SHA256) {
			wrong = append(wrong, "the next request does not carry the "+o.Kind+" "+o.SHA256)
		}
	}
	return wrong
}

// stored is the blocks as they come back from a log.
func stored(t *testing.T, blocks provider.Blocks) provider.Blocks {
	t.Helper()
	data, err := json.Marshal(blocks)
	if err != nil {
		t.Fatal(err)
	}
	var back provider.Blocks
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	return back
}

// opaqueValues are the hashes of those members of the vendor's blocks that are opaque.
func opaqueValues(blocks []gjson.Result, members ...string) []string {
	var hashes []string
	for _, b := range blocks {
		for _, name := range members {
			if v := b.Get(name); v.Type == gjson.String && v.Str != "" {
				hashes = append(hashes, sum(v.Str))
			}
		}
	}
	return hashes
}

// states are what the vendor said of each block.
func states(reply providertest.Reply) []gjson.Result {
	var raw []gjson.Result
	for _, b := range reply.Blocks {
		raw = append(raw, gjson.ParseBytes(provider.StateOf(b).Data))
	}
	return raw
}

func sum(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:])
}

// shownBlocks is all that was shown, in the order in which it began: a block that a failure left open counts as far as
// it came.
func shownBlocks(reply providertest.Reply) provider.Blocks {
	begun, grown, ended := []int{}, map[int]string{}, map[int]provider.Block{}
	kinds := map[int]provider.BlockKind{}
	for _, ev := range reply.Events {
		switch ev := ev.(type) {
		case provider.Begin:
			begun = append(begun, ev.Index)
			kinds[ev.Index] = provider.KindOf(ev.Block)
		case provider.Delta:
			grown[ev.Index] += ev.Text
		case provider.End:
			ended[ev.Index] = ev.Block
		}
	}
	var blocks provider.Blocks
	for _, n := range begun {
		switch b := ended[n]; {
		case b != nil:
			blocks = append(blocks, b)
		case kinds[n] == provider.KindText:
			blocks = append(blocks, provider.Text{Text: grown[n]})
		case kinds[n] == provider.KindThinking:
			blocks = append(blocks, provider.Thinking{Text: grown[n]})
		}
	}
	return blocks
}

// object is a call's arguments; those of a free form are JSON inside a string.
func object(arguments json.RawMessage) []byte {
	if text := gjson.ParseBytes(arguments); text.Type == gjson.String {
		return []byte(text.Str)
	}
	return arguments
}

func compare(c recording, got providertest.Reply) []string {
	want, read := c.Expected, readers[c.API]
	inline := slices.Contains(c.Features, "inline_think") || c.API == "ollama" && strings.Contains(want.Text, "</think>")
	var wrong []string
	differ := func(what string, want, got any) {
		if !reflect.DeepEqual(want, got) {
			wrong = append(wrong, fmt.Sprintf("%s: want %v, got %v", what, want, got))
		}
	}
	if want.Error != nil || want.Complete != nil && !*want.Complete {
		if got.Err == nil {
			return []string{"want an error, got none"}
		}
		if want.Error != nil && !strings.Contains(got.Err.Error(), want.Error.Message) {
			return []string{fmt.Sprintf("want an error with %q, got %v", want.Error.Message, got.Err)}
		}
	} else if got.Stop == nil {
		return []string{fmt.Sprintf("error %v", got.Err)}
	}
	var thinking, text strings.Builder
	var order, hashes []string
	var calls []provider.ToolCall
	for _, b := range shownBlocks(got) {
		if read.unseen != nil && read.unseen(b) {
			continue
		}
		switch b := b.(type) {
		case provider.Thinking:
			if read.silent && b.Text == "" {
				continue
			}
			thinking.WriteString(b.Text)
			if b.Kind == provider.ThinkingRedacted {
				order, hashes = append(order, "redacted_thinking"), append(hashes, "")
			} else {
				order, hashes = append(order, "thinking"), append(hashes, sum(b.Text))
			}
		case provider.Text:
			text.WriteString(b.Text)
			order, hashes = append(order, "text"), append(hashes, sum(b.Text))
		case provider.ToolCall:
			calls = append(calls, b)
			order, hashes = append(order, "tool_call"), append(hashes, "")
		default:
			order, hashes = append(order, "other"), append(hashes, "")
		}
	}
	if inline {
		differ("thinking and text", want.Thinking+withoutTags(want.Text), thinking.String()+text.String())
	} else {
		differ("thinking", want.Thinking, thinking.String())
		differ("text", want.Text, text.String())
	}
	var wantOrder, wantHashes []string
	for _, b := range want.Blocks {
		wantOrder = append(wantOrder, b.Type)
		if b.Type == "text" || b.Type == "thinking" {
			wantHashes = append(wantHashes, b.SHA256)
		} else {
			wantHashes = append(wantHashes, "")
		}
	}
	if !inline {
		differ("order of blocks", wantOrder, order)
		differ("blocks' texts", wantHashes, hashes)
	}
	var opaque []string
	for _, o := range want.Opaque {
		opaque = append(opaque, o.SHA256)
	}
	differ("opaque values", opaque, read.opaque(got))
	differ("number of tool calls", len(want.ToolCalls), len(calls))
	for i := range min(len(want.ToolCalls), len(calls)) {
		w, g := want.ToolCalls[i], calls[i]
		differ("call", cmp.Or(w.ID, g.ID)+" "+w.Name, g.ID+" "+g.Name) // a vendor may give none
		if w.ArgumentsValid != nil && !*w.ArgumentsValid {
			differ("invalid arguments", gjson.ParseBytes(w.Arguments).String(), g.Invalid)
		} else if diff := providertest.DiffJSON(object(w.Arguments), g.Input); diff != "" {
			wrong = append(wrong, "arguments of "+w.ID+" (-want +got): "+diff)
		}
	}
	if got.Stop == nil {
		return wrong
	}
	differ("stop reason", want.StopReason, got.Stop.Raw)
	if !read.asked {
		differ("model", want.Model, got.Stop.Model)
	}
	if want.Usage != nil {
		number := func(paths []string) *int64 {
			for _, path := range paths {
				if v := gjson.GetBytes(got.Stop.RawUsage, path); v.Type == gjson.Number {
					n := v.Int()
					return &n
				}
			}
			return nil
		}
		show := func(n *int64) string {
			if n == nil {
				return "none"
			}
			return fmt.Sprint(*n)
		}
		differ("input tokens", show(want.Usage.Input), show(number(read.input)))
		differ("output tokens", show(want.Usage.Output), show(number(read.output)))
		differ("reasoning tokens", show(want.Usage.Reasoning), show(number(read.reasoning)))
	}
	return wrong
}
