package providertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/provider"
)

// Lines writes a reply for people, one event a line.
func Lines(r Reply) string {
	var b strings.Builder
	for _, ev := range r.Events {
		switch ev := ev.(type) {
		case provider.Served:
			fmt.Fprintf(&b, "served %q by %q\n", ev.Model, ev.Host)
		case provider.Begin:
			fmt.Fprintf(&b, "begin %d %s\n", ev.Index, block(ev.Block))
		case provider.Delta:
			fmt.Fprintf(&b, "delta %d %s\n", ev.Index, encode(ev.Text))
		case provider.End:
			fmt.Fprintf(&b, "end %d %s\n", ev.Index, block(ev.Block))
		case provider.Notice:
			fmt.Fprintf(&b, "notice %s %s %s\n", ev.Kind, encode(ev.Text), ev.Data)
		case provider.Stop:
			fmt.Fprintf(&b, "stop %s raw=%s detail=%q model=%s request=%s\n", ev.Reason, ev.Raw, ev.Detail, ev.Model, ev.RequestID)
			fmt.Fprintf(&b, "usage %s\n", encode(ev.Usage))
			fmt.Fprintf(&b, "raw usage %s\n", ev.RawUsage)
			for _, cited := range ev.Cited {
				fmt.Fprintf(&b, "cited %d %s\n", cited.Index, encode(cited.Sources))
			}
			if !ev.State.IsZero() {
				fmt.Fprintf(&b, "state %s\n", encode(ev.State))
			}
		}
	}
	if e, ok := errors.AsType[*provider.Error](r.Err); ok {
		fmt.Fprintf(&b, "error kind=%s repair=%s: %v\n", e.Kind, e.Repair, e)
	} else if r.Err != nil {
		fmt.Fprintf(&b, "error %v\n", r.Err)
	}
	return b.String()
}

func block(b provider.Block) string {
	data, err := provider.MarshalBlock(b)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
