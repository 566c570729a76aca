package jet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// values reads the values of owners, and keeps those of the owners that were read lately. A read asks the leader for the newest value, and then any
// replica for what is new, so it shows all that was stored before it.
type values struct {
	api
	names
	mu     sync.Mutex
	owners map[person]*family
}

// family is the values of one owner, by subject. The holder of its gate may use the rest.
type family struct {
	gate
	known uint64 // up to this sequence of the stream
	by    map[string]message

	least atomic.Uint64 // see atLeast; without the gate
}

// kindForgotten is a value that says that all values before are gone.
const kindForgotten = "f"

// kindOf takes the kind and the key from a subject.
func kindOf(subject string) (kind, key string) {
	if strings.Count(subject, ".") != 7 {
		return "", ""
	}
	last := strings.LastIndexByte(subject, '.')
	return subject[strings.LastIndexByte(subject[:last], '.')+1 : last], subject[last+1:]
}

// maxFamilies is how many owners' values are kept.
const maxFamilies = 256

func (v *values) family(p person) *family {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := v.owners[p]
	if f == nil {
		for other := range v.owners { // any one goes
			if len(v.owners) < maxFamilies {
				break
			}
			delete(v.owners, other)
		}
		f = &family{gate: newGate(), by: make(map[string]message)}
		v.owners[p] = f
	}
	return f
}

// atLeast has the views of an owner show all that is stored up to a sequence. An outdated leader knows less.
func (v *values) atLeast(p person, seq uint64) {
	least := &v.family(p).least
	for known := least.Load(); known < seq && !least.CompareAndSwap(known, seq); known = least.Load() {
	}
}

// view calls f with the values of an owner, of one moment.
func (v *values) view(ctx context.Context, p person, f func(by map[string]message) error) error {
	fam := v.family(p)
	if err := fam.lock(ctx); err != nil {
		return err
	}
	defer fam.unlock()
	var last message
	var ok bool
	if err := retry(ctx, func(try int) (err error) {
		last, ok, err = v.ask(ctx, try, v.state(), get{Last: v.names.owners(p)})
		if err == nil && last.seq < fam.least.Load() {
			return errOutdated
		}
		return err
	}); err != nil {
		return err
	}
	if ok && last.seq > fam.known {
		if fam.known == 0 {
			if err := v.load(ctx, fam, p); err != nil {
				return err
			}
		}
		if err := v.forward(ctx, v.state(), v.names.owners(p), fam.known+1, last.seq, func(m message) error {
			fam.take(m)
			return nil
		}); err != nil {
			return err
		}
		fam.known = max(fam.known, last.seq)
	}
	return f(fam.by)
}

// take is for messages in order.
func (f *family) take(m message) {
	if kind, _ := kindOf(m.subject); kind == kindForgotten {
		clear(f.by)
	}
	f.by[m.subject], f.known = m, m.seq
}

// errMany says that a server does not answer so much at once.
var errMany = errors.New("too many values for one answer")

// load reads what an owner has, without a look at every message of the stream. A server answers up to 1,024 subjects. For more, the buckets are read
// one by one. Replicas may be behind, so known is what all answers show.
func (v *values) load(ctx context.Context, fam *family, p person) error {
	prefix := strings.TrimSuffix(v.names.owners(p), ">")
	list, upto, err := v.multi(ctx, prefix, 0)
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b message) int { return int(int64(a.seq) - int64(b.seq)) })
	for _, m := range list {
		fam.take(m)
	}
	fam.known = upto
	return nil
}

func (v *values) multi(ctx context.Context, prefix string, depth int) (list []message, upto uint64, err error) {
	err = retry(ctx, func(try int) error {
		var e end
		var err error
		list, e, err = v.batch(ctx, try, v.state(), get{Multi: []string{prefix + ">"}})
		switch {
		case err != nil:
			return err
		case e.status == "204" && !e.pending:
			upto = e.upto
			return nil
		case e.status == "204" || e.status == "413":
			list, upto = nil, 0
			return nil
		case e.status == "404": // nothing, or a value changed while it was read, or the replica is behind
			m, ok, err := v.ask(ctx, try, v.state(), get{Last: prefix + ">"})
			if err == nil && ok {
				err = fmt.Errorf("%s changes", m.subject)
			}
			upto = ^uint64(0)
			return err
		}
		return fmt.Errorf("status %s", e.status)
	})
	if err != nil || upto > 0 {
		return list, upto, err
	}
	if depth == 2 {
		return nil, 0, errMany
	}
	upto = ^uint64(0)
	for _, c := range "abcdefghijklmnopqrstuvwxyz234567" {
		some, at, err := v.multi(ctx, prefix+string(c)+".", depth+1)
		if err != nil {
			return nil, 0, err
		}
		list, upto = append(list, some...), min(upto, at)
	}
	return list, upto, nil
}
