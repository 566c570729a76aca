package agent

import (
	"fmt"
	"time"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/registry"
)

// retiresSoon is how long before a model's end its sessions are warned.
const retiresSoon = 60 * 24 * time.Hour

// warnRetirement warns once of each model that is retired, or will be within retiresSoon. The vendor decides what it
// serves: the call is made.
func (s *state) warnRetirement() {
	r := s.run
	if s.told.retires == r.ref() && s.told.answers == r.model.As {
		return
	}
	if text := retirement(r.model, time.Now()); text != "" {
		s.told.retires, s.told.answers = r.ref(), r.model.As
		s.tell(r.ID, warn(noticeRetires, text))
	}
}

// retirement says when a model retires and what to do, or nothing if that is far away or not known.
func retirement(m provider.Model, now time.Time) string {
	l := m.Lifecycle
	if l == nil {
		return ""
	}
	day, err := time.Parse(time.DateOnly, l.Retires)
	if err != nil && l.State != provider.LifecycleRetired || err == nil && now.Before(day.Add(-retiresSoon)) {
		return ""
	}
	text := fmt.Sprintf("%s retires on %s.", m.Ref(), l.Retires)
	switch {
	case err != nil:
		text = fmt.Sprintf("%s is retired.", m.Ref())
	case !now.Before(day):
		text = fmt.Sprintf("%s was retired on %s.", m.Ref(), l.Retires)
	}
	switch {
	case l.Gone:
		return "" // the turn ends with it
	case l.Redirects && l.ReplacedBy != "":
		return text + fmt.Sprintf(" From that day %s answers under its name, by its own rules: choose a model.", l.ReplacedBy)
	}
	return text + " " + l.Succession()
}

// gone is why a model is not called: the vendor's list or a refusal says that it is retired. A date or a row of the
// catalog is not enough: the vendor decides what it serves.
func gone(m provider.Model) error {
	if m.Lifecycle == nil || !m.Lifecycle.Gone {
		return nil
	}
	f := m.Facts.Lifecycle
	why := fmt.Sprintf("%s is retired: so says the %s", m.ID, f.Source)
	if f.AsOf != "" {
		why += " on " + f.AsOf
	}
	return &provider.Error{API: m.API, Provider: m.Provider, Kind: provider.KindBadRequest, Subject: provider.SubjectModel,
		Message: why + ". " + m.Lifecycle.Succession()}
}

// learnRetired takes a refusal of the model for its end, if that is known to have come.
func (s *state) learnRetired(pe *provider.Error) {
	m := s.run.model
	l := m.Lifecycle
	if s.cfg.Learned == nil || pe.Subject != provider.SubjectModel || pe.Status < 400 || l == nil || l.Gone {
		return
	}
	if l.State == provider.LifecycleRetired || l.Retires != "" && l.Retires <= time.Now().UTC().Format(time.DateOnly) {
		s.cfg.Learned(s.run.ref(), provider.Learned{Retired: true})
	}
}

// followRedirect gives the running turn the rules of the model that answers under its model's name since today: a turn
// may run over the day on which the vendor redirects the name.
func (s *state) followRedirect() {
	r := s.run
	now := s.kept(s.cfg.Catalog.Model(r.model.Provider, r.model.ID))
	if now.As == r.model.As {
		return
	}
	ask := registry.Ask{Source: r.decision.Source, Policy: r.decision.Fallback, Display: r.decision.Control.Display}
	if r.decision.Source != provider.SourceModel && r.decision.Source != provider.SourceUnset {
		ask.Level = r.decision.Requested
	}
	decision, err := registry.Resolve(ask, now)
	if err != nil { // the policy refuses: the nearest level is better than the end of a turn that runs
		ask.Policy = provider.Downgrade
		if decision, err = registry.Resolve(ask, now); err != nil {
			r.log.Error("no level for a redirected model", "model", now.Ref(), "err", err)
			return
		}
	}
	r.model, r.decision = now, decision
	if wire, err := r.provider.Wire(s.asked(r.choice)); err == nil {
		r.decision.Wire = wire
	}
	s.warnRetirement()
}
