package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestReadPlan(t *testing.T) {
	for input, want := range map[string]string{
		`{"items":[{"content":" Read\nthe code ","status":"completed"},{"content":"Fix it","status":"pending","priority":"high"}]}`: "[{Read the code completed medium} {Fix it pending high}]",
		`{"items":[]}`: "[]",
		`{"items":[{"content":" ","status":"pending"}]}`:                  "item 1 has no content",
		`{"items":[{"content":"a","status":"done"}]}`:                     "the status of item 1 must be pending, in_progress, completed",
		`{"items":[{"content":"a","status":"pending","priority":"top"}]}`: "the priority of item 1 must be high, medium, low",
		`{"items":3}`: "the arguments do not fit",
		`{"items":[{"content":"` + strings.Repeat("a", MaxPlanText+1) + `","status":"pending"}]}`: "longer than 500 characters",
		`{"items":[` + strings.Repeat(`{},`, MaxPlanItems) + `{}]}`:                               "at most 100 items",
	} {
		items, err := ReadPlan(json.RawMessage(input))
		got := fmt.Sprint(items)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%.80s: %s, want %s", input, got, want)
		}
	}
}
