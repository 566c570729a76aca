package sandbox

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/agent/tool/guard"
	"github.com/thinkd/thinkd/provider/testgo"
)

// The better sandbox is chosen of those that there are, and no command runs where the one that is demanded is missing.
func TestHostileChoose(t *testing.T) {
	testgo.Cost(t)
	defer func(b func() (string, error), l func() (int, error)) { bwrap, landlock = b, l }(bwrap, landlock)
	for _, test := range []struct {
		kind                        Kind
		bwrap, landlock, unconfined bool
		want                        Kind
		why                         string
	}{
		{kind: "", bwrap: true, landlock: true, want: Off},
		{kind: Off, bwrap: true, landlock: true, want: Off},
		{kind: Auto, bwrap: true, landlock: true, want: Bwrap},
		{kind: Auto, bwrap: true, want: Bwrap},
		{kind: Auto, landlock: true, want: Landlock},
		{kind: Auto, landlock: true, unconfined: true, why: "no bwrap; Landlock needs the path of this program, which is unknown"},
		{kind: Auto, why: "no bwrap; no landlock"},
		{kind: Bwrap, bwrap: true, landlock: true, want: Bwrap},
		{kind: Bwrap, landlock: true, why: "no bwrap"},
		{kind: Landlock, bwrap: true, landlock: true, want: Landlock},
		{kind: Landlock, bwrap: true, why: "no landlock"},
		{kind: Landlock, bwrap: true, landlock: true, unconfined: true, why: "Landlock needs the path of this program, which is unknown"},
	} {
		bwrap = func() (string, error) {
			if !test.bwrap {
				return "", errors.New("no bwrap")
			}
			return "/bin/bwrap", nil
		}
		landlock = func() (int, error) {
			if !test.landlock {
				return 0, errors.New("no landlock")
			}
			return 6, nil
		}
		s := Sandbox{Kind: test.kind, Confine: []string{"/bin/thinkd", "confine"}}
		if test.unconfined {
			s.Confine = nil
		}
		kind, err := s.Choose()
		if kind != test.want || (err == nil) != (test.why == "") || err != nil && err.Error() != test.why {
			t.Errorf("%+v: %q, %v", test, kind, err)
		}
		dir := t.TempDir()
		program, release, err := s.Wrap(t.Context(), guard.New(guard.Config{}), []string{dir}, dir, []string{"sh", "-c", "true"})
		switch {
		case test.why != "":
			if program != nil || err == nil || err.Error() != "the config demands a sandbox for commands, and there is none, so the command was not run: "+test.why {
				t.Errorf("%+v: %q, %v", test, program, err)
			}
			continue
		case err != nil:
			t.Fatal(err)
		}
		if first := map[Kind]string{Off: "sh", Bwrap: "/bin/bwrap", Landlock: "/bin/thinkd"}[test.want]; program[0] != first || !slices.Equal(program[len(program)-3:], []string{"sh", "-c", "true"}) {
			t.Errorf("%+v: %q", test, program)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	}
}

func TestKind(t *testing.T) {
	for _, word := range []string{"off", "auto", "bwrap", "landlock"} {
		var k Kind
		if err := k.UnmarshalText([]byte(word)); err != nil || string(k) != word {
			t.Errorf("%s: %q, %v", word, k, err)
		}
	}
	var k Kind
	if err := k.UnmarshalText([]byte("Landlock")); err == nil || k != "" {
		t.Errorf("%q, %v", k, err)
	}
}

// The rules come through a command line as they are, whatever is in paths, and what is wrong with one is refused.
func TestRulesOnACommandLine(t *testing.T) {
	want := rules{Roots: []string{"/a b", "/--"}, Temp: "/tmp/x\n", Hidden: []string{"/a b/.env", "/--hide"}, Network: true}
	got, program, err := parse(append(want.args(), "sh", "-c", "--root"))
	if err != nil || !slices.Equal(got.Roots, want.Roots) || got.Temp != want.Temp || !slices.Equal(got.Hidden, want.Hidden) || !got.Network || !slices.Equal(program, []string{"sh", "-c", "--root"}) {
		t.Errorf("%+v, %q, %v", got, program, err)
	}
	for _, args := range []string{"", "--", "--temp", "--temp /t", "--temp /t --", "-- sh", "--temp t -- sh", "--temp /t --root r -- sh", "--temp /t --hide .env -- sh", "--temp /t --else /x -- sh", "--temp /t sh", "--network", "--temp /t --network"} {
		if r, program, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%q is taken: %+v, %q", args, r, program)
		}
	}
}
