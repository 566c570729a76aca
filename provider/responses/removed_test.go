package responses_test

import (
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/registry"
)

// Reasoning that another model made is left out by the vendor without an error; people hear of it as they do of
// Anthropic's.
func TestReasoningRemoved(t *testing.T) {
	server, open := simulated(t)
	api, catalog := open("openai", "k"), registry.Default()
	ask := func(model string, history ...provider.Message) providertest.Reply {
		t.Helper()
		row := catalog.Model("openai", model)
		decision, err := registry.Resolve(registry.Ask{Level: provider.High, Source: provider.SourceTurn}, row)
		if err != nil {
			t.Fatal(err)
		}
		reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: row, Messages: history, Decision: decision}))
		if reply.Err != nil {
			t.Fatal(reply.Err)
		}
		return reply
	}
	say := func(text string) provider.Message {
		return provider.Message{Role: provider.User, Blocks: provider.Blocks{provider.Text{Text: text}}}
	}
	dropped := func(r providertest.Reply) (texts []string) {
		for _, n := range r.Notices {
			if n.Kind == provider.NoticeDropped {
				texts = append(texts, n.Text+" "+string(n.Data))
			}
		}
		return texts
	}
	first := ask("gpt-6-sol", say("Which date is later?"))
	history := []provider.Message{say("Which date is later?"), {Role: provider.Assistant, Blocks: first.Blocks}, say("Why?")}
	if got := dropped(ask("gpt-6-sol", history...)); len(got) > 0 {
		t.Errorf("by the same model: %q", got)
	}
	got := dropped(ask("gpt-6.1-sol", history...))
	if len(got) != 1 || !strings.Contains(got[0], "left out: 1 (model_mismatch)") || !strings.Contains(got[0], `"action":"removed"`) {
		t.Errorf("by another model: %q", got)
	}
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("refused: %+v", refused)
	}
}

// Tokens that were written to the cache for longer than usual are counted apart, as their price is.
func TestCacheWriteDetails(t *testing.T) {
	for _, test := range []struct {
		details     string
		write, long int
	}{
		{`{"cached_tokens":10,"cache_write_tokens":300}`, 300, 0},
		{`{"cached_tokens":10,"cache_write_tokens":300,"cache_write_tokens_details":{"ttl_30m_tokens":100,"ttl_12h_tokens":200}}`, 300, 200},
		{`{"cached_tokens":10,"cache_write_tokens_details":{"ttl_30m_tokens":100,"ttl_12h_tokens":200}}`, 300, 200},
		{`{"cached_tokens":10,"cache_write_tokens_details":{"ttl_30m_tokens":-5,"ttl_12h_tokens":"many"}}`, 0, 0},
	} {
		api := newAPI("openai", &providertest.Host{Type: "application/json", Body: `{"object":"response","status":"completed","model":"gpt-6-sol","service_tier":"flex","output":[],"usage":{"input_tokens":1000,"output_tokens":1,"input_tokens_details":` + test.details + `}}`})
		reply := providertest.Check(t, api.Stream(t.Context(), &provider.Request{Model: provider.Model{ID: "gpt-6-sol"}}))
		if u := reply.Stop.Usage; u.CacheWrite != test.write || u.CacheWriteLong != test.long || u.Tier != "flex" {
			t.Errorf("%s: %+v, %v", test.details, u, reply.Err)
		}
	}
}
