package identity

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
)

const (
	entraAuthority = "https://login.microsoftonline.com"

	// entraModels is the resource of models on Azure (Azure docs: how-to/managed-identity).
	entraModels = "https://cognitiveservices.azure.com"

	// managedHost is the metadata server of Azure's machines.
	managedHost = "169.254.169.254"
)

// Entra is where an identity of Microsoft Entra ID comes from. The first of these that is configured is used: a secret, a certificate, the
// token of a federated workload, the identity of the machine, the login of the command az.
type Entra struct {
	Resource    string          // that calls belong to: its address
	Authority   string          // that gives tokens; empty: the one of the public cloud
	Tenant      string          // an id or a domain
	Client      string          // the id of an application, or of one of several identities of the machine
	Secret      provider.Secret // of the application
	Certificate string          // PEM, with its private key: the application's
	TokenFile   string          // with the token of a federated workload

	Managed        bool   // the machine has an identity
	ManagedHost    string // of its metadata server; empty: Azure's address
	Endpoint       string // that App Service and others have in place of the metadata server
	EndpointSecret provider.Secret

	CLI string // the program az; empty: it is not run

	ResourceID string // of the resource in Azure's management, whose deployments are listed; empty: nothing is listed
	Management string // address of that; empty: the one of the public cloud
}

// Open returns the identity. Requests for tokens go through client, those to a metadata server do not.
func (e Entra) Open(providerID string, client *http.Client) login.Identity {
	return &entraIdentity{e, providerID, client}
}

// Files are the certificate with its key, and the token of the workload.
func (e Entra) Files() []string { return named(e.Certificate, e.TokenFile) }

type entraIdentity struct {
	Entra
	provider string
	client   *http.Client
}

// Account is that of the resource: encrypted reasoning belongs to it, and not to who calls.
func (e *entraIdentity) Account() string {
	return provider.NewSecret("azure " + e.Resource).Account()
}

func (e *entraIdentity) application() bool { return e.Tenant != "" && e.Client != "" }

func (e *entraIdentity) Missing() string {
	switch has := !e.Secret.IsZero() || e.Certificate != "" || e.TokenFile != ""; {
	case has && e.application(), e.Managed, e.CLI != "":
		return ""
	case has:
		return "the identity for Azure lacks its application: set tenant_id and client_id under [providers." + e.provider + ".entra], or AZURE_TENANT_ID and AZURE_CLIENT_ID"
	}
	return "no key: run `thinkd auth set " + e.provider + "`, or set [providers." + e.provider + ".entra] in the config"
}

func (e *entraIdentity) Token(ctx context.Context) (provider.Secret, time.Time, error) {
	return e.tokenFor(ctx, entraModels)
}

// tokenFor gets a token for one of Azure's services.
func (e *entraIdentity) tokenFor(ctx context.Context, service string) (provider.Secret, time.Time, error) {
	switch {
	case !e.application() && e.CLI == "", e.Managed && e.Secret.IsZero() && e.Certificate == "" && e.TokenFile == "":
		return e.managed(ctx, service)
	case !e.Secret.IsZero():
		return e.grant(ctx, service, url.Values{"client_secret": {e.Secret.Reveal()}})
	case e.Certificate != "":
		proof, err := assertion(e.Certificate, e.Client, e.tokenAddress(), time.Now())
		if err != nil {
			return provider.Secret{}, time.Time{}, unusable(e.provider, "the certificate for Azure cannot be used: %v", err)
		}
		return e.grant(ctx, service, assertedBy(proof))
	case e.TokenFile != "":
		token, err := readFile(e.TokenFile)
		if err != nil {
			return provider.Secret{}, time.Time{}, unusable(e.provider, "the token of the workload cannot be read: %v", err)
		}
		return e.grant(ctx, service, assertedBy(strings.TrimSpace(string(token))))
	}
	return command(ctx, e.provider, e.CLI, e.Tenant, service)
}

// assertedBy is how an application shows a signed token in place of a secret (RFC 7523, section 2.2).
func assertedBy(token string) url.Values {
	return url.Values{"client_assertion": {token}, "client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}}
}

func (e *entraIdentity) tokenAddress() string {
	return strings.TrimRight(cmp.Or(e.Authority, entraAuthority), "/") + "/" + url.PathEscape(e.Tenant) + "/oauth2/v2.0/token"
}

// grant asks for a token as an application (Microsoft docs: v2-oauth2-client-creds-grant-flow).
func (e *entraIdentity) grant(ctx context.Context, service string, proof url.Values) (provider.Secret, time.Time, error) {
	proof.Set("grant_type", "client_credentials")
	proof.Set("client_id", e.Client)
	proof.Set("scope", service+"/.default")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.tokenAddress(), strings.NewReader(proof.Encode()))
	if err != nil {
		return provider.Secret{}, time.Time{}, unusable(e.provider, "the address of Microsoft Entra ID cannot be read")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return newExchange(ctx, e.provider, e.client.Transport).token(req, e.Secret, provider.NewSecret(proof.Get("client_assertion")))
}

// managed asks the machine for a token of its identity (Microsoft docs: how-to-use-vm-token, overview-managed-identity).
func (e *entraIdentity) managed(ctx context.Context, service string) (provider.Secret, time.Time, error) {
	query := url.Values{"resource": {service}}
	if e.Client != "" {
		query.Set("client_id", e.Client)
	}
	address, version := e.Endpoint, "2019-08-01"
	if address == "" {
		address, version = "http://"+cmp.Or(e.ManagedHost, managedHost)+"/metadata/identity/oauth2/token", "2018-02-01"
	}
	query.Set("api-version", version)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"?"+query.Encode(), nil)
	if err != nil {
		return provider.Secret{}, time.Time{}, unusable(e.provider, "the address of the machine's identity cannot be read")
	}
	if e.Endpoint == "" {
		req.Header.Set("Metadata", "true")
	} else {
		req.Header.Set("X-IDENTITY-HEADER", e.EndpointSecret.Reveal())
	}
	return newExchange(ctx, e.provider, direct()).token(req, e.EndpointSecret)
}
