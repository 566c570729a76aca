package permit

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/tool/approval"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/tool"
)

func TestOptions(t *testing.T) {
	q := feed.Confirm{Actions: []session.Action{session.AllowOnce, session.AllowSession, session.Deny}, Grants: []tool.Grant{
		{ID: "prefix", Text: "Commands that begin with `git diff`"}, {ID: approval.ToolGrant, Text: "All calls of run"}},
		Denials: []tool.Grant{{ID: approval.ToolDenial, Text: "All calls of run", Deny: true}}}
	want := []Option{{"allow", "Allow once", "allow_once"}, {"grant:prefix", "Until this session ends: Commands that begin with `git diff`", "allow_always"},
		{"allow_session", "Until this session ends: All calls of run", "allow_always"}, {"deny", "Deny", "reject_once"},
		{"denial:deny_session", "Deny until this session ends: All calls of run", "reject_always"}}
	if diff := cmp.Diff(want, Options(q)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Option{want[0], want[1], want[3], want[4]}, OnePerKind(Options(q))); diff != "" {
		t.Error(diff)
	}
	q.Actions, q.Grants, q.Limit = []session.Action{session.Deny}, nil, 10
	if diff := cmp.Diff(want[3:], Options(q)); diff != "" {
		t.Error(diff)
	}
	for answer, want := range map[string]agent.Ruling{
		`{"outcome":{"outcome":"selected","optionId":"allow"}}`:         {Action: session.AllowOnce},
		`{"outcome":{"outcome":"selected","optionId":"allow_session"}}`: {Action: session.AllowSession},
		`{"outcome":{"outcome":"selected","optionId":"grant:prefix"}}`:  {Action: session.AllowOnce, Grant: "prefix"},
		`{"outcome":{"outcome":"selected","optionId":"deny"}}`:          {Action: session.Deny},
		`{"outcome":{"outcome":"selected","optionId":"grant:"}}`:        {Action: "grant:"},
		`{"outcome":{"outcome":"selected","optionId":"denial:prefix"}}`: {Action: session.Deny, Grant: "prefix"},
		`{"outcome":{"outcome":"selected","optionId":"denial:"}}`:       {Action: "denial:"},
		`{"outcome":{"outcome":"cancelled"}}`:                           {Action: session.Deny},
		`{"outcome":{"outcome":"cancelled","optionId":"allow"}}`:        {Action: session.Deny},
		`{}`: {Action: session.Deny},
	} {
		want.Client = "ed"
		if got := Ruling([]byte(answer), "ed"); got != want {
			t.Errorf("%s is %+v", answer, got)
		}
	}
}
