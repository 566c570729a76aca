package costs

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/thinkd/thinkd/cmd/thinkd/printable"
	"github.com/thinkd/thinkd/provider"
)

// A Report has the members of the result of usage/report in protocol.md.
type Report struct {
	From    string     `json:"from"`
	To      string     `json:"to"`
	By      string     `json:"by"`
	Rows    []Row      `json:"rows"`
	More    bool       `json:"more"` // there are more rows; the total has them
	Total   Row        `json:"total"`
	Budgets []Spending `json:"budgets"`
}

// Row is a row of a report. It has at most one of the members that a report can be by; none: that is not known.
type Row struct {
	Day      string `json:"day"`
	Model    string `json:"model_id"`
	Level    string `json:"thinking_level"`
	Session  string `json:"session_id"`
	Provider string `json:"provider"`
	Payer    string `json:"payer"`
	User     string `json:"user"`
	Tenant   string `json:"tenant"`
	Purpose  string `json:"purpose"`

	Title   string `json:"title"`   // of the session
	Deleted bool   `json:"deleted"` // the session was deleted

	Calls  int            `json:"calls"`
	Usage  provider.Usage `json:"usage"`
	Missed []Misses       `json:"cache_misses"`
}

// Misses are calls that read less from a vendor's cache than was expected.
type Misses struct {
	Cause  string         `json:"cause"`
	Calls  int            `json:"calls"`
	Tokens int            `json:"tokens"`
	Cost   *provider.Cost `json:"cost"` // what that cost; nil: not known
}

// of is what the row is about, empty if that is not known.
func (r Row) of() string {
	return cmp.Or(r.Day, r.Model, r.Level, r.Session, r.Provider, r.Payer, r.Purpose, r.user())
}

// user is tenant/user, or the user alone without a tenant.
func (r Row) user() string {
	if r.Tenant == "" {
		return r.User
	}
	return r.Tenant + "/" + r.User
}

// unnamed is what a row is about that has no name.
func (r Report) unnamed() string {
	if r.By == "user" {
		return "(operator)"
	}
	return "unknown"
}

// Table writes the report for people, with its sum and the limits as they are now.
func (r Report) Table(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\tCALLS\tINPUT\tCACHED\tOUTPUT\tCOST\t\n", strings.ToUpper(r.By))
	for _, row := range r.Rows {
		title := row.Title
		if row.Deleted {
			title = "(deleted)"
		}
		row.line(w, cmp.Or(row.of(), r.unnamed()), title)
	}
	r.Total.line(w, "total", "")
	if err := w.Flush(); err != nil {
		return err
	}
	for _, b := range r.Budgets {
		if _, err := fmt.Fprintln(to, b.Text()); err != nil {
			return err
		}
	}
	return nil
}

func (r Row) line(w io.Writer, of, title string) {
	u := r.Usage
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%v\t%s\n", printable.Clean(of), r.Calls, u.Input, u.Cached, u.Output, u.Cost, printable.Clean(title))
}

// CSV writes the rows for programs, without their sum. What is not known is empty.
func (r Report) CSV(to io.Writer) error {
	w := csv.NewWriter(to)
	err := w.Write([]string{r.By, "calls", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "cost_usd",
		"partial", "estimated"})
	for _, row := range r.Rows {
		u, reasoning, cost, partial := row.Usage, "", "", false
		if u.Reasoning != nil {
			reasoning = strconv.Itoa(*u.Reasoning)
		}
		if u.Cost != nil {
			cost, partial = strconv.FormatFloat(u.Cost.Amount.Units(), 'f', -1, 64), u.Cost.Partial
		}
		err = cmp.Or(err, w.Write([]string{row.of(), strconv.Itoa(row.Calls), strconv.Itoa(u.Input), strconv.Itoa(u.Cached), strconv.Itoa(u.CacheWrite),
			strconv.Itoa(u.Output), reasoning, cost, strconv.FormatBool(partial), strconv.FormatBool(u.Estimated)}))
	}
	w.Flush()
	return cmp.Or(err, w.Error())
}

// Sum is the total in a few words: "0.41 USD in 3 calls".
func (r Report) Sum() string {
	if r.Total.Calls == 0 && r.Total.Usage.Unused() {
		return "nothing"
	}
	return fmt.Sprintf("%s in %s", price(r.Total.Usage.Cost), calls(r.Total.Calls))
}

// mostShares is how many rows of a report are in a text.
const mostShares = 8

// Shares are the rows in words: "  sim/claude: 0.31 USD, 2 calls".
func (r Report) Shares() (list []string) {
	for i, row := range r.Rows {
		if i == mostShares {
			return append(list, fmt.Sprintf("  and %d more", len(r.Rows)-i))
		}
		of := printable.Clean(cmp.Or(row.of(), "unknown "+r.By))
		if r.By == "level" && row.Level != "" {
			of = "thinking " + of
		}
		list = append(list, fmt.Sprintf("  %s: %s, %s", of, price(row.Usage.Cost), calls(row.Calls)))
	}
	return list
}

func price(c *provider.Cost) string {
	switch {
	case c == nil:
		return "an unknown price"
	case c.Partial:
		return "at least " + USD(c.Amount.Units()) + " USD"
	}
	return USD(c.Amount.Units()) + " USD"
}

func calls(n int) string {
	if n == 1 {
		return "1 call"
	}
	return fmt.Sprintf("%d calls", n)
}

// causes are the causes of misses in words.
var causes = map[string]string{"model": "another model", "level": "another level", "tools": "other tools", "system": "another system prompt",
	"summary": "a summary, or its undoing", "message": "an earlier message in another form", "expired": "the vendor's time was over", "vendor": "the vendor"}

// Misses writes for people what calls did not read from the caches of vendors, by cause, and what that cost.
func (r Report) Misses(to io.Writer) error {
	if len(r.Total.Missed) == 0 {
		_, err := fmt.Fprintln(to, "No call read less from a vendor's cache than expected.")
		return err
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CAUSE\tCALLS\tTOKENS\tCOST")
	sum, used := Misses{}, provider.Usage{}
	for _, m := range r.Total.Missed {
		fmt.Fprintf(w, "%s\t%d\t%d\t%v\n", printable.Clean(cmp.Or(causes[m.Cause], m.Cause)), m.Calls, m.Tokens, m.Cost)
		sum.Calls, sum.Tokens, used = sum.Calls+m.Calls, sum.Tokens+m.Tokens, used.Add(provider.Usage{Input: m.Tokens, Cost: m.Cost})
	}
	fmt.Fprintf(w, "total\t%d\t%d\t%v\n", sum.Calls, sum.Tokens, used.Cost)
	return w.Flush()
}

// MissesCSV is Misses for programs, with a line for each row and cause. What is not known is empty.
func (r Report) MissesCSV(to io.Writer) error {
	w := csv.NewWriter(to)
	err := w.Write([]string{r.By, "cause", "calls", "tokens", "cost_usd", "partial"})
	for _, row := range r.Rows {
		for _, m := range row.Missed {
			cost, partial := "", false
			if m.Cost != nil {
				cost, partial = strconv.FormatFloat(m.Cost.Amount.Units(), 'f', -1, 64), m.Cost.Partial
			}
			err = cmp.Or(err, w.Write([]string{row.of(), m.Cause, strconv.Itoa(m.Calls), strconv.Itoa(m.Tokens), cost, strconv.FormatBool(partial)}))
		}
	}
	w.Flush()
	return cmp.Or(err, w.Error())
}
