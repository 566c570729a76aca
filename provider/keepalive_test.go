package provider

import "testing"

func TestKeepAlive(t *testing.T) {
	for word, seconds := range map[string]int{"": 0, "0s": 0, "30m": 1800, "1h30m": 5400, "forever": -1, "720h": 30 * 86_400} {
		if k, err := ParseKeepAlive(word); err != nil || k.Seconds() != seconds {
			t.Errorf("%q: %q is %d s, want %d (%v)", word, k, k.Seconds(), seconds, err)
		}
	}
	for _, word := range []string{"-1", "-1m", "30", "always", "721h", "1.5s", "100000000h", " 5m"} {
		if k, err := ParseKeepAlive(word); err == nil {
			t.Errorf("%q is taken as %q", word, k)
		}
	}
}
