package daemon

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/thinkd/thinkd/agent"
	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/provider/login"
	"github.com/thinkd/thinkd/provider/vendors"
	"github.com/thinkd/thinkd/registry"
	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/rpc/service"
	"github.com/thinkd/thinkd/session"
)

// models are the providers and the lists of their models. Its methods answer clients in the words of the protocol.
type models struct {
	providers *vendors.Providers
	lists     *vendors.Listings
	log       *slog.Logger
}

// openModels knows the providers of a config, and what is kept of their models. Who opens them closes the providers.
func openModels(c config.Config, keys *login.Keys, value durable.Value, log *slog.Logger) (*models, error) {
	listed := vendors.ReadKept(value, log)
	catalog, err := listed.Catalog(c.Providers, nil)
	if err != nil {
		return nil, err
	}
	m := &models{providers: vendors.Open(c.Providers, c.Dialects, keys, catalog, log), log: log}
	if m.lists, err = vendors.OpenListings(c.Providers, c.ModelsDev, listed, m.providers, value, log); err != nil {
		return nil, errors.Join(err, m.providers.Close())
	}
	return m, nil
}

// defaultModel is what a new session gets if its client names no model: the config's, or that of the first provider that can be
// called by its owner.
func (m *models) defaultModel(c config.Config, o session.Owner) session.ModelRef {
	if c.Model != "" {
		if row, err := m.lists.Current().Find(c.Model); err == nil {
			return session.ModelRef{Provider: row.Provider, ID: row.ID}
		}
	}
	id, model := m.providers.DefaultModel(login.Holder(o), m.lists.Current().Catalog().ModelsOf)
	return session.ModelRef{Provider: id, ID: model}
}

// status is that of the providers as an owner calls them.
func (m *models) status(settings *registry.Settings, o session.Owner) []service.ProviderStatus {
	var list []service.ProviderStatus
	for _, s := range m.providers.StatusFor(login.Holder(o)) {
		status := service.ProviderStatus{ID: s.ID, Available: s.Available, Why: s.Why, Auth: s.Key, AuthSource: s.KeySource, KeyEnding: s.KeyEnding, Keys: s.Keys, Egress: m.providers.Egress(s.ID), Login: s.Login, LoginSet: s.LoginSet, Limits: s.Limits,
			Defaults: settings.Defaults(s.ID)}
		switch {
		case s.Whose == (login.Holder{}):
			if by := m.payer(s.ID, ""); by != nil {
				status.Payer = &by.Payer
			}
		case s.Whose.User == "":
			status.Scope = service.KeyOfTenant
		default:
			status.Scope = service.KeyOfUser
		}
		list = append(list, status)
	}
	return list
}

func (m *models) setKey(id, name string, key provider.Secret) error {
	return m.notKept(m.providers.SetKey(id, name, key))
}

// setOwnKey stores or removes the key of a user, or that of the user's tenant.
func (m *models) setOwnKey(o session.Owner, scope service.KeyScope, id string, key provider.Secret) error {
	h := login.Holder(o)
	if scope == service.KeyOfTenant {
		h = h.ForTenant()
	}
	return m.notKept(m.providers.SetKeyOf(h, id, key))
}

// forget removes the keys that a user has stored.
func (m *models) forget(o session.Owner) (n int, err error) {
	n, err = m.providers.ForgetHolder(login.Holder(o))
	return n, m.notKept(err)
}

// ownKeys are those of users, for the agents.
func (m *models) ownKeys() *agent.OwnKeys {
	return &agent.OwnKeys{
		Provider: func(o session.Owner, id string) provider.Provider { return m.providers.FindFor(login.Holder(o), id) },
		Payer: func(o session.Owner, id, key string) (by *session.Payer, own bool) {
			p, account, own, known := m.providers.PayerFor(login.Holder(o), id, key)
			if !known {
				return nil, false
			}
			return &session.Payer{Payer: p, Account: account}, own
		},
	}
}

func (m *models) login(ctx context.Context, id string, show func(rpc.LoginPrompt)) error {
	return m.notKept(m.providers.Login(ctx, id, func(said login.Prompt) { show(rpc.LoginPrompt(said)) }))
}

// notKept is ErrReadOnly, which clients know, for an error of the file of keys.
func (m *models) notKept(err error) error {
	if errors.Is(err, login.ErrNotKept) {
		m.log.Error("keys cannot be written", "err", err)
		return session.ErrReadOnly
	}
	return err
}

// learn keeps what a refusal said of a model.
func (m *models) learn(of session.ModelRef, said provider.Learned) {
	m.lists.Learn(of.Provider, of.ID, said)
}

// payer is who pays for a provider's calls with a key from now on; nil: that is not known.
func (m *models) payer(id, key string) *session.Payer {
	by, account, known := m.providers.Payer(id, key)
	if !known {
		return nil
	}
	return &session.Payer{Payer: by, Account: account}
}

// links are the fallbacks of the config.
func links(list []registry.FallbackModel) (links []session.Link) {
	for _, f := range list {
		id, model, _ := strings.Cut(f.Model, "/")
		links = append(links, session.Link{Model: session.ModelRef{Provider: id, ID: model}, Level: f.Level, Key: f.Key})
	}
	return links
}
