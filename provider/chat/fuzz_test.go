package chat_test

import (
	"os"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/chat"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/providertest"
)

// Whatever a host sends, the contract of a reply is kept, and what came can be sent back.
func FuzzReply(f *testing.F) {
	ids, err := chat.Dialects()
	if err != nil {
		f.Fatal(err)
	}
	for i, id := range ids {
		files, err := os.ReadDir("testdata/" + id)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile("testdata/" + id + "/" + file.Name())
			if err != nil {
				f.Fatal(err)
			}
			_, stream, _ := strings.Cut(string(data), "-- stream --\n")
			stream, _, _ = strings.Cut(stream, "-- want --")
			f.Add(uint8(i), true, stream)
			_, whole, _ := strings.Cut(string(data), "-- answer --\n")
			whole, _, _ = strings.Cut(whole, "-- want --")
			f.Add(uint8(i), false, whole)
		}
	}
	f.Fuzz(func(t *testing.T, dialect uint8, streamed bool, body string) {
		req := &provider.Request{Model: provider.Model{ID: "m"}, Messages: []provider.Message{providertest.User("Hi")}}
		kind := "application/json"
		if streamed {
			kind = "text/event-stream"
		}
		ask := func(body string) (*chat.API, providertest.Reply) {
			api := newAPI(t, ids[int(dialect)%len(ids)], &providertest.Host{Type: kind, Body: body})
			return api, providertest.Check(t, api.Stream(t.Context(), req))
		}
		api, reply := ask(body)
		_, full := ask(string(providertest.Unlike([]byte(body))))
		providertest.DecodedAlike(t, reply, full)
		if reply.Stop == nil {
			return
		}
		req.Messages = append(req.Messages, logged(t, provider.Message{Role: provider.Assistant, Blocks: reply.Blocks, State: reply.Stop.State}), providertest.User("And?"))
		again := providertest.Check(t, api.Stream(t.Context(), req))
		if again.Err != nil {
			t.Errorf("what came cannot be sent: %v", again.Err)
		}
	})
}

// Lists in any form are rows with names, or errors.
func FuzzListings(f *testing.F) {
	f.Add(`{"data":[{"id":"a","reasoning":{"supported_efforts":["high"],"mandatory":false},"pricing":{"prompt":"NaN","completion":"1"}}]}`)
	f.Add(`{"data":[{"id":"a","capabilities":{"type":"chat","supports":{"reasoning_effort":["none"],"max_thinking_budget":-1}}}]}`)
	f.Add(`{"models":[{"key":"a","capabilities":{"reasoning":{"allowed_options":["off",7]}}}],"data":[{"id":""}],"chat_template":"<think>"}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, dialect := range []string{"openrouter", "kimi", "copilot", "lmstudio", "llamacpp", "vllm"} {
			d, err := chat.Named(dialect)
			if err != nil {
				t.Fatal(err)
			}
			list, err := chat.New(exchange.Config{Provider: "p", BaseURL: "http://host/v1", Key: provider.NewSecret("sk"),
				Client: exchange.NewClient(&providertest.Host{Type: "application/json", Body: text})}, d).Models(t.Context())
			if err != nil && list != nil {
				t.Errorf("%s: rows and the error %v", dialect, err)
			}
			for _, m := range list {
				if m.ID == "" || m.Window < 0 || m.MaxOutput < 0 || m.Price != nil && !(m.Price.Input >= 0 && m.Price.Output >= 0) {
					t.Errorf("%s: %+v", dialect, m)
				}
			}
		}
	})
}
