package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/session"
)

// Prompt is what a user says.
type Prompt struct {
	Content  provider.Blocks // text and media
	Override session.Override
	Reject   bool           // refuse it while a turn runs, rather than queue it
	Steer    bool           // have the turn that runs take it in, rather than queue it
	Stamp    *session.Stamp // nil: two of the same are two prompts
}

// Receipt tells what became of a prompt that is now on disk.
type Receipt struct {
	Turn        session.TurnID
	Message     session.MessageID
	Disposition feed.Disposition
}

// maxQueue is how many prompts of a session may wait.
const maxQueue = 1000

// Prompt stores what a user says and starts or queues its turn; both are on disk when it returns. A prompt whose stamp
// the session has seen does nothing and gets the receipt that the first got. Errors: ErrBusy, ErrHeld, ErrCompacting, ErrQueueFull, *RoomError, session.ErrReused,
// *provider.LevelError, *MediaError, and those of the store.
func (a *Agent) Prompt(ctx context.Context, p Prompt) (Receipt, error) {
	return ask(ctx, a, func(s *state) (Receipt, error) { return s.prompt(p) })
}

// Prompted is the receipt of the prompt that bore a stamp, nil if the session remembers none. It is for whoever must know
// that before a prompt is looked at: what was once taken may be refused today. Error: session.ErrReused.
func (a *Agent) Prompted(ctx context.Context, stamp session.Stamp) (*Receipt, error) {
	return ask(ctx, a, func(s *state) (*Receipt, error) { return s.prompted(&stamp) })
}

func (s *state) prompted(stamp *session.Stamp) (*Receipt, error) {
	if stamp == nil {
		return nil, nil
	}
	t := s.view.Stamped(stamp.ID)
	if t == nil {
		return nil, nil
	}
	if err := stamp.Repeats(*t.Prompt.Stamp); err != nil {
		return nil, err
	}
	r := Receipt{Turn: t.ID, Message: t.Prompt.Message, Disposition: feed.Started}
	switch {
	case t.Prompt.Steer:
		r.Disposition = feed.Steered
	case t.Prompt.Queued:
		r.Disposition = feed.Enqueued
	}
	return &r, nil
}

func (s *state) prompt(p Prompt) (Receipt, error) {
	first, err := s.prompted(p.Stamp)
	switch {
	case err != nil:
		return Receipt{}, err
	case first != nil:
		return *first, nil
	}
	if err := s.writable(); err != nil {
		return Receipt{}, err
	}
	c, err := s.decide(s.view.Session.Settings, p.Override)
	if err != nil {
		return Receipt{}, err
	}
	if err := takes(c.model, p.Content); err != nil {
		return Receipt{}, err
	}
	busy := s.run != nil || s.compacting != nil || len(s.queue) > 0
	switch {
	case p.Reject && s.run == nil && s.compacting != nil:
		return Receipt{}, ErrCompacting
	case p.Reject && s.run == nil && s.held:
		return Receipt{}, ErrHeld
	case p.Reject && busy:
		return Receipt{}, ErrBusy
	case len(s.queue) >= maxQueue:
		return Receipt{}, ErrQueueFull
	}
	r := Receipt{Turn: session.NewTurnID(), Message: session.NewMessageID(), Disposition: feed.Started}
	var into session.TurnID
	switch {
	case p.Steer && s.run != nil:
		if err := takes(s.run.model, p.Content); err != nil {
			return Receipt{}, err
		}
		r.Disposition, into = feed.Steered, s.run.ID
	case busy:
		r.Disposition = feed.Enqueued
	}
	if r.Disposition != feed.Started {
		if err := s.roomToQueue(p.Content); err != nil {
			return Receipt{}, err
		}
	}
	content, err := s.cfg.stored(p.Content)
	if err != nil {
		return Receipt{}, err
	}
	stored := fact{r.Turn, session.Prompt{Message: r.Message, Content: content, Override: p.Override, Stamp: p.Stamp,
		Queued: busy, Steer: into != ""}, feed.PromptStored{Message: r.Message, Content: content, Disposition: r.Disposition, Into: into}}
	if r.Disposition == feed.Started {
		if err := s.record(stored, c.start(r.Turn)); err != nil {
			return Receipt{}, err
		}
		s.runTurn(r.Turn, c)
		return r, nil
	}
	if err := s.record(stored); err != nil {
		return Receipt{}, err
	}
	s.held = false
	s.tellQueue()
	return r, nil
}

// MediaError refuses media that a model does not take.
type MediaError struct {
	Model string
	Type  string
	Takes []string
}

func (e *MediaError) Error() string {
	return fmt.Sprintf("model %s does not take %s; it takes: %s", e.Model, e.Type, strings.Join(e.Takes, ", "))
}

// takes checks media against what the model's row says that it takes, if it says so.
func takes(m provider.Model, content provider.Blocks) error {
	for _, b := range content {
		media, ok := b.(provider.Media)
		if ok && m.Known && len(m.Input) > 0 && !slices.Contains(m.Input, media.Kind()) {
			return &MediaError{m.Ref(), media.Type, m.Input}
		}
	}
	return nil
}
