package aws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"

	"github.com/thinkd/thinkd/provider"
)

// Settings say whose credentials are used. The zero value is what Amazon's own programs use.
type Settings struct {
	Region  string       // of the hosts that issue credentials, and of signatures
	Profile string       // of the shared files; empty: that of the environment, or default
	Client  *http.Client // asks for credentials; nil: one that follows the environment
}

// Credentials are those of this machine. They are looked for at the first use, kept, and renewed before they expire. It is safe for concurrent
// use.
type Credentials struct {
	settings Settings

	mu    sync.Mutex
	found aws.CredentialsProvider // nil: not looked for yet
	now   aws.Credentials         // the latest
}

// NewCredentials reads nothing.
func NewCredentials(s Settings) *Credentials { return &Credentials{settings: s} }

const (
	// early is how long before their end credentials are renewed: a call may wait that long in a queue of the host.
	early = 5 * time.Minute

	// searchLimit bounds one search, in which several hosts may be asked.
	searchLimit = 30 * time.Second
)

// get returns the credentials for the next request.
func (c *Credentials) get(ctx context.Context) (aws.Credentials, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, searchLimit, fmt.Errorf("nobody issued credentials within %s", searchLimit))
	defer cancel()
	source, err := c.source(ctx)
	if err != nil {
		return aws.Credentials{}, c.explain(err)
	}
	now, err := source.Retrieve(ctx)
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return aws.Credentials{}, c.explain(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
	return now, nil
}

// source finds who issues credentials. It reads the environment and the shared files, and makes no call.
func (c *Credentials) source(ctx context.Context) (aws.CredentialsProvider, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found != nil {
		return c.found, nil
	}
	options := []func(*config.LoadOptions) error{
		config.WithRegion(c.settings.Region),
		config.WithLogger(logging.Nop{}), // it writes to standard error, of steps that are no failure
		config.WithCredentialsCacheOptions(func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = early }),
		config.WithRetryer(func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = 2 })
		}),
	}
	if c.settings.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(c.settings.Profile))
	}
	options = append(options, config.WithHTTPClient(issuers(c.settings.Client)))
	found, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, err
	}
	c.found = found.Credentials
	return c.found, nil
}

// issuers returns a client that asks for credentials on the way on which given goes, nil as the environment says. The library adds the
// authorities of AWS_CA_BUNDLE to it, which it can do only to a client of its own.
func issuers(given *http.Client) aws.HTTPClient {
	way := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if given != nil {
		t, ok := given.Transport.(*http.Transport)
		if !ok {
			return given
		}
		way = t
	}
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.Proxy, t.OnProxyConnectResponse = encrypted(way.Proxy), way.OnProxyConnectResponse
		if way.TLSClientConfig == nil {
			return
		}
		t.TLSClientConfig = way.TLSClientConfig.Clone()
		if pool := t.TLSClientConfig.RootCAs; pool != nil { // calls of the model use it at the same time
			t.TLSClientConfig.RootCAs = pool.Clone()
		}
	})
}

// encrypted asks for a proxy only for requests over HTTPS. Those over plain HTTP are for the metadata of the machine or of its container, which
// is on no network.
func encrypted(proxy func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(req *http.Request) (*url.URL, error) {
		if req.URL.Scheme == "http" || proxy == nil {
			return nil, nil
		}
		return proxy(req)
	}
}

// forget looks for credentials again at the next use, since the host refused the present ones. It reports whether others may be found: the
// variables of this process never change.
func (c *Credentials) forget() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = nil
	return c.now.CanExpire || !strings.HasPrefix(c.now.Source, "EnvConfigCredentials")
}

// scrub takes the secrets out of a text.
func (c *Credentials) scrub(text string) string {
	c.mu.Lock()
	now := c.now
	c.mu.Unlock()
	for _, secret := range []string{now.SecretAccessKey, now.SessionToken} {
		if secret != "" {
			text = provider.NewSecret(secret).Scrub(text)
		}
	}
	return text
}

// explain says what to do about a search that found nothing. The library's own text names each place where it looked.
func (c *Credentials) explain(err error) error {
	profile := "the environment's profile"
	if c.settings.Profile != "" {
		profile = "profile " + c.settings.Profile
	}
	advice := "set AWS_BEARER_TOKEN_BEDROCK, or the credentials of " + profile
	refused, answered := errors.AsType[interface {
		error
		ErrorCode() string
	}](err)
	if answered && strings.Contains(refused.ErrorCode(), "Unauthorized") || strings.Contains(err.Error(), "SSO") {
		advice = "run `aws sso login`"
		if c.settings.Profile != "" {
			advice = "run `aws sso login --profile " + c.settings.Profile + "`"
		}
	}
	return &noCredentials{err, advice}
}

// noCredentials is an error with what to do about it.
type noCredentials struct {
	err    error
	advice string
}

func (e *noCredentials) Error() string {
	return "no AWS credentials: " + e.advice + " (" + e.err.Error() + ")"
}
func (e *noCredentials) Unwrap() error { return e.err }
