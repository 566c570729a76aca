package config

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/identity"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
)

// cloudName is a project or a location of Google Cloud. A project may have a domain in front.
var cloudName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z0-9.-]+:)?[a-z0-9][a-z0-9-]*$`) })

// google gives a provider on Google Cloud its identity, and returns its base URL as it is stated: that of the project at its location. For
// other providers, and without a project, that is base_url.
func (src *source) google(key string, f fileProvider, p *vendors.Config, v registry.Vendor, getenv func(string) string) (stated string, err error) {
	if v.Identity != "google" && f.Google == nil {
		return f.BaseURL, nil
	}
	if p.Dialect != "cloud" {
		return "", src.errorf(key+".google", `only providers with the dialect "cloud" are on Google Cloud`)
	}
	var said fileGoogle
	if f.Google != nil {
		said = *f.Google
	}
	project := cmp.Or(said.Project, variable(getenv, "GOOGLE_CLOUD_PROJECT"), variable(getenv, "ANTHROPIC_VERTEX_PROJECT_ID"))
	location := cmp.Or(said.Location, variable(getenv, "GOOGLE_CLOUD_LOCATION"), variable(getenv, "CLOUD_ML_REGION"), "global")
	switch {
	case project == "" && f.BaseURL == "":
		return "", nil
	case project != "" && !cloudName().MatchString(project):
		return "", src.errorf(key+".google.project", "%q is not the id of a project", project)
	case !cloudName().MatchString(location):
		return "", src.errorf(key+".google.location", "%q is not a location such as us-east5, eu or global", location)
	}
	p.Identity = identity.Google{
		Project: project, File: cmp.Or(src.beside(said.Credentials), variable(getenv, "GOOGLE_APPLICATION_CREDENTIALS")),
		WellKnown: wellKnown(getenv), MetadataHost: variable(getenv, "GCE_METADATA_HOST"),
		Metadata: f.Google != nil || variable(getenv, "GCE_METADATA_HOST") != "", // a variable alone does not say that this is a machine of Google's
	}
	if project == "" {
		return f.BaseURL, nil
	}
	if location != "global" { // 10 % more for Claude since 4.5 (platform.claude.com: claude-on-vertex-ai, pricing); others cost the same everywhere
		p.Surcharge = map[string]float64{"messages": 1.1}
	}
	return vendors.GoogleAddress(f.BaseURL, project, location), nil
}

// wellKnown is where gcloud keeps the application default credentials; empty: nowhere.
func wellKnown(getenv func(string) string) string {
	const file = "application_default_credentials.json"
	switch config, appdata, home := getenv("CLOUDSDK_CONFIG"), getenv("APPDATA"), getenv("HOME"); {
	case config != "":
		return filepath.Join(config, file)
	case appdata != "": // of Windows
		return filepath.Join(appdata, "gcloud", file)
	case home != "":
		return filepath.Join(home, ".config", "gcloud", file)
	}
	return ""
}

// entraName is an id or a domain at Microsoft.
var entraName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9.-]*$`) })

// resourceID is that of a resource for models.
var resourceID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^/subscriptions/[^/?#]+/resourceGroups/[^/?#]+/providers/Microsoft\.CognitiveServices/accounts/[^/?#]+$`)
})

// entra gives a provider on Azure its identity: what the file names, and for all that it does not name, the variables of Microsoft's own
// libraries (azidentity: EnvironmentCredential, WorkloadIdentityCredential, ManagedIdentityCredential).
func (src *source) entra(key string, f fileProvider, p *vendors.Config, v registry.Vendor, getenv func(string) string) error {
	if v.Identity != "entra" && f.Entra == nil {
		return nil
	}
	if p.BaseURL == "" {
		return nil // which is what a call says
	}
	var said fileEntra
	if f.Entra != nil {
		said = *f.Entra
	}
	if !variableName().MatchString(said.SecretEnv) {
		return src.errorf(key+".entra.client_secret_env", "must be the name of an environment variable, not a secret")
	}
	e := identity.Entra{
		Resource: p.BaseURL, Authority: cmp.Or(said.Authority, variable(getenv, "AZURE_AUTHORITY_HOST")),
		Tenant: cmp.Or(said.Tenant, variable(getenv, "AZURE_TENANT_ID")), Client: cmp.Or(said.Client, variable(getenv, "AZURE_CLIENT_ID")),
		Secret:      provider.NewSecret(variable(getenv, cmp.Or(said.SecretEnv, "AZURE_CLIENT_SECRET"))),
		Certificate: cmp.Or(src.beside(said.Certificate), variable(getenv, "AZURE_CLIENT_CERTIFICATE_PATH")),
		TokenFile:   cmp.Or(src.beside(said.TokenFile), variable(getenv, "AZURE_FEDERATED_TOKEN_FILE")),
		Endpoint:    variable(getenv, "IDENTITY_ENDPOINT"), EndpointSecret: provider.NewSecret(variable(getenv, "IDENTITY_HEADER")),
	}
	e.Managed = said.Managed || e.Endpoint != "" && !e.EndpointSecret.IsZero()
	if said.CLI {
		e.CLI = "az"
	}
	for name, text := range map[string]string{"tenant_id": e.Tenant, "client_id": e.Client} {
		if !entraName().MatchString(text) {
			return src.errorf(key+".entra."+name, "must be an id, or a domain")
		}
	}
	e.ResourceID, e.Management = strings.TrimRight(said.ResourceID, "/"), said.Management
	if e.ResourceID != "" && !resourceID().MatchString(e.ResourceID) {
		return src.errorf(key+".entra.resource_id", `must be the id of a resource: "/subscriptions/…/resourceGroups/…/providers/Microsoft.CognitiveServices/accounts/…"`)
	}
	for name, address := range map[string]string{"authority": e.Authority, "management": e.Management} {
		if address == "" {
			continue
		}
		if problem := checkBaseURL(address, ""); problem != "" {
			return src.errorf(key+".entra."+name, "%s", problem)
		}
		if strings.HasPrefix(address, "http:") && !exchange.Local(address) {
			return src.errorf(key+".entra."+name, "is not encrypted: use https")
		}
	}
	p.Identity = e
	return nil
}
