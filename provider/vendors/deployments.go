package vendors

import (
	"context"
	"net/http"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/exchange"
	"github.com/thinkd/thinkd/provider/identity"
	"github.com/thinkd/thinkd/registry"
)

// deployments lists the deployments of a provider on Azure, with what the catalog knows of the models behind their names.
type deployments struct {
	Config
	catalog *registry.Catalog
}

// Models is empty of facts for a model that the catalog does not know.
func (d deployments) Models(ctx context.Context) ([]provider.Model, error) {
	entra, _ := d.Identity.(identity.Entra)
	client := exchange.NewClient(connect(d.Network))
	defer client.CloseIdleConnections()
	found, err := entra.Deployments(ctx, d.ID, &http.Client{Transport: client.Transport})
	if err != nil {
		return nil, err
	}
	var list []provider.Model
	for _, one := range found {
		m := d.catalog.Model(d.ID, one.Model)
		if m.Name == "" || !m.Known {
			m = provider.Model{Provider: d.ID, Tools: true}
		}
		m.ID, m.Name = one.Name, one.Name
		if one.Model != "" && one.Model != one.Name {
			m.Name = one.Name + " (" + one.Model + ")"
		}
		m.Source, m.AsOf = provider.FromRefreshed, provider.Today()
		list = append(list, m)
	}
	return list, nil
}
