package identity

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/tidwall/gjson"
	"golang.org/x/oauth2/google"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
)

// cloudScope is all of Google Cloud that the identity's roles allow.
const cloudScope = "https://www.googleapis.com/auth/cloud-platform"

// googleMetadata is the metadata server of Google's machines.
const googleMetadata = "169.254.169.254"

// Google is where an identity of Google Cloud comes from. The first of these that exists is used: File, WellKnown, the metadata server.
// A file is a service account, the account of a person, a federated workload, or an impersonated service account
// (cloud.google.com: docs/authentication/application-default-credentials).
type Google struct {
	Project      string // that calls belong to
	File         string // named by the operator; empty: none
	WellKnown    string // where gcloud keeps the default credentials; it may be missing
	MetadataHost string // of the metadata server; empty: Google's address
	Metadata     bool   // without a file, the metadata server is asked
}

// Open returns the identity. Requests for tokens go through client, those to a metadata server do not.
func (g Google) Open(providerID string, client *http.Client) login.Identity {
	return &googleIdentity{g, providerID, client}
}

// Files are the credentials that the operator names. What gcloud keeps is a secret place anyway.
func (g Google) Files() []string { return named(g.File) }

type googleIdentity struct {
	Google
	provider string
	client   *http.Client
}

// Account is that of the project, which pays and to which signatures of thinking belong.
func (g *googleIdentity) Account() string { return provider.NewSecret("google " + g.Project).Account() }

func (g *googleIdentity) file() string {
	if g.File == "" && exists(g.WellKnown) {
		return g.WellKnown
	}
	return g.File
}

// Missing asks for no file that the operator has named: its error is that of the first call, and names the file.
func (g *googleIdentity) Missing() string {
	if g.file() != "" || g.Metadata {
		return ""
	}
	return "no credentials of Google Cloud: run `gcloud auth application-default login`, set GOOGLE_APPLICATION_CREDENTIALS, or set project under [providers." +
		g.provider + ".google] on a machine of Google's"
}

func (g *googleIdentity) Token(ctx context.Context) (provider.Secret, time.Time, error) {
	path := g.file()
	if path == "" {
		return g.fromMetadata(ctx)
	}
	data, err := readFile(path)
	if err != nil {
		return provider.Secret{}, time.Time{}, unusable(g.provider, "the file with Google's credentials cannot be read: %v", err)
	}
	x := newExchange(ctx, g.provider, g.client.Transport)
	kind := gjson.GetBytes(data, "type").Str
	creds, err := google.CredentialsFromJSONWithTypeAndParams(x.context(), data, google.CredentialsType(kind), google.CredentialsParams{Scopes: []string{cloudScope}})
	if err != nil {
		return provider.Secret{}, time.Time{}, unusable(g.provider, "%s is no file of Google's credentials: %v", path, err)
	}
	token, err := creds.TokenSource.Token()
	if err != nil {
		return provider.Secret{}, time.Time{}, x.failure(err, secretsOf(data)...)
	}
	return provider.NewSecret(token.AccessToken), cmp.Or(token.Expiry, time.Now()), nil
}

// secretsOf are the members of a credentials file that no error may repeat.
func secretsOf(data []byte) []provider.Secret {
	var list []provider.Secret
	for _, member := range []string{"client_secret", "refresh_token", "private_key", "source_credentials.client_secret", "source_credentials.refresh_token", "source_credentials.private_key"} {
		if v := gjson.GetBytes(data, member).Str; v != "" {
			list = append(list, provider.NewSecret(v))
		}
	}
	return list
}

// fromMetadata asks the machine's metadata server. The library's own way has no context, and remembers for ever that a machine is not
// Google's.
func (g *googleIdentity) fromMetadata(ctx context.Context) (provider.Secret, time.Time, error) {
	address := url.URL{Scheme: "http", Host: cmp.Or(g.MetadataHost, googleMetadata), Path: "/computeMetadata/v1/instance/service-accounts/default/token",
		RawQuery: url.Values{"scopes": {cloudScope}}.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return provider.Secret{}, time.Time{}, unusable(g.provider, "the address of the metadata server cannot be read")
	}
	req.Header.Set("Metadata-Flavor", "Google")
	return newExchange(ctx, g.provider, direct()).token(req)
}
