package login

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/refusal"
)

const (
	answerLimit = 1 << 20 // bytes of a login server's answer
	answerTime  = 20 * time.Second
)

// answered is a transport that reads and closes its answers, and ends with ctx. The library oauth2 requests a device code without a
// context, and does not close the answer. Redirects are not followed, because the requests have secrets.
type answered struct {
	ctx  context.Context
	next http.RoundTripper
}

func (a answered) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(a.ctx, answerTime)
	defer cancel()
	defer context.AfterFunc(req.Context(), cancel)()
	req = req.Clone(ctx)
	req.Header.Set("Accept", "application/json") // GitHub answers with a form otherwise
	req.Header.Set("User-Agent", "thinkd")
	resp, err := a.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// talk returns ctx with the client that the library oauth2 uses.
func talk(ctx context.Context, client *http.Client) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, &http.Client{
		Transport:     answered{ctx, cmp.Or(client.Transport, http.DefaultTransport)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
}

// failure returns the meaning of an error of the library. From the body of the answer it takes only the vendor's code and its
// description, without secrets.
func failure(ctx context.Context, providerID string, err error, secrets ...provider.Secret) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := &provider.Error{API: "login", Provider: providerID, Kind: provider.KindTransport}
	said, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		if u, is := errors.AsType[*url.Error](err); is {
			err = u.Err // the message has the address, with the client's id
			e.Err = err
			return e
		}
		e.Message = "the login's server gave no answer that makes sense"
		return e
	}
	e.Status = said.Response.StatusCode
	e.Code = clean(said.ErrorCode, 100, secrets)
	e.Message = clean(said.ErrorDescription, 500, secrets)
	if said.ErrorCode == "" { // for OpenAI it is an object, as in its API
		read := refusal.Read(e.Status, said.Response.Header, said.Body, func(text string) string { return text })
		e.Code, e.Message = clean(read.Code, 100, secrets), clean(read.Message, 500, secrets)
	}
	switch {
	case said.ErrorCode == "access_denied":
		e.Kind, e.Message = provider.KindAuth, "the login was declined"
	case said.ErrorCode == "expired_token":
		e.Kind, e.Message = provider.KindAuth, "the login was not completed in time"
	case e.Status == http.StatusTooManyRequests:
		e.Kind = provider.KindRateLimit
	case e.Status >= 500:
	default:
		e.Kind = provider.KindAuth
	}
	e.Message = cmp.Or(e.Message, e.Code, http.StatusText(e.Status))
	return e
}

// clean returns a foreign text without secrets and control characters, cut to limit bytes.
func clean(text string, limit int, secrets []provider.Secret) string {
	for _, s := range secrets {
		text = s.Scrub(text)
	}
	return refusal.Clean(text, limit)
}
