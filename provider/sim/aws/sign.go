package aws

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/thinkd/thinkd/provider/sim"
)

// SecretOf returns the secret access key that belongs to an access key id.
func SecretOf(id string) string { return "secret-of-" + id }

// TokenOf returns the session token that belongs to a temporary access key id.
func TokenOf(id string) string { return "token-of-" + id }

// skew is how far the time of a signature may be from the time of the server (docs: SigV4 troubleshooting).
const skew = 5 * time.Minute

func denied(kind, text string) *sim.Error {
	return &sim.Error{Status: http.StatusForbidden, Kind: kind, Text: text}
}

// Authenticate returns who makes a request to one of these services: the bearer token, or the access key id of the signature.
func Authenticate(ex *sim.Exchange, body []byte, services ...string) (caller string, err error) {
	r := ex.Request
	given := r.Header.Get("Authorization")
	if token, ok := strings.CutPrefix(given, "Bearer "); ok {
		switch {
		case r.Header.Get("X-Amz-Date") != "" || r.Header.Get("X-Amz-Security-Token") != "":
			return "", denied("InvalidSignatureException", "A bearer token and a signature are never sent together.")
		case token == "" || ex.WrongKey(token):
			return "", denied("AccessDeniedException", "Authentication failed: Please make sure your API Key is valid.")
		}
		return token, nil
	}
	s, err := readSignature(given)
	if err != nil {
		return "", err
	}
	if ex.WrongKey(s.id) {
		return "", denied("UnrecognizedClientException", "The security token included in the request is invalid.")
	}
	return s.id, s.check(r, body, ex.Now(), services)
}

// signature is the header of a signed request.
type signature struct {
	id, date, region, service string
	headers                   []string
	hex                       string
}

func readSignature(header string) (s signature, err error) {
	wrong := denied("IncompleteSignatureException", "Authorization header requires 'Credential', 'SignedHeaders' and 'Signature' parameters.")
	rest, ok := strings.CutPrefix(header, "AWS4-HMAC-SHA256 ")
	if !ok {
		return s, denied("MissingAuthenticationTokenException", "Missing Authentication Token")
	}
	members := map[string]string{}
	for part := range strings.SplitSeq(rest, ", ") {
		name, value, _ := strings.Cut(part, "=")
		members[name] = value
	}
	scope := strings.Split(members["Credential"], "/")
	if len(scope) != 5 || scope[4] != "aws4_request" || members["SignedHeaders"] == "" || members["Signature"] == "" || len(members) != 3 {
		return s, wrong
	}
	return signature{scope[0], scope[1], scope[2], scope[3], strings.Split(members["SignedHeaders"], ";"), members["Signature"]}, nil
}

// check computes the signature again (docs: create a signed request).
func (s signature) check(r *http.Request, body []byte, now time.Time, services []string) error {
	stamp := r.Header.Get("X-Amz-Date")
	at, err := time.Parse("20060102T150405Z", stamp)
	switch {
	case err != nil:
		return denied("IncompleteSignatureException", "Date in X-Amz-Date header is not in ISO-8601 basic format.")
	case at.Format("20060102") != s.date:
		return denied("InvalidSignatureException", "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP.")
	case now.Sub(at).Abs() > skew:
		return denied("InvalidSignatureException", "Signature expired: "+stamp+" is too far from "+now.UTC().Format("20060102T150405Z"))
	case !slices.Contains(services, s.service):
		return denied("InvalidSignatureException", "Credential should be scoped to correct service: '"+strings.Join(services, "' or '")+"'.")
	case s.region == "" || strings.Trim(s.region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return denied("InvalidSignatureException", "Credential should be scoped to a valid region.")
	}
	if err := s.token(r); err != nil {
		return err
	}
	canonical, err := s.canonical(r, body)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(canonical))
	text := strings.Join([]string{"AWS4-HMAC-SHA256", stamp, strings.Join([]string{s.date, s.region, s.service, "aws4_request"}, "/"), hex.EncodeToString(sum[:])}, "\n")
	key := []byte("AWS4" + SecretOf(s.id))
	for _, part := range []string{s.date, s.region, s.service, "aws4_request"} {
		key = mac(key, part)
	}
	if !hmac.Equal([]byte(hex.EncodeToString(mac(key, text))), []byte(s.hex)) {
		return denied("InvalidSignatureException", "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.")
	}
	return nil
}

// token checks what temporary credentials have in addition.
func (s signature) token(r *http.Request) error {
	token, temporary := r.Header.Get("X-Amz-Security-Token"), strings.HasPrefix(s.id, "ASIA")
	switch {
	case strings.Contains(s.id, "EXPIRED"):
		return denied("ExpiredTokenException", "The security token included in the request is expired")
	case temporary != (token != ""), temporary && token != TokenOf(s.id):
		return denied("UnrecognizedClientException", "The security token included in the request is invalid.")
	}
	return nil
}

// canonical is the request as it is signed. The path is escaped twice.
func (s signature) canonical(r *http.Request, body []byte) (string, error) {
	var headers strings.Builder
	if !slices.IsSorted(s.headers) || !slices.Contains(s.headers, "host") {
		return "", denied("InvalidSignatureException", "'Host' must be a 'SignedHeader' in the AWS Authorization, and the list must be sorted.")
	}
	for name := range r.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-") && !slices.Contains(s.headers, name) {
			return "", denied("InvalidSignatureException", "'"+name+"' must be a 'SignedHeader' in the AWS Authorization.")
		}
	}
	for _, name := range s.headers {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = r.Header.Get("Content-Length")
			if value == "" {
				value = strconv.FormatInt(r.ContentLength, 10)
			}
		}
		headers.WriteString(name + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	sum := sha256.Sum256(body)
	return strings.Join([]string{r.Method, escapedPath(r.URL), canonicalQuery(r.URL), headers.String(), strings.Join(s.headers, ";"), hex.EncodeToString(sum[:])}, "\n"), nil
}

func escapedPath(u *url.URL) string {
	segments := strings.Split(u.EscapedPath(), "/")
	for i, segment := range segments {
		segments[i] = escape(segment)
	}
	return strings.Join(segments, "/")
}

func canonicalQuery(u *url.URL) string {
	var pairs []string
	for name, values := range u.Query() {
		for _, value := range values {
			pairs = append(pairs, escape(name)+"="+escape(value))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// escape leaves only what RFC 3986 does not reserve.
func escape(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	return b.String()
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
