package messages_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/aws"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/messages"
	"github.com/thinkd/thinkd/provider/providertest"
	"github.com/thinkd/thinkd/provider/sim"
	simaws "github.com/thinkd/thinkd/provider/sim/aws"
)

func bedrockSuite() providertest.Suite {
	s := suite()
	s.Glob, s.Type = "testdata/bedrock/*.txtar", aws.EventStreamType
	s.New = func(rt http.RoundTripper) provider.Provider { return newHost("bedrock", rt) }
	s.Frame = func(event []byte) []byte {
		var out []byte
		for line := range bytes.Lines(event) {
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				chunk, err := json.Marshal(map[string]string{"bytes": base64.StdEncoding.EncodeToString(bytes.TrimRight(data, "\n")), "p": "abc"})
				if err != nil {
					panic(err)
				}
				out = simaws.AppendEvent(out, "chunk", chunk)
			}
		}
		return out
	}
	s.Noise = []byte("data: {\"type\":\"novelty\",\"index\":0}\n\n")
	return s
}

func TestBedrockFixtures(t *testing.T) { providertest.Run(t, bedrockSuite()) }

// FuzzBedrock reads any events in frames. FuzzFrames of package aws reads any frames.
func FuzzBedrock(f *testing.F) { providertest.Fuzz(f, bedrockSuite()) }

// signed makes the adapter sign its requests with keys of the environment, as an account without a bearer token does.
func signed(t *testing.T, service string) *aws.Signer {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
	t.Setenv("AWS_SECRET_ACCESS_KEY", simaws.SecretOf("AKIATEST"))
	t.Setenv("AWS_SESSION_TOKEN", "")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	return aws.NewSigner(aws.NewCredentials(aws.Settings{Region: "eu-central-1"}), service)
}

// bedrock is the adapter in front of the simulator as one of Amazon's hosts.
func bedrock(t *testing.T, dialect string, bySignature bool) (*messages.API, *sim.Server) {
	t.Helper()
	server := sim.New(sim.Config{})
	cfg := exchange.Config{Provider: "bedrock", Vendor: "bedrock", BaseURL: "http://bedrock", Client: providertest.Simulated(t, server)}
	service := map[string]string{"bedrock": aws.ServiceBedrock, "mantle": aws.ServiceMantle}[dialect]
	if bySignature {
		cfg.Authorizer = signed(t, service)
	} else {
		cfg.Key = provider.NewSecret("bedrock-api-key-1")
	}
	return messages.New(cfg, messages.HostNamed(dialect)), server
}

// ways are the two hosts with both kinds of credentials.
func ways(t *testing.T, test func(t *testing.T, api *messages.API, server *sim.Server)) {
	for _, dialect := range []string{"bedrock", "mantle"} {
		for name, bySignature := range map[string]bool{"bearer": false, "signature": true} {
			t.Run(dialect+" with "+name, func(t *testing.T) {
				api, server := bedrock(t, dialect, bySignature)
				test(t, api, server)
			})
		}
	}
}

// A conversation over models, profiles and levels on both hosts: nothing that goes back is refused, and thinking stays.
func TestBedrockConversation(t *testing.T) {
	mode := func(mode provider.Mode, effort provider.Level, budget int) provider.Decision {
		return provider.Decision{Control: provider.Control{Mode: mode, Effort: effort, Budget: budget}}
	}
	ways(t, func(t *testing.T, api *messages.API, server *sim.Server) {
		var history []provider.Message
		for _, step := range []struct {
			model    provider.Model
			decision provider.Decision
			say      string
		}{
			{model("anthropic.claude-opus-5-5", always), mode(provider.ModeEffort, provider.High, 0), "Which date is later?"},
			{model("us.anthropic.claude-opus-5-5", always), mode(provider.ModeEffort, provider.Max, 0), "Read it. [[sim: tool=read rounds=2 redacted]]"},
			{model("global.anthropic.claude-haiku-4-5-20251001-v1:0", budget), mode(provider.ModeBudget, "", 4096), "With a budget [[sim: tool=read]]"},
			{model("eu.anthropic.claude-opus-4-6-v1", effort), mode(provider.ModeOff, "", 0), "Without"},
			{model("jp.anthropic.claude-opus-5-5", always), mode(provider.ModeEffort, provider.Low, 0), "Again [[sim: tool=read]]"},
		} {
			history = providertest.Turn(t, api, provider.Request{Model: step.model, System: "Be brief.", Tools: providertest.ReadTool, Messages: history, Decision: step.decision}, step.say)
		}
		if refused := server.Refusals(); len(refused) > 0 {
			t.Errorf("refused: %+v", refused)
		}
		if n := providertest.Signed(history); n < 5 {
			t.Errorf("only %d signed blocks", n)
		}
	})
}

// Thinking that Claude signed on one host goes back on the other: signatures are valid on both (docs: preserved-thinking).
func TestBedrockTakesThinkingOfAnthropic(t *testing.T) {
	direct, _ := simulated(t)
	opus := provider.Request{Model: model("claude-opus-4-6", effort), Tools: providertest.ReadTool,
		Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeEffort, Effort: provider.High}}}
	opus.Messages = providertest.Turn(t, direct, opus, "Read it. [[sim: tool=read]]")
	ways(t, func(t *testing.T, api *messages.API, server *sim.Server) {
		here := opus
		here.Model = model("us.anthropic.claude-opus-4-6-v1", effort)
		count, err := api.Convert(&here)
		if err != nil || count.Kept == 0 || count.Dropped != 0 {
			t.Errorf("%+v, error %v: want all thinking kept", count, err)
		}
		here.Messages = providertest.Turn(t, api, here, "And now?")
		back, err := direct.Convert(&provider.Request{Model: opus.Model, Messages: here.Messages})
		if err != nil || back.Kept <= count.Kept || back.Dropped != 0 {
			t.Errorf("on the way back %+v, error %v", back, err)
		}
		if refused := server.Refusals(); len(refused) > 0 {
			t.Errorf("refused: %+v", refused)
		}
	})
}

func TestBedrockFaults(t *testing.T) {
	ways(t, func(t *testing.T, api *messages.API, _ *sim.Server) {
		req := provider.Request{Model: model("anthropic.claude-opus-5-5", always),
			Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeEffort, Effort: provider.Low}}}
		providertest.Faults(t, api, req, map[string]provider.Kind{
			"fault=rate_limit": provider.KindRateLimit, "fault=rate_limit after=3": provider.KindRateLimit, "fault=overloaded": provider.KindOverloaded,
			"fault=overloaded after=3": provider.KindOverloaded, "fault=server_error after=3": provider.KindTransport, "fault=auth": provider.KindAuth,
			"fault=permission": provider.KindAuth, "fault=billing": provider.KindQuota, "fault=too_large": provider.KindTooLong, "fault=cut after=3": provider.KindTransport,
			"fault=end after=3": provider.KindTransport, "fault=html": provider.KindBadRequest, "fault=empty": provider.KindBadRequest, "fault=redirect": provider.KindBadRequest,
			"fault=gzip": provider.KindBadRequest, "fault=timeout": provider.KindTransport, "fault=cut bytes=37": provider.KindTransport,
		})
		providertest.Stops(t, api, req, map[string]provider.StopReason{
			"stop=max_tokens": provider.StopMaxTokens, "stop=refusal": provider.StopRefusal, "fault=noise": provider.StopEndTurn, "fault=mislabelled": provider.StopEndTurn,
			"fault=whole": provider.StopEndTurn, "fault=no_last_event": provider.StopEndTurn,
		})
	})
}

// What only these hosts refuse, and that the adapter is understood to have been refused.
func TestBedrockRefusals(t *testing.T) {
	api, server := bedrock(t, "bedrock", false)
	ask := func(change func(*provider.Request)) *provider.Error {
		req := &provider.Request{Model: model("anthropic.claude-opus-5-5", always), Messages: []provider.Message{providertest.User("Hi")},
			Decision: provider.Decision{Control: provider.Control{Mode: provider.ModeEffort, Effort: provider.Low}}}
		change(req)
		reply := providertest.Check(t, api.Stream(t.Context(), req))
		e, _ := reply.Err.(*provider.Error)
		return e
	}
	if e := ask(func(r *provider.Request) { r.Model.ID = "anthropic.claude-unheard-of" }); e == nil || e.Subject != provider.SubjectModel || e.Code != "ResourceNotFoundException" || !strings.HasPrefix(e.RequestID, "req_sim_") {
		t.Errorf("unknown model: %+v", e)
	}
	if e := ask(func(r *provider.Request) {
		r.Model.ExtraBody = json.RawMessage(`{"anthropic_beta":["files-api-2025-04-14"]}`)
	}); e == nil || !strings.Contains(e.Message, "invalid beta flag") {
		t.Errorf("unknown beta: %+v", e)
	}
	for _, extra := range []string{`{"model":"x"}`, `{"stream":true}`, `{"anthropic_version":"2023-06-01"}`, `{"anthropic_version":null}`} {
		if e := ask(func(r *provider.Request) { r.Model.ExtraBody = json.RawMessage(extra) }); e == nil || e.Kind != provider.KindBadRequest || e.Code != "ValidationException" {
			t.Errorf("%s: %+v", extra, e)
		}
	}
	if n := len(server.Refusals()); n != 6 {
		t.Errorf("%d refusals in the journal", n)
	}
}

// TestBedrockModels asks both hosts for their models, with both kinds of credentials: InvokeModel's lists those of the region, mantle those of
// this API.
func TestBedrockModels(t *testing.T) {
	ways(t, func(t *testing.T, api *messages.API, server *sim.Server) {
		list, err := api.Models(t.Context())
		if err != nil || len(server.Refusals()) > 0 {
			t.Fatalf("%v, refusals %+v", err, server.Refusals())
		}
		ids := map[string]bool{}
		for _, m := range list {
			ids[m.ID] = true
			if m.Provider != "bedrock" || m.Source != provider.FromRefreshed {
				t.Errorf("%+v", m)
			}
		}
		for id, of := range map[string]bool{"anthropic.claude-opus-5-5": true, "us.amazon.nova-2-lite-v1:0": false, "us.anthropic.claude-3-7-sonnet-20250219-v1:0": false} {
			if ids[id] != (of == api.ListsOwn()) {
				t.Errorf("%s is listed: %t", id, ids[id])
			}
		}
	})
}
