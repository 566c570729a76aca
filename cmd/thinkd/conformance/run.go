package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Checks lists all checks, in the order in which they run.
func Checks() []Check { return slices.Concat(messageChecks, sessionChecks, turnChecks, toolChecks) }

// Run runs the check. Its error says how the server violates the rule. timeout is for the whole check. When Run returns, its connections
// are closed.
func (c Check) Run(ctx context.Context, dial Dial, model string, timeout time.Duration) (err error) {
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	t := &try{ctx: ctx, dial: dial, model: model}
	defer func() {
		for _, p := range t.peers {
			p.close()
		}
		switch r := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("%s", r.text)
		default:
			panic(r) // a fault of the check
		}
	}()
	c.run(t)
	return nil
}
