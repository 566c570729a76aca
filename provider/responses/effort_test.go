package responses_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/providertest"
)

// If a model refuses an effort and names those that it has, it is called once more with the nearest of them, and a notice says so.
func TestEffortsLearned(t *testing.T) {
	for _, tc := range []struct {
		model  string
		effort provider.Level
		mode   provider.Mode
		repair provider.Repair
		sent   string
	}{
		{"gpt-5.5", provider.Max, provider.ModeEffort, "responses/efforts:gpt-5.5=none,low,medium,high,xhigh", "xhigh"},
		{"gpt-5.4-pro", provider.Low, provider.ModeEffort, "responses/efforts:gpt-5.4-pro=medium,high,xhigh", "medium"},
		{"gpt-6-astra", "", provider.ModeOff, "responses/efforts:gpt-6-astra=low,medium,high,xhigh,max", "low"},
		{"gpt-5.1", provider.Minimal, provider.ModeEffort, "responses/efforts:gpt-5.1=none,low,medium,high", "low"},
	} {
		server, at := simulated(t)
		api := at("openai", "k")
		req := &provider.Request{Model: model(tc.model, provider.ControlEffort, false), Messages: []provider.Message{providertest.User("Which date is later?")},
			Decision: control(tc.mode, tc.effort, provider.Summarized)}
		reply, err := providertest.Collect(api.Stream(t.Context(), req))
		if err != nil {
			t.Fatal(err)
		}
		refused, ok := errors.AsType[*provider.Error](reply.Err)
		if !ok || refused.Repair != tc.repair {
			t.Fatalf("%s at %q: %v, and of it the repair %q; want %q", tc.model, tc.effort, reply.Err, refused.Repair, tc.repair)
		}
		req.Repairs = []provider.Repair{refused.Repair}
		if reply, err = providertest.Collect(api.Stream(t.Context(), req)); err != nil || reply.Err != nil {
			t.Fatal(err, reply.Err)
		}
		requests := server.Requests()
		if diff := cmp.Diff(tc.sent, gjson.GetBytes(requests[len(requests)-1].Body, "reasoning.effort").Str); diff != "" {
			t.Errorf("%s at %q: effort (-want +sent):\n%s", tc.model, tc.effort, diff)
		}
		if len(reply.Notices) != 1 || reply.Notices[0].Kind != provider.NoticeOverride {
			t.Errorf("%s at %q: told %v", tc.model, tc.effort, reply.Notices)
		}
	}
}
