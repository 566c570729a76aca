package egress

import (
	"errors"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		allowed, labels string
		ok              bool
	}{
		{"", "", true}, {"", "us", true}, {"eu", "eu", true}, {"eu local", "local", true}, {"eu local", "eu local", true},
		{"eu", "", false}, {"eu", "us", false}, {"eu", "eu us", false}, {"eu", "EU", false},
	} {
		err := Check(strings.Fields(c.allowed), "p", strings.Fields(c.labels))
		if (err == nil) != c.ok {
			t.Errorf("a session that may reach %q, and a provider with %q: %v", c.allowed, c.labels, err)
		}
		if pe, ok := errors.AsType[*provider.Error](err); err != nil && (!ok || pe.Kind != provider.KindEgress || pe.Provider != "p") {
			t.Errorf("%q, %q: %+v", c.allowed, c.labels, err)
		}
	}
}

func TestCheckLabels(t *testing.T) {
	for word, ok := range map[string]bool{"eu": true, "eu-west_1.b": true, "": false, "EU": false, "e u": false, "é": false,
		strings.Repeat("a", 40): true, strings.Repeat("a", 41): false} {
		if err := CheckLabels([]string{word}); (err == nil) != ok {
			t.Errorf("%q: %v", word, err)
		}
	}
	if CheckLabels(make([]string, MaxLabels+1)) == nil {
		t.Error("too many labels pass")
	}
}
