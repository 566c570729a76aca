package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/agent/transcript"
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

// noticeMissing says that a model is sent a sentence in place of an image or a document that is not there any more.
const noticeMissing = "media_missing"

// stored is what the log keeps of content: media are kept once beside it, and it has their names. So they take no memory
// until a request needs them.
func (cfg Config) stored(content provider.Blocks) (provider.Blocks, error) {
	if cfg.Blobs == nil {
		return content, nil
	}
	kept := slices.Clone(content)
	for i, b := range kept {
		media, ok := b.(provider.Media)
		if !ok {
			continue
		}
		hash, err := cfg.Blobs.Keep(media.Data)
		if err != nil {
			return nil, err
		}
		kept[i] = provider.Media{Type: media.Type, Hash: hash, Size: len(media.Data), State: media.State}
	}
	return kept, nil
}

// result is stored for the result of a tool, which goes on without what cannot be kept.
func (s *state) result(content provider.Blocks) provider.Blocks {
	kept, err := s.cfg.stored(content)
	if err == nil {
		return kept
	}
	s.log.Warn("the media of a result could not be stored", "err", err)
	kept = slices.Clone(content)
	for i, b := range kept {
		if media, ok := b.(provider.Media); ok {
			kept[i] = provider.Text{Text: fmt.Sprintf("[%s was left out: it could not be kept]", media.Type)}
		}
	}
	return kept
}

// load reads the media that a request refers to. What cannot be read is logged, and is a notice.
func (cfg Config) load(req *provider.Request) (notices []provider.Notice) {
	for _, lost := range transcript.LoadMedia(cfg.Blobs, req) {
		m := lost.Media
		cfg.Log.Warn("media", "hash", m.Hash, "err", lost.Err)
		notices = append(notices, provider.Notice{Kind: noticeMissing,
			Text: fmt.Sprintf("%s of %d bytes is missing or damaged; the model gets a sentence in its place: %.12s", m.Type, m.Size, m.Hash)})
	}
	return notices
}

// maxToolMedia is in bytes, of one image or document of a result.
const maxToolMedia = 5 << 20

// fitting is a result as a model gets it: text up to a limit, of which the beginning and the end are kept, and media that
// the model takes. A sentence replaces what is left out.
func (s *state) fitting(content provider.Blocks) provider.Blocks {
	out := provider.Blocks{}
	room := s.cfg.Limits.ToolOutput
	for _, b := range content {
		switch b := b.(type) {
		case provider.Text:
			text := transcript.Abridged(b.Text, room, "the output is longer than a result may be")
			room = max(room-len(text), 0)
			out = append(out, provider.Text{Text: text})
		case provider.Media:
			switch {
			case len(b.Data) > maxToolMedia:
				out = append(out, provider.Text{Text: fmt.Sprintf("[%s of %d bytes was left out: it is too large]", b.Type, len(b.Data))})
			case takes(s.run.model, provider.Blocks{b}) != nil:
				out = append(out, provider.Text{Text: fmt.Sprintf("[%s was left out: the model does not take it]", b.Type)})
			default:
				out = append(out, b)
			}
		default:
			out = append(out, provider.Text{Text: fmt.Sprintf("[%s was left out: a result has text and media]", provider.KindOf(b))})
		}
	}
	return out
}
