package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/thinkd/thinkd/provider/vendors"
)

// checkBaseURL says what is wrong with a base URL, and never quotes it: there may be a password in it.
func checkBaseURL(text, api string) string {
	u, err := url.Parse(text)
	spoken, _ := vendors.APINamed(api) // CheckAPI has found it
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.Hostname() == "":
		return `must be an address such as "https://llm.example.com"`
	case u.User != nil:
		return "has a user name or password in it; name the variable with the key in api_key_env"
	case u.RawQuery != "" || u.ForceQuery:
		return "has a query in it; leave out the ? and what follows"
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return "has a fragment in it; leave out the # and what follows"
	case spoken.Suffix != "" && strings.HasSuffix(strings.TrimRight(u.Path, "/"), spoken.Suffix):
		return fmt.Sprintf("ends in %s, which is added for each call; leave it out", spoken.Suffix)
	}
	return ""
}

// RFC 9110, section 5.6.2
var headerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$") })

var (
	keyHeaders = []string{"authorization", "proxy-authorization", "x-api-key", "cookie"}
	ownHeaders = []string{"accept", "accept-encoding", "anthropic-beta", "anthropic-version", "connection", "content-length",
		"content-type", "host", "te", "trailer", "transfer-encoding", "upgrade"}
)

// checkHeader says what is wrong with a header, and never quotes its value.
func checkHeader(name, value string) string {
	lower := strings.ToLower(name)
	switch {
	case !headerName().MatchString(name):
		return "is not a header's name"
	case slices.Contains(keyHeaders, lower):
		return "carries a key; name the variable with the key in api_key_env"
	case slices.Contains(ownHeaders, lower):
		return "is set by thinkd itself; leave it out"
	case strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }):
		return "has a control character in its value"
	}
	return ""
}
