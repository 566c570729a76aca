package providertest_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/responses"
)

// recording is one exchange with a provider as another project recorded it, with what a correct reader finds in it.
type recording struct {
	ID       string `json:"id"`
	API      string `json:"provider_api"`
	Dialect  string `json:"dialect"`
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
		t.Skip("THINKD_RECORDINGS does not name a folder of recorded answers")
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

// face is how the test meets the adapter of an API.
type face struct {
	open      func(dialect, address string) provider.Provider
	history   string   // where in a request the first answer stands
	opaque    []string // the members of the vendor's blocks that have to come back
	reasoning string   // where its usage counts reasoning
}

var faces = map[string]face{
	"anthropic-messages": {
		open: func(dialect, address string) provider.Provider {
			return messages.New(messages.Config{Provider: dialect, Vendor: "anthropic", BaseURL: address, Key: provider.NewSecret("sk-recordings")})
		},
		history: "messages.1.content", opaque: []string{"signature", "data"}, reasoning: "output_tokens_details.thinking_tokens",
	},
	"openai-responses": {
		open: func(dialect, address string) provider.Provider {
			return responses.New(responses.Config{Provider: dialect, Vendor: "openai", BaseURL: address, Host: responses.HostNamed(dialect),
				Key: provider.NewSecret("sk-recordings")})
		},
		history: "input", opaque: []string{"encrypted_content"}, reasoning: "output_tokens_details.reasoning_tokens",
	},
}

func notApplicable(c recording) string {
	switch {
	case faces[c.API].open == nil:
		return "no adapter serves it"
	case c.Response.BodyEncoding != "":
		return "an AWS event stream is not HTTP's"
	}
	return ""
}

// replayRecording says what is wrong with how the adapter reads the case, and with what it sends next.
func replayRecording(t *testing.T, c recording, echo bool) []string {
	t.Helper()
	var sent []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var err error
		if sent, err = io.ReadAll(req.Body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", c.Response.ContentType)
		w.WriteHeader(c.Response.Status)
		io.WriteString(w, c.Response.Body) // an adapter that has its end may be gone before the last byte
	}))
	defer server.Close()
	face := faces[c.API]
	api := face.open(c.Dialect, server.URL)
	ask := provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: "ask"}}}
	req := &provider.Request{Model: provider.Model{ID: cmp.Or(c.Expected.Model, "model")}, Messages: []provider.Message{ask}}
	reply, err := providertest.Collect(api.Stream(t.Context(), req))
	if err != nil {
		return []string{err.Error()}
	}
	wrong := compare(face, c.Expected, reply)
	if !echo || len(wrong) > 0 {
		return wrong
	}
	req.Messages = append(req.Messages, provider.Message{Role: provider.Assistant, Blocks: stored(t, reply.Blocks)}, ask)
	for range api.Stream(t.Context(), req) {
		// What it sends is all that counts. The answer is read, so that the server can write it.
	}
	carried := face.values(gjson.GetBytes(sent, face.history).Array())
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

// values are the hashes of all that is opaque in the vendor's blocks.
func (f face) values(blocks []gjson.Result) []string {
	var hashes []string
	for _, b := range blocks {
		for _, name := range f.opaque {
			if v := b.Get(name); v.Type == gjson.String && v.Str != "" {
				hashes = append(hashes, sum(v.Str))
			}
		}
	}
	return hashes
}

func sum(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:])
}

// object is a call's arguments; those of a free form are JSON inside a string.
func object(arguments json.RawMessage) []byte {
	if text := gjson.ParseBytes(arguments); text.Type == gjson.String {
		return []byte(text.Str)
	}
	return arguments
}

func compare(face face, want expected, got providertest.Reply) []string {
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
	var raw []gjson.Result
	var calls []provider.ToolCall
	for _, b := range got.Blocks {
		raw = append(raw, gjson.ParseBytes(provider.StateOf(b).Data))
		switch b := b.(type) {
		case provider.Thinking:
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
	differ("thinking", want.Thinking, thinking.String())
	differ("text", want.Text, text.String())
	var wantOrder, wantHashes []string
	for _, b := range want.Blocks {
		wantOrder = append(wantOrder, b.Type)
		if b.Type == "text" || b.Type == "thinking" {
			wantHashes = append(wantHashes, b.SHA256)
		} else {
			wantHashes = append(wantHashes, "")
		}
	}
	differ("order of blocks", wantOrder, order)
	differ("blocks' texts", wantHashes, hashes)
	var opaque []string
	for _, o := range want.Opaque {
		opaque = append(opaque, o.SHA256)
	}
	differ("opaque values", opaque, face.values(raw))
	differ("number of tool calls", len(want.ToolCalls), len(calls))
	for i := range min(len(want.ToolCalls), len(calls)) {
		w, g := want.ToolCalls[i], calls[i]
		differ("call", w.ID+" "+w.Name, g.ID+" "+g.Name)
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
	differ("model", want.Model, got.Stop.Model)
	if want.Usage != nil {
		number := func(path string) *int64 {
			if v := gjson.GetBytes(got.Stop.RawUsage, path); v.Type == gjson.Number {
				n := v.Int()
				return &n
			}
			return nil
		}
		show := func(n *int64) string {
			if n == nil {
				return "none"
			}
			return fmt.Sprint(*n)
		}
		differ("input tokens", show(want.Usage.Input), show(number("input_tokens")))
		differ("output tokens", show(want.Usage.Output), show(number("output_tokens")))
		differ("reasoning tokens", show(want.Usage.Reasoning), show(number(face.reasoning)))
	}
	return wrong
}
