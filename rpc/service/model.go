package service

import (
	"slices"
	"strings"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/wire"
	"github.com/thinkd/thinkd/session"
)

// Model finds the model that a client names. If it names the provider separately, the id may have that in front or not.
func (c Caller) Model(id, providerID string) (session.ModelRef, error) {
	catalog := c.config.Catalog
	if providerID != "" {
		if !slices.Contains(catalog.Providers(), providerID) {
			return session.ModelRef{}, NoProvider(providerID, catalog.Providers())
		}
		if !catalog.Model(providerID, id).Known { // else it is the vendor's own id, slashes and all
			id = strings.TrimPrefix(id, providerID+"/")
		}
		id = providerID + "/" + id
	}
	m, err := catalog.Find(id)
	return session.ModelRef{Provider: m.Provider, ID: m.ID}, err
}

// NoProvider returns the error for a provider that does not exist.
func NoProvider(id string, candidates []string) *conn.Error {
	text := "no such provider: " + wire.Characters(id, 100)
	if len(candidates) > 0 {
		text += "; there are: " + strings.Join(candidates, ", ")
	}
	return &conn.Error{Code: conn.CodeNoModel, Message: text,
		Data: map[string]any{"candidates": append([]string{}, candidates...)}}
}
