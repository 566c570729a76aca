package toolhost

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Server is the definition of an MCP server: a program to start, or an address. The tags are the keys of the config file and the
// members of the protocol.
type Server struct {
	Name    string            `toml:"-" json:"name"`                    // the first part of its tools' names
	Command []string          `toml:"command" json:"command,omitempty"` // the program and its arguments: no shell reads them
	Env     map[string]string `toml:"env" json:"env,omitempty"`         // of the program, over what package process gives it
	CWD     string            `toml:"cwd" json:"cwd,omitempty"`         // of the program, absolute; empty: the daemon's
	URL     string            `toml:"url" json:"url,omitempty"`         // of a server that speaks streamable HTTP
	OAuth   string            `toml:"oauth_client_id" json:"-"`         // of a client that is registered for us; empty: thinkd registers itself
	Headers map[string]string `toml:"headers" json:"headers,omitempty"` // of requests to it
	Tools   []string          `toml:"tools" json:"tools,omitempty"`     // those that are taken, by the server's names; empty: all

	TrustHints bool `toml:"trust_hints" json:"-"` // what the server says of its tools' effects counts; only the operator can say so
}

// serverName leaves room for the name of a tool after it.
var serverName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,31}$`) })

// ServerError is an error of one member of a Server. It never quotes what could be a secret.
type ServerError struct {
	Member string // as configs and clients write it
	Err    error
}

func (e *ServerError) Error() string { return e.Member + ": " + e.Err.Error() }
func (e *ServerError) Unwrap() error { return e.Err }

// Check returns what is wrong with a server, or nil. Every error is a *[ServerError].
func (s Server) Check() error {
	wrong := func(member, format string, args ...any) error {
		return &ServerError{member, fmt.Errorf(format, args...)}
	}
	address, err := url.Parse(s.URL)
	switch {
	case !serverName().MatchString(s.Name):
		return wrong("name", "a server's name is 1 to 32 letters, digits, _ and -, and begins with a letter or _")
	case len(s.Command) == 0 && s.URL == "":
		return wrong("command", "missing; say which program the server is, or its url")
	case len(s.Command) > 0 && s.URL != "":
		return wrong("url", "cannot be combined with command; give one of them")
	case s.URL == "" && s.Command[0] == "":
		return wrong("command", "names no program")
	case s.URL == "" && s.OAuth != "":
		return wrong("oauth_client_id", "is of a server with a url")
	case s.URL == "" && len(s.Headers) > 0:
		return wrong("headers", "are of a server with a url")
	case s.URL != "" && (len(s.Env) > 0 || s.CWD != ""):
		return wrong("url", "has neither env nor cwd: they are a program's")
	case s.URL != "" && (err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Hostname() == ""):
		return wrong("url", `must be an address such as "https://tools.example.com/mcp"`)
	case s.URL != "" && (address.User != nil || address.Fragment != ""):
		return wrong("url", "has a password or a fragment in it; a key goes into headers")
	case s.CWD != "" && !filepath.IsAbs(s.CWD):
		return wrong("cwd", "must be an absolute path")
	}
	for _, word := range s.Command {
		if strings.ContainsRune(word, 0) {
			return wrong("command", "has a zero character in it")
		}
	}
	for name, value := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return wrong("env", "has what no environment can hold")
		}
	}
	for name, value := range s.Headers {
		if err := checkHeader(name, value); err != nil {
			return &ServerError{"headers", err}
		}
	}
	if slices.Contains(s.Tools, "") {
		return wrong("tools", "has an empty name")
	}
	return nil
}

// RFC 9110, section 5.6.2
var headerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$") })

// ofTheTransport are headers that the protocol's transport sets itself.
var ofTheTransport = []string{"Accept", "Connection", "Content-Length", "Content-Type", "Host", "Last-Event-Id",
	"Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

func checkHeader(name, value string) error {
	switch {
	case !headerName().MatchString(name):
		return errors.New("has a name that no header can have")
	case slices.Contains(ofTheTransport, http.CanonicalHeaderKey(name)):
		return fmt.Errorf("%s is set by the transport; leave it out", name)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return fmt.Errorf("%s has a control character in its value", name)
	}
	return nil
}
