package jet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/lease"
)

// headName is the header that says what a message of a log is.
const headName = "Thinkd"

// partSize is the longest body of one message. Servers take messages of 1 MiB, with their headers.
const partSize = 512 << 10

// message is a stored one.
type message struct {
	seq     uint64
	subject string
	head    string // of headName
	data    []byte
}

// api is the part of JetStream's that the store uses: requests and answers, without consumers. A read is answered by the leader, except
// where it says otherwise: a replica may be behind.
type api struct{ link Link }

// The errors of JetStream that have a meaning here; see the list in the server's errors.json.
const (
	errNoMessage    = 10037
	errSize         = 10054
	errNameInUse    = 10058
	errWrongLast    = 10071
	errStoreFailed  = 10077
	errInFlight     = 10164
	errNoStream     = 10059
	errTextMaxBytes = "maximum bytes exceeded"
)

type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (e *apiError) Error() string { return fmt.Sprintf("JetStream: %s (%d)", e.Description, e.ErrCode) }

// errFull is the reason of an error that is ErrReadOnly.
var errFull = errors.New("the stream has no space left")

// write says how a message is to be stored.
type write struct {
	after  *uint64 // the sequence of the last message of the subject; nil: any
	head   string
	rollup bool // remove the messages before
	ttl    time.Duration
}

// publish makes one try to store a message. Every answer that is not listed means that it is not known whether the message was, or will be,
// stored. full says that the stream has no space left.
func (a api) publish(ctx context.Context, try int, subject string, w write, data []byte) (answer lease.Answer, seq uint64, full bool) {
	m := nats.NewMsg(subject)
	m.Data = data
	if w.after != nil {
		m.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(*w.after, 10))
	}
	if w.head != "" {
		m.Header.Set(headName, w.head)
	}
	if w.rollup {
		m.Header.Set("Nats-Rollup", "sub")
	}
	if w.ttl > 0 {
		m.Header.Set("Nats-TTL", w.ttl.String())
	}
	reply, err := a.link.Request(ctx, try, m)
	if err != nil {
		return lease.Silence, 0, false
	}
	var ack struct {
		Error *apiError `json:"error"`
		Seq   uint64    `json:"seq"`
	}
	switch err := json.Unmarshal(reply.Data, &ack); {
	case err != nil:
		return lease.Silence, 0, false
	case ack.Error == nil && ack.Seq > 0:
		return lease.Stored, ack.Seq, false
	case ack.Error == nil:
		return lease.Silence, 0, false
	case ack.Error.ErrCode == errWrongLast, ack.Error.ErrCode == errInFlight:
		return lease.Conflict, 0, false
	case ack.Error.ErrCode == errSize:
		return lease.Refused, 0, false
	case ack.Error.ErrCode == errStoreFailed && ack.Error.Description == errTextMaxBytes: // the leader says so before it proposes anything
		return lease.Refused, 0, true
	}
	return lease.Silence, 0, false
}

// call makes one try of a request whose answer is JSON.
func (a api) call(ctx context.Context, try int, what string, ask, answer any) error {
	data, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	reply, err := a.link.Request(ctx, try, &nats.Msg{Subject: "$JS.API." + what, Data: data})
	if err != nil {
		return err
	}
	var failed struct {
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &failed); err != nil {
		return err
	}
	if failed.Error != nil {
		return failed.Error
	}
	return json.Unmarshal(reply.Data, answer)
}

// get is what a read asks for.
type get struct {
	Seq      uint64   `json:"seq,omitempty"`
	Last     string   `json:"last_by_subj,omitempty"`
	Next     string   `json:"next_by_subj,omitempty"`
	Batch    int      `json:"batch,omitempty"`
	MaxBytes int      `json:"max_bytes,omitempty"` // of a batch; it has at least one message
	Multi    []string `json:"multi_last,omitempty"`
}

// ask makes one try to read a message at the leader. ok is false if there is none.
func (a api) ask(ctx context.Context, try int, stream string, g get) (m message, ok bool, err error) {
	var answer struct {
		Message struct {
			Subject string `json:"subject"`
			Seq     uint64 `json:"seq"`
			Headers []byte `json:"hdrs"`
			Data    []byte `json:"data"`
		} `json:"message"`
	}
	err = a.call(ctx, try, "STREAM.MSG.GET."+stream, g, &answer)
	if failed := (*apiError)(nil); errors.As(err, &failed) && failed.ErrCode == errNoMessage {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	m = message{seq: answer.Message.Seq, subject: answer.Message.Subject, data: answer.Message.Data}
	if len(answer.Message.Headers) > 0 {
		header, err := nats.DecodeHeadersMsg(answer.Message.Headers)
		if err != nil {
			return m, false, fmt.Errorf("%w: message %d of %s: %w", session.ErrDamaged, m.seq, stream, err)
		}
		m.head = header.Get(headName)
	}
	return m, m.seq > 0, nil
}

// patience is how long a read is tried again. An election takes 4 to 10 s.
const patience = 15 * time.Second

// finalError ends a retry.
type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }

// retry calls f until it succeeds, with another connection each time.
func retry(ctx context.Context, f func(try int) error) error {
	for try, since := 0, time.Now(); ; try++ {
		err := f(try)
		if final := (*finalError)(nil); errors.As(err, &final) {
			return final.err
		}
		if err == nil || errors.Is(err, session.ErrDamaged) {
			return err
		}
		if ended := context.Cause(ctx); ended != nil {
			return ended
		}
		if time.Since(since) > patience {
			return gaveUpAfter(err)
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// gaveUpAfter is the error of a request whose last try had one: the servers did not answer, or they refuse.
func gaveUpAfter(err error) error {
	if refused := (*apiError)(nil); errors.As(err, &refused) || errors.Is(err, errFull) {
		return fmt.Errorf("%w: after %v: %w", session.ErrReadOnly, patience, err)
	}
	return fmt.Errorf("%w: %w in %v: %w", session.ErrReadOnly, session.ErrNoAnswer, patience, err)
}

// pause waits before another try: 50 to 500 ms.
func pause(ctx context.Context, try int) error {
	timer := time.NewTimer(min(50*time.Millisecond<<min(try, 8), 500*time.Millisecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// read is ask, until there is an answer.
func (a api) read(ctx context.Context, stream string, g get) (m message, ok bool, err error) {
	err = retry(ctx, func(try int) (err error) {
		m, ok, err = a.ask(ctx, try, stream, g)
		return err
	})
	return m, ok, err
}

// last is the last message of a subject, which may have wildcards.
func (a api) last(ctx context.Context, stream, subject string) (message, bool, error) {
	return a.read(ctx, stream, get{Last: subject})
}

// errOutdated says that a leader knows less than another one has answered.
var errOutdated = errors.New("the leader is outdated")

// since reads the messages of a subject from one sequence to another, in order, of which some may have been removed or replaced meanwhile. The leader has
// said that there was one at the last sequence. It is one try.
func (a api) since(ctx context.Context, try int, stream, subject string, from, last uint64) (all []message, err error) {
	for from <= last {
		list, _, err := a.batch(ctx, try, stream, get{Seq: from, Next: subject, Batch: pageMessages})
		if err != nil {
			return nil, err
		}
		if len(list) == 0 { // the replica is behind, or nothing is left
			m, ok, err := a.ask(ctx, try, stream, get{Seq: from, Next: subject})
			if err != nil {
				return nil, err
			}
			if !ok {
				return all, nil
			}
			list = []message{m}
		}
		all, from = append(all, list...), list[len(list)-1].seq+1
	}
	return all, nil
}

// exact is a message by its sequence. Any replica that has it may answer: messages do not change.
func (a api) exact(ctx context.Context, stream string, seq uint64) (message, bool, error) {
	data, err := json.Marshal(get{Seq: seq})
	if err != nil {
		return message{}, false, err
	}
	reply, err := a.link.Request(ctx, 0, &nats.Msg{Subject: "$JS.API.DIRECT.GET." + stream, Data: data})
	if err == nil && reply.Header.Get("Status") == "" {
		if m, err := direct(reply); err == nil {
			return m, true, nil
		}
	}
	return a.read(ctx, stream, get{Seq: seq}) // the replica is behind, or gone
}

// direct reads an answer of a replica.
func direct(m *nats.Msg) (message, error) {
	seq, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	return message{seq, m.Header.Get("Nats-Subject"), m.Header.Get(headName), m.Data}, err
}

// end is how the answer to a batch ended.
type end struct {
	status  string // 204, or another one if there was nothing to read
	pending bool   // there is more
	upto    uint64 // of Multi: the answer shows the stream up to here
}

// batch is one try of a read of several messages at any replica, which may be behind.
func (a api) batch(ctx context.Context, try int, stream string, g get) (list []message, e end, err error) {
	data, err := json.Marshal(g)
	if err != nil {
		return nil, e, err
	}
	answers, err := a.link.Collect(ctx, try, &nats.Msg{Subject: "$JS.API.DIRECT.GET." + stream, Data: data})
	if err != nil {
		return nil, e, err
	}
	for _, answer := range answers {
		if e.status = answer.Header.Get("Status"); e.status != "" {
			e.pending = answer.Header.Get("Nats-Num-Pending") != "0"
			if word := answer.Header.Get("Nats-UpTo-Sequence"); word != "" {
				e.upto, err = strconv.ParseUint(word, 10, 64)
			}
			return list, e, err
		}
		m, err := direct(answer)
		if err != nil {
			return nil, e, err
		}
		list = append(list, m)
	}
	return nil, e, errors.New("an answer of JetStream has no end")
}

// pageMessages is how many messages one batch has at most.
const pageMessages = 256

// forward calls f with the messages of a subject from one sequence to another, in order. The caller knows that there is a message at upto.
func (a api) forward(ctx context.Context, stream, subject string, from, upto uint64, f func(message) error) error {
	for from <= upto {
		var list []message
		err := retry(ctx, func(try int) (err error) {
			if list, _, err = a.batch(ctx, try, stream, get{Seq: from, Next: subject, Batch: pageMessages}); err != nil {
				return err
			}
			if len(list) == 0 { // the replica is behind: ask the leader for one
				m, ok, err := a.ask(ctx, try, stream, get{Seq: from, Next: subject})
				if err != nil {
					return err
				}
				if !ok {
					return fmt.Errorf("%w: message %d of %s is missing", session.ErrDamaged, upto, stream)
				}
				list = []message{m}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, m := range list {
			if m.seq > upto {
				return nil
			}
			if err := f(m); err != nil {
				return err
			}
			from = m.seq + 1
		}
	}
	return nil
}

// cas changes the last message of a subject. change gets it, and returns what replaces it; nil: nothing is to change. It may run several times, also
// on what it has returned itself, because a message that was stored need not be acknowledged. It returns the last message.
func (a api) cas(ctx context.Context, stream, subject string, change func(old message, ok bool) ([]byte, error)) (message, error) {
	return a.casFor(ctx, stream, subject, 0, change)
}

// casFor is cas for a stream in which a message without a body goes after some time; 0: it stays.
func (a api) casFor(ctx context.Context, stream, subject string, empty time.Duration, change func(old message, ok bool) ([]byte, error)) (m message, err error) {
	err = retry(ctx, func(try int) error {
		for n := 0; ; n++ {
			old, ok, err := a.ask(ctx, try, stream, get{Last: subject})
			if err != nil {
				return err
			}
			data, err := change(old, ok)
			if err == nil && len(data) > partSize {
				err = fmt.Errorf("a value of %d KiB: at most %d can be stored", len(data)>>10, partSize>>10)
			}
			if err != nil {
				return &finalError{err}
			}
			if m = old; data == nil {
				return nil
			}
			w := write{after: &old.seq}
			if len(data) == 0 {
				w.ttl = empty
			}
			answer, seq, full := a.publish(ctx, try, subject, w, data)
			switch {
			case answer == lease.Stored:
				m = message{seq: seq, subject: subject, data: data}
				return nil
			case answer == lease.Conflict && n < 100: // somebody else was first
				continue
			case full:
				return errFull
			}
			return errors.New("no acknowledgement")
		}
	})
	return m, err
}

// purge removes the messages of a subject before a sequence; 0: all.
func (a api) purge(ctx context.Context, stream, subject string, before uint64) error {
	ask := struct {
		Filter string `json:"filter"`
		Seq    uint64 `json:"seq,omitempty"`
	}{subject, before}
	return retry(ctx, func(try int) error { return a.call(ctx, try, "STREAM.PURGE."+stream, ask, &struct{}{}) })
}

// stream is the config of a stream. Durations are in nanoseconds.
type stream struct {
	Name        string        `json:"name"`
	Subjects    []string      `json:"subjects"`
	Retention   string        `json:"retention"`
	Storage     string        `json:"storage"`
	Replicas    int           `json:"num_replicas"`
	MaxBytes    int64         `json:"max_bytes"`
	MaxMsgs     int64         `json:"max_msgs"`
	MaxAge      time.Duration `json:"max_age"`
	PerSubject  int64         `json:"max_msgs_per_subject"`
	Discard     string        `json:"discard"`
	AllowDirect bool          `json:"allow_direct"`
	AllowRollup bool          `json:"allow_rollup_hdrs"`
	AllowTTL    bool          `json:"allow_msg_ttl"`
	DenyDelete  bool          `json:"deny_delete"`
	DenyPurge   bool          `json:"deny_purge"`
	Consumers   int           `json:"max_consumers"`
}

// create makes a stream, unless it is there. Its settings are then left as they are: an operator may have changed them.
func (a api) create(ctx context.Context, s stream) error {
	s.Retention, s.MaxMsgs, s.AllowDirect, s.Consumers = "limits", -1, true, -1
	return retry(ctx, func(try int) error {
		err := a.call(ctx, try, "STREAM.CREATE."+s.Name, s, &struct{}{})
		if failed := (*apiError)(nil); errors.As(err, &failed) && failed.ErrCode == errNameInUse {
			return nil
		}
		return err
	})
}
