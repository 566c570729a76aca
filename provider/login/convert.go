package login

import (
	"fmt"

	"github.com/thinkd/thinkd/provider"
)

var _ provider.Converter = (*Keyed)(nil)

// Convert returns how a request with the current credential sends earlier thinking: some thinking is bound to an account. It makes no
// call. If a credential would need one, the error is provider.ErrNotKnownYet.
func (k *Keyed) Convert(req *provider.Request) (provider.Conversion, error) {
	cred, ok := k.source.known(req.Key)
	if !ok {
		return provider.Conversion{}, provider.ErrNotKnownYet
	}
	adapter, err := k.at(cred)
	if err != nil {
		return provider.Conversion{}, err
	}
	c, ok := adapter.(provider.Converter)
	if !ok {
		return provider.Conversion{}, fmt.Errorf("provider %s: its API %q: %w", req.Model.Provider, req.Model.API, provider.ErrNotKnownYet)
	}
	return c.Convert(req)
}

var _ provider.Outliner = (*Keyed)(nil)

// Outline is what would be sent with the current credential, as in Convert.
func (k *Keyed) Outline(req *provider.Request) (provider.Outline, error) {
	cred, ok := k.source.known(req.Key)
	if !ok {
		return provider.Outline{}, provider.ErrNotKnownYet
	}
	adapter, err := k.at(cred)
	if err != nil {
		return provider.Outline{}, err
	}
	return provider.OutlineOf(adapter, req)
}

var _ provider.MediaTaker = (*Keyed)(nil)

// TakesMedia is what the adapter for the current credential takes, as in Convert.
func (k *Keyed) TakesMedia(m provider.Model) ([]string, bool) {
	cred, ok := k.source.known("")
	if !ok {
		return nil, false
	}
	adapter, err := k.at(cred)
	if err != nil {
		return nil, false
	}
	return provider.TakesMedia(adapter, m)
}

var _ provider.Returner = (*Keyed)(nil)

// Returns reports whether thinking is returned with the current credential. Without a credential none is.
func (k *Keyed) Returns(req *provider.Request, b provider.Thinking, late provider.State, calls bool) bool {
	cred, ok := k.source.known(req.Key)
	if !ok {
		return false
	}
	adapter, err := k.at(cred)
	if err != nil {
		return false
	}
	r, ok := adapter.(provider.Returner)
	return ok && r.Returns(req, b, late, calls)
}

// known returns the credential if it needs no call. name is that of a further key; empty: the first.
func (s *Source) known(name string) (Credential, bool) {
	if name != "" {
		cred, err := s.named(name)
		return cred, err == nil
	}
	g, _ := s.grant()
	if s.config.Flow == nil {
		return Credential{Key: g.Token}, true
	}
	if g.IsZero() {
		return Credential{}, false
	}
	if c, ok := s.config.Flow.Direct(g); ok {
		return c, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.identity && s.have.Key.IsZero() { // the account is known before the first token
		return Credential{Account: s.config.Identity.Account()}, true
	}
	return s.have, s.of == g.Token && !s.have.Key.IsZero()
}
