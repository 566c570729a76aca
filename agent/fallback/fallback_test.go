package fallback

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// TestRules has a rule for each kind of error, and the same table in the docs.
func TestRules(t *testing.T) {
	page, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| error | the call | because |\n|---|---|---|\n")
	var kinds []string
	for _, r := range rules {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", r.kind, r.rule, r.why)
		kinds = append(kinds, string(r.kind))
	}
	if !reflect.DeepEqual(kinds, provider.Kind("").Words()) {
		t.Errorf("rules for %v, and there are %v", kinds, provider.Kind("").Words())
	}
	if !strings.Contains(string(page), table.String()) {
		t.Errorf("docs/reliability.md lacks this table:\n%s", table.String())
	}
	if RuleOf(provider.KindBadRequest) != Never || RuleOf("new") != Never {
		t.Error("a wrong request falls back, or an unknown error")
	}
}

func TestLeaves(t *testing.T) {
	for _, c := range []struct {
		kind  provider.Kind
		tries int
		wait  time.Duration
		want  bool
	}{
		{provider.KindOverloaded, 1, 2 * time.Second, false}, {provider.KindOverloaded, 2, 10 * time.Second, false},
		{provider.KindOverloaded, 3, time.Second, true}, {provider.KindRateLimit, 1, 11 * time.Second, true},
		{provider.KindQuota, 1, time.Second, true}, {provider.KindBadRequest, 5, time.Hour, false},
	} {
		if got := Leaves(c.kind, c.tries, c.wait); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func link(text string) session.Link {
	parts := strings.Split(text+"::", ":")
	id, name, _ := strings.Cut(parts[0], "/")
	return session.Link{Model: session.ModelRef{Provider: id, ID: name}, Level: provider.Level(parts[1]), Key: parts[2]}
}

func links(text string) (list []session.Link) {
	for _, word := range strings.Fields(text) {
		list = append(list, link(word))
	}
	return list
}

func TestChain(t *testing.T) {
	for _, c := range []struct{ first, fallbacks, want string }{
		{"a/1", "", "a/1"},
		{"a/1", "b/2:high c/3", "a/1 b/2:high c/3"},
		{"a/1", "a/1 b/2 b/2:low", "a/1 b/2"},
		{"a/1:high", "a/1:low:key2 b/2 b/2:max:key3", "a/1:high a/1:high:key2 b/2 b/2::key3"},
	} {
		if got := Chain(link(c.first), links(c.fallbacks)); !reflect.DeepEqual(got, links(c.want)) {
			t.Errorf("%s, %s: %v, want %v", c.first, c.fallbacks, got, links(c.want))
		}
	}
}

func TestNext(t *testing.T) {
	chain := links("a/1 b/2 c/3")
	of := func(words string) func(session.Link) bool {
		return func(l session.Link) bool { return strings.Contains(words, l.Model.String()) }
	}
	for _, c := range []struct{ tried, may, want string }{
		{"a/1", "a/1 b/2 c/3", "b/2"}, {"a/1", "a/1 c/3", "c/3"}, {"b/2", "a/1 b/2 c/3", "a/1"}, {"a/1 b/2 c/3", "a/1 b/2 c/3", ""}, {"", "", ""},
	} {
		got, ok := Next(chain, of(c.tried), of(c.may))
		if ok != (c.want != "") || ok && got != link(c.want) {
			t.Errorf("%+v: %v, %v", c, got, ok)
		}
	}
}

// TestStays has sessions stay with the fallback that answered, until the first choice may answer again and costs less.
func TestStays(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	first := link("a/1")
	chain := links("a/1 b/2:high c/3")
	in := Failed(first, nil, 0, now)
	if want := (session.Instead{Of: first, Failures: 1, Until: now.Add(time.Minute).UnixMilli()}); *in != want {
		t.Errorf("%+v, want %+v", *in, want)
	}
	if again := Failed(first, in, 0, now); again.Failures != 2 || again.Until != now.Add(2*time.Minute).UnixMilli() {
		t.Errorf("the second failure: %+v", again)
	}
	if vendors := Failed(first, in, time.Hour, now); vendors.Until != now.Add(time.Hour).UnixMilli() {
		t.Errorf("a vendor's time: %+v", vendors)
	}
	if other := Failed(link("d/4"), in, 0, now); other.Failures != 1 {
		t.Errorf("another first choice: %+v", other)
	}
	last := &session.TurnStart{Model: link("b/2").Model, Instead: in}
	if l, ok := Stays(last, chain); !ok || l != link("b/2:high") {
		t.Errorf("it stays with %v, %v", l, ok)
	}
	for name, c := range map[string]struct {
		last  *session.TurnStart
		chain string
	}{
		"nothing before": {nil, "a/1 b/2"}, "the first choice": {&session.TurnStart{Model: first.Model}, "a/1 b/2"},
		"another first choice": {last, "d/4 b/2"}, "a link that is gone": {last, "a/1 c/3"},
	} {
		if l, ok := Stays(c.last, links(c.chain)); ok {
			t.Errorf("%s: it stays with %v", name, l)
		}
	}
	for name, c := range map[string]struct {
		after                time.Duration
		cheaper, known, want bool
	}{
		"during the pause": {59 * time.Second, true, true, false}, "after it": {time.Minute, true, true, true},
		"a dearer one": {time.Hour, false, true, false}, "no price": {time.Minute, false, false, true},
	} {
		if got := Returns(*in, now.Add(c.after), func() (bool, bool) { return c.cheaper, c.known }); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestSoonest reports the link that can be called again first, and the time until then.
func TestSoonest(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	fails := func(name string, kind provider.Kind, wait, ago time.Duration) Failure {
		return Failure{link(name), &provider.Error{Provider: name[:1], Kind: kind, RetryAfter: wait, Message: "no"}, now.Add(-ago)}
	}
	for name, c := range map[string]struct {
		failures []Failure
		provider string
		wait     time.Duration
	}{
		"the first":                {[]Failure{fails("a/1", provider.KindQuota, time.Hour, 30*time.Second), fails("b/2", provider.KindQuota, 2*time.Hour, 0)}, "a", time.Hour - 30*time.Second},
		"the last":                 {[]Failure{fails("a/1", provider.KindQuota, 2*time.Hour, 0), fails("b/2", provider.KindRateLimit, time.Hour, 0)}, "b", time.Hour},
		"one that passes":          {[]Failure{fails("a/1", provider.KindRateLimit, time.Hour, 0), fails("b/2", provider.KindAuth, 0, 0), fails("c/3", provider.KindQuota, 0, 0)}, "a", time.Hour},
		"an outage without a time": {[]Failure{fails("a/1", provider.KindQuota, time.Hour, 0), fails("b/2", provider.KindTransport, 0, 0), fails("c/3", provider.KindAuth, 0, 0)}, "b", 0},
		"a shorter time":           {[]Failure{fails("a/1", provider.KindOverloaded, 0, 0), fails("b/2", provider.KindRateLimit, 20*time.Second, 0)}, "b", 20 * time.Second},
		"a time that is over":      {[]Failure{fails("a/1", provider.KindRateLimit, time.Second, time.Minute), fails("b/2", provider.KindAuth, 0, 0)}, "a", time.Millisecond},
		"none":                     {[]Failure{fails("a/1", provider.KindQuota, 0, 0), fails("b/2", provider.KindAuth, 0, 0)}, "b", 0},
	} {
		got := Soonest(c.failures, now)
		if got.Provider != c.provider || got.RetryAfter != c.wait {
			t.Errorf("%s: %+v", name, got)
		}
		for _, f := range c.failures {
			if names := strings.Contains(got.Message, f.Link.Model.String()+" failed too"); names != (f.Err.Provider != c.provider) {
				t.Errorf("%s: %q", name, got.Message)
			}
			if f.Err.Message != "no" {
				t.Errorf("%s: an error was changed", name)
			}
		}
	}
}
