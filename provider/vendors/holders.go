package vendors

import (
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/login"
)

// FindFor is Find for the sessions of a holder: with the key of the user, or otherwise that of the tenant, or otherwise the operator's.
// What it returns keeps to one of the three, so that nobody else pays within a turn.
func (p *Providers) FindFor(h login.Holder, id string) provider.Provider {
	if own := p.heldFor(h, id); own != nil {
		return own.api
	}
	return p.Find(id)
}

// StatusFor is Status for the sessions of a holder. A provider that is called with the holder's key says nothing about the operator's.
func (p *Providers) StatusFor(h login.Holder) []Status {
	list := p.Status()
	for i, c := range p.list {
		own := p.heldFor(h, c.ID)
		if own == nil {
			continue
		}
		_, whose := p.keys.Of(h, c.ID)
		s := Status{ID: c.ID, Whose: whose}
		s.Key, s.KeySource = own.source.Status()
		if _, ending := own.source.Owner(); whose == h {
			s.KeyEnding = ending
		}
		s.Available, s.Why = p.available(c, own.source)
		list[i] = s
	}
	return list
}

// SetKeyOf keeps a holder's key for a provider; the zero one removes it. Errors are those of SetKey.
func (p *Providers) SetKeyOf(h login.Holder, id string, key provider.Secret) error {
	if p.sources[id] == nil {
		return provider.ErrNoKeyNeeded
	}
	if provider.NamesVariable(key.Reveal(), p.ends[id].KeyEnv) {
		return provider.ErrVariableName
	}
	err := p.keys.SetOf(h, id, key)
	if err == nil && key.IsZero() {
		p.drop(func(by heldBy) bool { return by == heldBy{h, id} })
	}
	return err
}

// ForgetHolder removes all keys of a holder. n is how many there were. The error is that of [login.Keys.ForgetAllOf].
func (p *Providers) ForgetHolder(h login.Holder) (n int, err error) {
	if n, err = p.keys.ForgetAllOf(h); err == nil {
		p.drop(func(by heldBy) bool { return by.Holder == h })
	}
	return n, err
}

// drop forgets what has keys that were removed. Calls that run go on.
func (p *Providers) drop(gone func(heldBy) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for by, own := range p.held {
		if gone(by) {
			delete(p.held, by)
			go own.source.Close() // ends within closeLimit
		}
	}
}

// PayerFor is Payer for the sessions of a holder. own reports whether the holder pays, or the holder's tenant.
func (p *Providers) PayerFor(h login.Holder, id, key string) (by provider.Payer, account string, own, known bool) {
	if key == "" {
		if held := p.heldFor(h, id); held != nil {
			account, _ := held.source.Owner()
			_, whose := p.keys.Of(h, id)
			return provider.Payer{Kind: provider.PaidByKey, Name: nameOf(whose)}, account, true, true
		}
	}
	by, account, known = p.Payer(id, key)
	return by, account, false, known
}

// nameOf is what people read about whose key it is.
func nameOf(h login.Holder) string {
	switch {
	case h == (login.Holder{}):
		return "the operator's keys"
	case h.User == "":
		return "the tenant's keys"
	}
	return "the user's keys"
}
