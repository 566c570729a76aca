package agent

import (
	"fmt"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// retiresSoon is how long before a model's end its sessions are warned.
const retiresSoon = 60 * 24 * time.Hour

// warnRetirement warns once of each model that is retired, or will be within retiresSoon. The vendor decides what it
// serves: the call is made.
func (s *state) warnRetirement() {
	r := s.run
	if s.told.retires == r.ref() {
		return
	}
	if text := retirement(r.model, time.Now()); text != "" {
		s.told.retires = r.ref()
		s.tell(r.ID, Notice{Warning, noticeRetires, text})
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
