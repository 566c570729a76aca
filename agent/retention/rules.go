package retention

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/thinkd/thinkd/session"
)

// Rule says how long sessions are kept. The zero Rule keeps them.
type Rule struct {
	OlderThan  time.Duration // since the last change; 0: they are kept
	KeepPinned bool          // pinned sessions are kept, and those with pinned messages

	// Of which sessions; empty: of all.
	CWD   string // this directory, or one below it
	Agent string // the name of the agent that the session was made for
}

// Rules are tried in order: the first that is of a session decides. A session without a rule is kept.
type Rules []Rule

// Expired reports whether a session is to be deleted. It is pure.
func (r Rules) Expired(s session.Session, now time.Time) bool {
	for _, rule := range r {
		if rule.of(s) {
			return rule.expired(s, now)
		}
	}
	return false
}

func (r Rule) of(s session.Session) bool {
	return (r.Agent == "" || r.Agent == s.Agent.Name) && (r.CWD == "" || below(r.CWD, s.CWD))
}

// below reports whether a directory is another one, or in it. Both are compared as they are written, without a look at the disk.
func below(dir, cwd string) bool {
	rest, err := filepath.Rel(dir, cwd)
	return cwd != "" && err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator))
}

func (r Rule) expired(s session.Session, now time.Time) bool {
	switch {
	case r.OlderThan <= 0, r.KeepPinned && (s.OnTop || len(s.Pinned) > 0), s.Status != session.Idle && s.Status != "":
		return false
	}
	return now.Sub(time.UnixMilli(max(s.Updated, s.Created))) > r.OlderThan
}
