package docs

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	link    = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	code    = regexp.MustCompile("`[^`]*`")
	heading = regexp.MustCompile(`^#{1,6} +(.*?) *$`)
)

// Each link of a page leads to a file of the repository, and to a heading if it names one. Addresses of other hosts are only parsed: the
// tests need no internet.
func TestLinks(t *testing.T) {
	all := pages(t)
	checked := 0
	for page, lines := range all {
		for _, l := range lines {
			if l.fence != "-" || strings.HasPrefix(l.text, "    ") {
				continue
			}
			for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(l.text, ""), -1) {
				checked++
				if err := follow(all, page, found[1]); err != nil {
					t.Errorf("%s:%d: %s: %v", page, l.number, found[1], err)
				}
			}
		}
	}
	if checked < 150 {
		t.Errorf("the pages have %d links", checked)
	}
}

func follow(all map[string][]line, page, target string) error {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" {
		return err
	}
	if u.Path != "" {
		page = path.Join(path.Dir(page), u.Path)
		if _, err := os.Stat(filepath.Join(top, page)); err != nil {
			return err
		}
	}
	if u.Fragment == "" {
		return nil
	}
	lines, ok := all[page]
	if !ok {
		return fmt.Errorf("%s is no page of the documentation", page)
	}
	if !anchors(lines)[u.Fragment] {
		return fmt.Errorf("%s has no heading for that", page)
	}
	return nil
}

// anchors are those that GitHub makes of a page's headings.
func anchors(lines []line) map[string]bool {
	seen, list := make(map[string]int), make(map[string]bool)
	for _, l := range lines {
		found := heading.FindStringSubmatch(l.text)
		if l.fence != "-" || found == nil {
			continue
		}
		text := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(found[1], "$1")
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, text)
		if n := seen[name]; n > 0 {
			list[fmt.Sprintf("%s-%d", name, n)] = true
		} else {
			list[name] = true
		}
		seen[name]++
	}
	return list
}
