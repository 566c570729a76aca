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
	inside  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// Each link of a page leads to a file of the repository, and to a heading if it names one. Addresses of other hosts are only parsed: the
// tests need no internet.
func TestLinks(t *testing.T) {
	all := pages(t)
	headings := make(map[string]map[string]bool)
	for page, lines := range all {
		headings[page] = anchors(lines)
	}
	checked := 0
	for page, lines := range all {
		for _, l := range lines {
			if l.fence != "-" || strings.HasPrefix(l.text, "    ") {
				continue
			}
			for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(l.text, ""), -1) {
				checked++
				if err := follow(headings, page, found[1]); err != nil {
					t.Errorf("%s:%d: %s: %v", page, l.number, found[1], err)
				}
			}
		}
	}
	if checked < 150 {
		t.Errorf("the pages have %d links", checked)
	}
}

// follow finds what a link of a page leads to. headings has the anchors of each page.
func follow(headings map[string]map[string]bool, page, target string) error {
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
	anchors, ok := headings[page]
	if !ok {
		return fmt.Errorf("%s is no page of the documentation", page)
	}
	if !anchors[u.Fragment] {
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
		text := inside.ReplaceAllString(found[1], "$1")
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
