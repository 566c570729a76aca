package identity

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider"
)

const (
	azureManagement = "https://management.azure.com"
	managementTime  = "2024-10-01" // the version of the list of deployments

	mostDeployments = 1000
	mostPages       = 20
)

// Deployment is a model that a resource on Azure serves, under a name that its owner chose.
type Deployment struct {
	Name, Model string
}

// Deployments lists the deployments of the resource, as its management knows them: the resource itself has no such list any more (Azure
// docs: rest/api accountmanagement/deployments). Without a ResourceID the error is [provider.ErrNoList]; else it is a *provider.Error,
// or the cause of ctx. The identity needs the right to read the resource.
func (e Entra) Deployments(ctx context.Context, providerID string, client *http.Client) ([]Deployment, error) {
	if e.ResourceID == "" {
		return nil, provider.ErrNoList
	}
	id := &entraIdentity{e, providerID, client}
	host := strings.TrimRight(cmp.Or(e.Management, azureManagement), "/")
	token, _, err := id.tokenFor(ctx, host)
	if err != nil {
		return nil, err
	}
	var list []Deployment
	at := host + e.ResourceID + "/deployments?api-version=" + managementTime
	for range mostPages {
		page, err := id.page(ctx, at, token)
		if err != nil {
			return nil, err
		}
		for _, d := range page.Get("value").Array() {
			about := d.Get("properties")
			if name := d.Get("name").Str; name != "" && about.Get("provisioningState").Str == "Succeeded" && len(list) < mostDeployments {
				list = append(list, Deployment{name, about.Get("model.name").Str})
			}
		}
		if at = page.Get("nextLink").Str; at == "" {
			return list, nil
		}
		if !strings.HasPrefix(at, host+"/") { // the token is for nobody else
			return nil, unusable(providerID, "the list of deployments goes on at another host")
		}
	}
	return list, nil
}

// page gets one page of the management's list.
func (e *entraIdentity) page(ctx context.Context, at string, token provider.Secret) (gjson.Result, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return gjson.Result{}, unusable(e.provider, "the address of the list of deployments cannot be read")
	}
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	x := newExchange(ctx, e.provider, e.client.Transport)
	resp, err := x.client().Do(req)
	if err == nil {
		defer resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			refused := x.refusal(token.Scrub)
			refused.Message = fmt.Sprintf("deployments cannot be listed: %s", refused.Message)
			return gjson.Result{}, refused
		}
		var data []byte
		if data, err = io.ReadAll(resp.Body); err == nil && gjson.ValidBytes(data) { // bounded by RoundTrip
			return gjson.ParseBytes(data), nil
		}
	}
	if err == nil {
		err = &url.Error{Op: "Get", URL: at, Err: io.ErrUnexpectedEOF}
	}
	return gjson.Result{}, x.failure(err, token)
}
