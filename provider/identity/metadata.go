package identity

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// direct is the way to a machine's metadata server, which is on no network. It keeps no connection, since a token is wanted once an hour.
func direct() http.RoundTripper { return &http.Transport{DisableKeepAlives: true} }

// issued is a token as metadata servers and token endpoints write it.
type issued struct {
	Token     string `json:"access_token"`
	ExpiresIn number `json:"expires_in"` // seconds
	ExpiresOn number `json:"expires_on"` // seconds since 1970
}

// number may be written as text (Microsoft docs: how-to-use-vm-token).
type number int64

func (n *number) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) != nil {
		s = string(text)
	}
	v, err := strconv.ParseInt(s, 10, 64)
	*n = number(v)
	return err
}

// get asks for a token and reads it.
func (x *exchange) token(req *http.Request, secrets ...provider.Secret) (provider.Secret, time.Time, error) {
	resp, err := x.client().Do(req)
	if err != nil {
		return provider.Secret{}, time.Time{}, x.failure(err, secrets...)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return provider.Secret{}, time.Time{}, x.failure(nil, secrets...)
	}
	data, err := io.ReadAll(resp.Body) // bounded by RoundTrip
	if err != nil {
		return provider.Secret{}, time.Time{}, x.failure(err, secrets...)
	}
	var said issued
	if json.Unmarshal(data, &said) != nil || said.Token == "" {
		return provider.Secret{}, time.Time{}, unusable(x.provider, "no token: the answer of %s has none", hostOf(req.URL.String()))
	}
	expires := endOf(time.Now(), int64(said.ExpiresIn), int64(said.ExpiresOn))
	return provider.NewSecret(said.Token), expires, nil
}

// endOf is the end of a token that lasts so many seconds from now, or else until a second since 1970. No answer makes it last more than
// a day: then it is asked for again.
func endOf(now time.Time, in, on int64) time.Time {
	const most = 24 * time.Hour
	if in == 0 && on > 0 {
		in = on - now.Unix()
	}
	return now.Add(time.Duration(min(max(in, 0), int64(most/time.Second))) * time.Second)
}
