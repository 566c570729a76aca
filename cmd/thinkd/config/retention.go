package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/thinkd/thinkd/agent/retention"
)

// keepForever is an age that no session has.
const keepForever = "never"

func (src *source) retention(f fileRetention) (rules retention.Rules, err error) {
	pinned := f.KeepPinned == nil || *f.KeepPinned
	for i, r := range f.Rules {
		key := fmt.Sprintf("retention.rules[%d]", i)
		rule := retention.Rule{CWD: r.CWD, Agent: r.Agent, KeepPinned: pinned}
		if r.KeepPinned != nil {
			rule.KeepPinned = *r.KeepPinned
		}
		switch {
		case r.CWD == "" && r.Agent == "":
			return nil, src.errorf(key, "must have cwd or agent; for all other sessions there is retention.older_than")
		case r.CWD != "" && !filepath.IsAbs(r.CWD):
			return nil, src.errorf(key+".cwd", "must be an absolute path")
		}
		if rule.OlderThan, err = parseAge(r.OlderThan); err != nil {
			return nil, src.errorf(key+".older_than", "%w", err)
		}
		rules = append(rules, rule)
	}
	if f.OlderThan == "" {
		if f.KeepPinned != nil && len(f.Rules) == 0 {
			return nil, src.errorf("retention.keep_pinned", "has no effect without older_than or rules")
		}
		return rules, nil
	}
	age, err := parseAge(f.OlderThan)
	if err != nil {
		return nil, src.errorf("retention.older_than", "%w", err)
	}
	return append(rules, retention.Rule{OlderThan: age, KeepPinned: pinned}), nil
}

// mostDays is a hundred years.
const mostDays = 36_500

// parseAge reads days or hours. An age of 0 is that of no session.
func parseAge(text string) (time.Duration, error) {
	if text == keepForever {
		return 0, nil
	}
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour} {
		digits, ok := strings.CutSuffix(text, unit)
		if n, err := strconv.Atoi(digits); ok && err == nil && n > 0 && n <= mostDays {
			return time.Duration(n) * length, nil
		}
	}
	return 0, errors.New(`must be an age such as "90d" or "12h", or "never"`)
}
