package aws

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
)

// Services by whose names requests are signed.
const (
	ServiceBedrock = "bedrock"
	ServiceMantle  = "bedrock-mantle"
)

// Signer signs the requests to one service in one region. It is safe for concurrent use.
type Signer struct {
	credentials     *Credentials
	service, region string
}

var _ exchange.Authorizer = (*Signer)(nil)

// NewSigner returns a signer. Signers may share credentials.
func NewSigner(c *Credentials, service string) *Signer {
	return &Signer{c, service, c.settings.Region}
}

// Authorize signs the method, the address, the type and the content of a request. Other headers are not signed: a proxy may change them.
func (s *Signer) Authorize(ctx context.Context, req *http.Request, body []byte) error {
	creds, err := s.credentials.get(ctx)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	signed := &http.Request{Method: req.Method, URL: req.URL, Host: req.Host, Header: http.Header{}, ContentLength: int64(len(body))}
	if kind := req.Header.Get("Content-Type"); kind != "" {
		signed.Header.Set("Content-Type", kind)
	}
	if err := v4.NewSigner().SignHTTP(ctx, creds, signed, hex.EncodeToString(sum[:]), s.service, s.region, time.Now()); err != nil {
		return err
	}
	for _, name := range []string{"Authorization", "X-Amz-Date", "X-Amz-Security-Token"} {
		if value := signed.Header.Get(name); value != "" {
			req.Header.Set(name, value)
		}
	}
	return nil
}

// Refused looks for other credentials if the host says that these are over or unknown. A host that knows them and denies the model would deny
// it again.
func (s *Signer) Refused(e *provider.Error) bool {
	for _, word := range []string{"ExpiredToken", "UnrecognizedClient", "InvalidClientTokenId"} {
		if strings.Contains(e.Code, word) {
			return s.credentials.forget()
		}
	}
	text := strings.ToLower(e.Message)
	return strings.Contains(text, "security token") && s.credentials.forget()
}

// Scrub takes the secrets of the credentials out of a text.
func (s *Signer) Scrub(text string) string { return s.credentials.scrub(text) }
