package models

import (
	"encoding/json"
	"strings"
	"testing"
)

// The table of models shows what a prompt counts as on a plan of premium requests.
func TestModelsPremium(t *testing.T) {
	var out strings.Builder
	if err := Table(&out, json.RawMessage(`{"models":[{"id":"half","provider":"copilot","premium_multiplier":0.33},{"id":"free","provider":"copilot","premium_multiplier":0},
		{"id":"both","provider":"copilot","premium_multiplier":10,"price":{"input":2,"output":6}},{"id":"none","provider":"copilot"},{"id":"paid","provider":"xai","price":{"input":2,"output":6}}]}`)); err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]string{"copilot/half": " 0.33x premium ", "copilot/free": " 0x premium ", "copilot/both": " 2/6, 10x premium ", "copilot/none": " ? ", "xai/paid": " 2/6 "} {
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, model+" ") && !strings.Contains(line, want) {
				t.Errorf("%q is not in %q", want, line)
			}
		}
		if !strings.Contains(out.String(), model+" ") {
			t.Errorf("%s is not listed:\n%s", model, out.String())
		}
	}
}
