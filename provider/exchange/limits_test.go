package exchange_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
)

func TestFit(t *testing.T) {
	c := exchange.NewCaller("", exchange.Config{BaseURL: "https://host.test"})
	for _, test := range []struct {
		window, input, most, want int
		counted                   bool
	}{
		{131_072, 70_000, 64_000, 131_072 - 70_000 - 6_553, true},
		{131_072, 70_000, 64_000, 131_072 - 70_000 - 19_660, false},
		{131_072, 10_000, 64_000, 64_000, true},
		{131_072, 130_000, 64_000, 1_024, true},
		{8_192, 1_000, 8_192, 8_192 - 1_000 - 1_024, true},
		{0, 70_000, 64_000, 64_000, true},
		{131_072, 0, 64_000, 64_000, false},
		{131_072, 131_000, 0, 0, true},
		{131_072, 131_000, 500, 500, true},
	} {
		req := &provider.Request{Model: provider.Model{ID: "m", Window: test.window}, Input: test.input, Counted: test.counted}
		if got := c.Fit(req, test.most); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

// TestOverflows: every text by which a host says that a request does not fit, and texts that are about something else.
func TestOverflows(t *testing.T) {
	c := exchange.NewCaller("", exchange.Config{BaseURL: "https://host.test"})
	for _, text := range []string{
		"prompt is too long: 207547 tokens > 200000 maximum",
		"input length and `max_tokens` exceed context limit: 199759 + 21333 > 200000, decrease input length or `max_tokens` and try again",
		"Input is too long for requested model.",
		"The model returned the following errors: prompt is too long: 2 tokens > 1 maximum",
		"This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion).",
		"Your input exceeds the context window of this model.",
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens",
		"Please reduce the length of the messages or completion.",
		"Your request exceeded model token limit: 128000 (requested: 200000)",
		"Prompt exceeds max length",
		"invalid params, context window exceeds limit (2013)",
		"Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.",
		"The number of tokens to keep from the initial prompt is greater than the context length.",
		"the request exceeds the available context size. try increasing the context size",
		"Context size has been exceeded.",
		"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]",
		"The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
		"Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
		"The input (40000 tokens) is longer than the model's context length (32768 tokens).",
		"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: 79993 `inputs` tokens and 1024 `max_new_tokens`",
		"the input length exceeds the context length",
		"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
		"prompt token count of 200000 exceeds the limit of 128000",
		"Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 39009.",
	} {
		for _, status := range []int{400, 413, 422, 429, 500} {
			if e := c.Refusal(status, http.Header{}, []byte(text)); e.Kind != provider.KindTooLong || e.Subject != provider.SubjectSize {
				t.Errorf("status %d, %q: %s, %s", status, text, e.Kind, e.Subject)
			}
		}
	}
	for _, test := range []struct {
		status int
		text   string
		kind   provider.Kind
	}{
		{429, "Too many tokens, please wait before trying again.", provider.KindRateLimit},
		{400, "ThrottlingException: Too many tokens, please wait before trying again.", provider.KindRateLimit},
		{429, "Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 1.2s.", provider.KindRateLimit},
		{400, "max_tokens: 250000 > 128000, which is the maximum allowed number of output tokens for m", provider.KindBadRequest},
		{400, "too many tokens: size limit exceeded by 25836 tokens. Try using shorter or fewer inputs. The limit for this model is 288000 tokens.", provider.KindTooLong},
		{400, "too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model - received 8192.", provider.KindBadRequest},
		{400, "max_tokens is too large: 100000. This model supports at most 16384 completion tokens", provider.KindBadRequest},
		{401, "the input length exceeds the context length", provider.KindAuth},
	} {
		if e := c.Refusal(test.status, http.Header{}, []byte(test.text)); e.Kind != test.kind {
			t.Errorf("status %d, %q: %s", test.status, test.text, e.Kind)
		}
	}
}

// TestSilentOverflows: what means that a request is too long without saying so.
func TestSilentOverflows(t *testing.T) {
	stop := func(reason provider.StopReason, input int, blocks ...provider.Block) func(*exchange.Answer) error {
		return func(a *exchange.Answer) error {
			for i, b := range blocks {
				for _, ev := range []provider.Event{provider.Begin{Index: i, Block: provider.Text{}}, provider.Delta{Index: i, Text: "a"}, provider.End{Index: i, Block: b}} {
					if err := a.Emit(ev); err != nil {
						return err
					}
				}
			}
			return a.End(provider.Stop{Reason: reason, Usage: provider.Usage{Input: input}})
		}
	}
	refused := func(e provider.Error) func(*exchange.Answer) error {
		return func(*exchange.Answer) error { return &e }
	}
	for _, test := range []struct {
		name  string
		input int // of the request
		run   func(*exchange.Answer) error
		long  bool
	}{
		{"no text, near", 70_000, refused(provider.Error{Kind: provider.KindBadRequest, Status: 400, Bare: true}), true},
		{"no text, far", 10_000, refused(provider.Error{Kind: provider.KindBadRequest, Status: 400, Bare: true}), false},
		{"no text, 422", 99_000, refused(provider.Error{Kind: provider.KindBadRequest, Status: 422, Bare: true}), false},
		{"no reason, near", 95_000, refused(provider.Error{Kind: provider.KindBadRequest, Status: 400}), true},
		{"no reason, far", 70_000, refused(provider.Error{Kind: provider.KindBadRequest, Status: 400}), false},
		{"another reason", 95_000, refused(provider.Error{Kind: provider.KindBadRequest, Status: 400, Subject: provider.SubjectModel}), false},
		{"length, full", 0, stop(provider.StopMaxTokens, 99_500), true},
		{"length, full by the estimate", 99_500, stop(provider.StopMaxTokens, 0), true},
		{"length, not full", 0, stop(provider.StopMaxTokens, 50_000), false},
		{"length, full, with text", 0, stop(provider.StopMaxTokens, 99_500, provider.Text{Text: "a"}), false},
		{"accepted and more than the window", 0, stop(provider.StopEndTurn, 120_000), true},
		{"the same with text", 0, stop(provider.StopEndTurn, 120_000, provider.Text{Text: "a"}), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := &provider.Request{Model: provider.Model{ID: "m", Window: 100_000}, Input: test.input}
			reply := providertest.Check(t, stream(t.Context(), req, strings.NewReader("data: {}\n\n"), &scripted{event: test.run, over: true, ended: true}))
			e, _ := errors.AsType[*provider.Error](reply.Err)
			if long := e != nil && e.Kind == provider.KindTooLong; long != test.long {
				t.Errorf("error %v, stop %v", reply.Err, reply.Stop)
			}
		})
	}
}

func TestLower(t *testing.T) {
	c := exchange.NewCaller("", exchange.Config{BaseURL: "https://host.test"})
	for _, test := range []struct {
		text       string
		sent, want int // 0: no other limit helps
	}{
		{"input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000, decrease input length", 64_000, 200_000 - 150_000 - 10_000},
		{"input length and `max_tokens` exceed context limit: 199759 + 21333 > 200000, decrease input length", 21_333, 0},
		{"This model's maximum context length is 16384 tokens. However, you requested 24000 tokens (4000 in the messages, 20000 in the completion).", 20_000, 16_384 - 4_000 - 1_024},
		{"'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 32768 tokens and your request has 1000 input tokens", 32_000, 32_768 - 1_000 - 1_638},
		{"max_tokens is too large: 64000. This model supports at most 16384 completion tokens", 64_000, 16_384},
		{"too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model - received 8192.", 8_192, 4_096},
		{"Unable to submit request because it has a maxOutputTokens value of 64000 but the supported range is from 1 (inclusive) to 8193 (exclusive).", 64_000, 8_192},
		{"Please reduce the length of the messages or completion.", 64_000, 8_192},
		{"Please reduce the length of the messages or completion.", 8_000, 0},
		{"prompt is too long: 207547 tokens > 200000 maximum", 64_000, 0},
	} {
		req := &provider.Request{Model: provider.Model{ID: strings.ToLower(test.text), Window: 1_000_000}, Input: 1_000}
		again := c.Lower(c.Refusal(400, http.Header{}, []byte(test.text)), req, test.sent)
		if again == nil {
			if test.want != 0 {
				t.Errorf("%q: nothing helps", test.text)
			}
			continue
		}
		if got := c.Fit(again, test.sent); got != test.want {
			t.Errorf("%q: %d, want %d", test.text, got, test.want)
		}
	}
}

// TestWholeCharacters: models write half characters, and most vendors refuse a body that has one.
func TestWholeCharacters(t *testing.T) {
	for from, to := range map[string]string{
		`{"a":"\ud83d"}`:                `{"a":"\ufffd"}`,
		`{"a":"\ud83d\ude00"}`:          `{"a":"\ud83d\ude00"}`,
		`{"a":"\uDE00\ud83dx\\ud83d"}`:  `{"a":"\ufffd\ufffdx\\ud83d"}`,
		`{"a":"\\\ud83d\u0041\ud83d"}`:  `{"a":"\\\ufffd\u0041\ufffd"}`,
		`{"a":"\ud83d\ud83d\ude00 \\"}`: `{"a":"\ufffd\ud83d\ude00 \\"}`,
	} {
		if got, err := exchange.Encode(rawJSON(from)); err != nil || string(got) != to {
			t.Errorf("%s: %s, %v; want %s", from, got, err, to)
		}
	}
}

type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }
