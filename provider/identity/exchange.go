package identity

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/tidwall/gjson"
	"golang.org/x/oauth2"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/refusal"
)

const (
	maxFile   = 1 << 20 // bytes of a file with a credential
	maxAnswer = 1 << 20 // bytes of an answer
	oneAnswer = 20 * time.Second
)

// exchange is the way to one token, of one or several requests. It keeps the last answer that is a refusal, because the libraries that
// make the requests put it into errors of several forms, or drop it.
type exchange struct {
	provider string
	ctx      context.Context
	next     http.RoundTripper

	status int // of the refusal; 0: none
	header http.Header
	said   []byte
}

func newExchange(ctx context.Context, providerID string, rt http.RoundTripper) *exchange {
	if rt == nil {
		rt = http.DefaultTransport
	}
	return &exchange{provider: providerID, ctx: ctx, next: rt}
}

// RoundTrip reads the whole answer, and ends with the context of the exchange as well as with that of the request: the library oauth2
// makes requests without one.
func (x *exchange) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(x.ctx, oneAnswer)
	defer cancel()
	defer context.AfterFunc(req.Context(), cancel)()
	req = req.Clone(ctx)
	req.Header.Set("User-Agent", "thinkd")
	resp, err := x.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if x.status = 0; resp.StatusCode/100 != 2 {
		x.status, x.header, x.said = resp.StatusCode, resp.Header, body
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

func (x *exchange) client() *http.Client {
	return &http.Client{Transport: x, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// context is for the library oauth2, which takes the client from it.
func (x *exchange) context() context.Context {
	return context.WithValue(x.ctx, oauth2.HTTPClient, x.client())
}

// failure is the error of an exchange, without secrets.
func (x *exchange) failure(err error, secrets ...provider.Secret) error {
	scrub := func(text string) string {
		for _, s := range secrets {
			text = s.Scrub(text)
		}
		return text
	}
	switch broken, isURL := errors.AsType[*url.Error](err); {
	case x.ctx.Err() != nil:
		return context.Cause(x.ctx)
	case x.status != 0:
		e := x.refusal(scrub)
		e.Message = "no token: " + e.Message
		return e
	case isURL:
		return &provider.Error{API: "login", Provider: x.provider, Kind: provider.KindTransport, Err: broken.Err, Message: "no token: " + hostOf(broken.URL) + " cannot be reached"}
	}
	return unusable(x.provider, "no token: %s", refusal.Clean(scrub(err.Error()), 500))
}

// refusal is the error for the last answer. A refusal of 4xx is one of the identity, because the requests depend on nothing else.
func (x *exchange) refusal(scrub func(string) string) *provider.Error {
	e := refusal.Read(x.status, x.header, x.said, scrub)
	e.API, e.Provider = "login", x.provider
	if x.status/100 == 4 && x.status != http.StatusTooManyRequests {
		e.Kind = provider.KindAuth
	}
	why := cmp.Or(e.Message, http.StatusText(x.status))
	if said := refusal.Clean(scrub(gjson.GetBytes(x.said, "error_description").Str), 500); said != "" { // RFC 6749, section 5.2
		why += ": " + said
	}
	if e.Message = why; e.Kind == provider.KindAuth {
		e.Message = "the identity is refused: " + why
	}
	return e
}

// unusable is the error of an identity that cannot be used as it is configured.
func unusable(providerID, format string, values ...any) error {
	return &provider.Error{API: "login", Provider: providerID, Kind: provider.KindAuth, Message: fmt.Sprintf(format, values...)}
}

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return "the server"
}

// readFile reads a file with a credential.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than 1 MiB", path)
	}
	return data, err
}

// exists reports whether there is a file at a path.
func exists(path string) bool {
	if path == "" {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// named leaves out empty paths.
func named(paths ...string) []string {
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}
