package costs

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	var r Report
	err := json.Unmarshal([]byte(`{"by":"session","rows":[
		{"session_id":"S1","title":"Pears, and plums","calls":2,"cache_misses":[{"cause":"expired","calls":2,"tokens":900,"cost":{"amount":0.5,"currency":"USD"}},{"cause":"model","calls":1,"tokens":40}],"usage":{"input_tokens":1200,"output_tokens":90,"reasoning_tokens":40,"cached_tokens":1000,"cache_write_tokens":12,"cost":{"amount":0.412,"currency":"USD"}}},
		{"session_id":"S2","deleted":true,"calls":1,"usage":{"input_tokens":7,"output_tokens":1,"reasoning_tokens":null,"estimated":true}},
		{"calls":0,"usage":{"input_tokens":1,"output_tokens":1}}],
		"total":{"calls":3,"cache_misses":[{"cause":"expired","calls":2,"tokens":900,"cost":{"amount":0.5,"currency":"USD"}},{"cause":"model","calls":1,"tokens":40}],"usage":{"input_tokens":1208,"output_tokens":92,"cached_tokens":1000,"cost":{"amount":0.412,"currency":"USD","partial":true}}},
		"budgets":[{"limit":"max_day_cost","used":0.412,"most":10,"next":0}]}`), &r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		write func(*strings.Builder) error
		want  string
	}{
		{func(to *strings.Builder) error { return r.Table(to) }, `SESSION  CALLS  INPUT  CACHED  OUTPUT  COST
S1       2      1200   1000    90      0.4120 USD           Pears, and plums
S2       1      7      0       1       -                    (deleted)
unknown  0      1      0       1       -
total    3      1208   1000    92      at least 0.4120 USD
Spent today: 0.41 of 10.00 USD (max_day_cost)
`},
		{func(to *strings.Builder) error { return r.Misses(to) }, `CAUSE                       CALLS  TOKENS  COST
the vendor's time was over  2      900     0.5000 USD
another model               1      40      -
total                       3      940     at least 0.5000 USD
`},
		{func(to *strings.Builder) error { return r.MissesCSV(to) }, `session,cause,calls,tokens,cost_usd,partial
S1,expired,2,900,0.5,false
S1,model,1,40,,false
`},
		{func(to *strings.Builder) error { return Report{}.Misses(to) }, "No call read less from a vendor's cache than expected.\n"},
		{func(to *strings.Builder) error { return r.CSV(to) }, `session,calls,input_tokens,cached_tokens,cache_write_tokens,output_tokens,reasoning_tokens,cost_usd,partial,estimated
S1,2,1200,1000,12,90,40,0.412,false,false
S2,1,7,0,0,1,,,false,true
,0,1,0,0,1,,,false,false
`},
	} {
		var got strings.Builder
		if err := c.write(&got); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(got.String(), "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		if text := strings.Join(lines, "\n"); text != c.want {
			t.Errorf("got:\n%swant:\n%s", text, c.want)
		}
	}
}

// A report in words bounds its rows.
func TestReportText(t *testing.T) {
	var r Report
	err := json.Unmarshal([]byte(`{"by":"level","rows":[
		{"thinking_level":"high","calls":2,"usage":{"input_tokens":1,"output_tokens":1,"cost":{"amount":0.412}}},
		{"thinking_level":"low","calls":1,"usage":{"input_tokens":1,"output_tokens":1,"cost":{"amount":0.004,"partial":true}}},
		{"calls":1,"usage":{"input_tokens":1,"output_tokens":1}}],
		"total":{"calls":4,"usage":{"input_tokens":3,"output_tokens":3,"cost":{"amount":0.416,"partial":true}}}}`), &r)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(append([]string{r.Sum()}, r.Shares()...), "\n")
	want := "at least 0.42 USD in 4 calls\n  thinking high: 0.41 USD, 2 calls\n  thinking low: at least 0.0040 USD, 1 call\n  unknown level: an unknown price, 1 call"
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	r.Rows = append(append(r.Rows, r.Rows...), r.Rows...)
	if list := r.Shares(); len(list) != mostShares+1 || list[mostShares] != "  and 1 more" {
		t.Errorf("%q", list)
	}
	if sum := (Report{}).Sum(); sum != "nothing" {
		t.Errorf("of no calls: %q", sum)
	}
}
