package gate

import (
	"fmt"
	"math"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Limits bound what all sessions of a daemon spend together. A member that is 0 bounds nothing. Calls of models without a known price
// cost nothing here.
type Limits struct {
	Day        provider.Money // USD in a day, which begins at midnight UTC
	Unattended provider.Money // USD since a person last wrote or approved something
}

// Full says that a limit has no room for a call.
type Full struct {
	session.Spending
	Busy bool // only because of the calls that run: there may be room when they have ended
}

// WithoutAmounts is f without what is allowed and spent.
func (f *Full) WithoutAmounts() *Full {
	return &Full{session.Spending{Limit: f.Limit, Next: f.Next}, f.Busy}
}

// UsedUp says that a limit ends a call that runs.
func (f *Full) UsedUp() string {
	if f.Most == 0 {
		return fmt.Sprintf("the operator's limit %s for all sessions is used up", f.Limit)
	}
	return fmt.Sprintf("the limit %s of %v %s is used up", f.Limit, f.Most.Units(), provider.USD)
}

func (f *Full) Error() string {
	if f.Most == 0 {
		return fmt.Sprintf("the operator's limit %s for all sessions has no room for this call", f.Limit)
	}
	if f.Busy {
		return fmt.Sprintf("%s of %v %s has no room until other calls end: %v are spent or reserved", f.Limit, f.Most.Units(), provider.USD, f.Used.Units())
	}
	return fmt.Sprintf("%s of %v %s has no room: %v are spent or reserved, and the call may cost %v",
		f.Limit, f.Most.Units(), provider.USD, f.Used.Units(), f.Next.Units())
}

// account is what counts for one limit.
type account struct {
	limit  session.SpendingLimit
	most   provider.Money // 0: there is no limit
	raised provider.Money // by how much people raised it
	spent  provider.Money // by calls that are settled
	held   provider.Money // by calls that run
}

// spending is what the account has, for a call that may cost next.
func (a *account) spending(next provider.Money) session.Spending {
	return session.Spending{Limit: a.limit, Used: a.spent + a.held, Most: a.most + a.raised, Next: next}
}

// room reports whether a call fits that may cost next. A call that costs nothing always fits.
func (a *account) room(next provider.Money) bool {
	return a.most == 0 || next == 0 || a.spent+a.held+next <= a.most+a.raised
}

// left is how much more the account admits.
func (a *account) left() provider.Money {
	if a.most == 0 {
		return math.MaxInt64
	}
	return a.most + a.raised - a.spent - a.held
}
