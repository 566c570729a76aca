package jet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/thinkd/thinkd/session"
)

// A log is read along its chain: each message has the sequence and the digest of the one before. Whatever was read is checked, so a hole,
// a change or a foreign message is ErrDamaged. A lost end cannot be seen in this way; see package lease for that.
//
// A stream has the logs of many sessions. If little of others is between the ends of what is to be read, the server looks for the messages
// of the subject, forward and in batches. Otherwise the log is read backward, by sequence, until a message has a map of what is before it:
//
//	first ... map ◄── ... map ◄── ... map ◄─ back ◄─ back ◄─ last
const (
	// nearSpan is how many messages of a stream, of all sessions, a server may look through.
	nearSpan = 20_000

	// mapEvery is how many messages commit between two maps.
	mapEvery = 128
)

// reader reads logs.
type reader struct {
	api
	*cache
	near uint64 // nearSpan
}

// lastOf is the newest message of a log. ok is false if there is no session: no message commits, or the last is a tombstone.
func (r reader) lastOf(ctx context.Context, p place) (last found, ok bool, err error) {
	m, there, err := r.last(ctx, p.stream, p.subject)
	if err != nil || !there {
		return last, false, err
	}
	if last, err = p.parse(m); err != nil {
		return last, false, err
	}
	return last, last.exists(), nil
}

// exists reports whether a log has a session, as its last message says.
func (f found) exists() bool { return !f.Deleted && (f.commits() || f.Base != 0) }

// at is the message with a sequence.
func (r reader) at(ctx context.Context, p place, seq uint64) (f found, err error) {
	m, ok, err := r.exact(ctx, p.stream, seq)
	if err != nil {
		return f, err
	}
	if !ok || m.subject != p.subject {
		return f, damaged(p, "message %d of %s is missing", seq, p.stream)
	}
	return p.parse(m)
}

// base is the newest message that commits.
func (r reader) base(ctx context.Context, p place, last found) (found, error) {
	if last.commits() {
		return last, nil
	}
	return r.at(ctx, p, last.Base)
}

// whole is the body of an append, by its last message.
func (r reader) whole(ctx context.Context, p place, f found) (body, error) {
	if b, ok := r.cache.body(p, f.seq); ok {
		return b, nil
	}
	parts := [][]byte{f.body}
	for after := f; len(parts) < f.Parts; {
		part, err := r.at(ctx, p, after.Back)
		if err != nil {
			return body{}, err
		}
		if part.Part != after.Part-1 || part.Parts != f.Parts || part.digest() != after.Prev {
			return body{}, damaged(p, "message %d of %s is not part %d of %d", part.seq, p.stream, after.Part-1, f.Parts)
		}
		parts, after = append(parts, part.body), part
	}
	slices.Reverse(parts)
	return r.decode(p, f, parts)
}

func (r reader) decode(p place, f found, parts [][]byte) (body, error) {
	data := parts[0]
	if len(parts) > 1 {
		data = slices.Concat(parts...)
	}
	b, err := decodeBody(data)
	if err != nil || len(b.entries) != f.N {
		return body{}, damaged(p, "message %d of %s has %d entries of %d: %v", f.seq, p.stream, len(b.entries), f.N, err)
	}
	r.keep(p, f.seq, b)
	return b, nil
}

// itemBody is the body of a message that a directory names.
func (r reader) itemBody(ctx context.Context, p place, it item) (body, error) {
	if b, ok := r.cache.body(p, it.Seq); ok {
		return b, nil
	}
	f, err := r.at(ctx, p, it.Seq)
	if err != nil {
		return body{}, err
	}
	if f.digest() != it.Digest {
		return body{}, damaged(p, "message %d of %s was changed", it.Seq, p.stream)
	}
	return r.whole(ctx, p, f)
}

// items are the messages of a log that commit, up to last.
func (r reader) items(ctx context.Context, p place, last found) ([]item, error) {
	d := r.directory(p)
	if err := d.lock(ctx); err != nil {
		return nil, err
	}
	defer d.unlock()
	if err := r.extend(ctx, p, d, last); err != nil {
		r.forget(p.ref)
		return nil, err
	}
	return d.items, nil
}

// extend reads what a directory lacks.
func (r reader) extend(ctx context.Context, p place, d *directory, last found) error {
	from := d.tail + 1
	if d.tail == 0 {
		from = last.oldest()
	}
	if from > last.seq {
		return nil
	}
	if last.seq-from > r.near {
		return r.backward(ctx, p, d, last)
	}
	return r.onward(ctx, p, d, from, last)
}

// onward reads forward.
func (r reader) onward(ctx context.Context, p place, d *directory, from uint64, last found) error {
	var parts [][]byte
	return r.forward(ctx, p.stream, p.subject, from, last.seq, func(m message) error {
		f, err := p.parse(m)
		if err != nil {
			return err
		}
		if d.tail != 0 && (f.Back != d.tail || f.Prev != d.chain) {
			return damaged(p, "message %d of %s does not follow message %d", f.seq, p.stream, d.tail)
		}
		first := d.tail == 0
		d.tail, d.chain = f.seq, f.digest()
		if f.Part == 1 {
			parts = nil
		}
		parts = append(parts, f.body)
		if !f.commits() {
			return nil
		}
		if len(parts) == f.Parts {
			if _, err := r.decode(p, f, parts); err != nil {
				return err
			}
		} else if !first {
			return damaged(p, "message %d of %s has %d parts of %d", f.seq, p.stream, len(parts), f.Parts)
		}
		if !first && f.Pos != d.end()+uint64(f.N) {
			return damaged(p, "message %d of %s is at position %d behind %d", f.seq, p.stream, f.Pos, d.end())
		}
		d.items = append(d.items, f.item())
		return nil
	})
}

// backward reads from the end, until a map or what is known.
func (r reader) backward(ctx context.Context, p place, d *directory, last found) error {
	var newer []item // the newest first
	for f := last; f.seq > d.tail; {
		if f.commits() {
			newer = append(newer, f.item())
		}
		if f.Mapped {
			older, err := r.mapped(ctx, p, d, f)
			if err != nil {
				return err
			}
			slices.Reverse(newer)
			return d.add(p, last, append(older, newer...))
		}
		if f.seq == f.oldest() {
			break
		}
		before, err := r.at(ctx, p, f.Back)
		if err != nil {
			return err
		}
		if before.digest() != f.Prev {
			return damaged(p, "message %d of %s was changed", before.seq, p.stream)
		}
		f = before
	}
	slices.Reverse(newer)
	return d.add(p, last, newer)
}

// mapped are the messages that commit before f, a message with a map, and after what a directory knows.
func (r reader) mapped(ctx context.Context, p place, d *directory, f found) ([]item, error) {
	b, err := r.whole(ctx, p, f)
	if err != nil {
		return nil, err
	}
	lists := [][]item{b.items}
	for {
		items := lists[len(lists)-1]
		if len(items) == 0 {
			return nil, damaged(p, "message %d of %s has an empty map", f.seq, p.stream)
		}
		if items[0].Seq == f.oldest() || items[0].Seq <= d.tail {
			break
		}
		b, err := r.itemBody(ctx, p, items[0]) // it has a map as well
		if err != nil {
			return nil, err
		}
		lists = append(lists, b.items)
	}
	slices.Reverse(lists)
	all := slices.Concat(lists...)
	return all[sort.Search(len(all), func(i int) bool { return all[i].Seq > d.tail }):], nil
}

// end is the position of the last entry that is known.
func (d *directory) end() uint64 {
	if len(d.items) == 0 {
		return 0
	}
	return d.items[len(d.items)-1].Pos
}

// add takes items that were read backward.
func (d *directory) add(p place, last found, items []item) error {
	at := d.end()
	for _, it := range items {
		if at += uint64(it.N); it.Pos != at {
			return damaged(p, "message %d of %s is at position %d in place of %d", it.Seq, p.stream, it.Pos, at)
		}
	}
	d.items, d.tail, d.chain = append(d.items, items...), last.seq, last.digest()
	return nil
}

// appended takes note of a message that this process has stored, and of its body if it commits.
func (r reader) appended(ctx context.Context, p place, f found, b *body) error {
	d := r.directory(p)
	if err := d.lock(ctx); err != nil {
		return err
	}
	defer d.unlock()
	if d.tail != f.Back || d.chain != f.Prev {
		return nil // it is read when it is needed
	}
	d.tail, d.chain = f.seq, f.digest()
	if b != nil {
		d.items = append(d.items, f.item())
		r.keep(p, f.seq, *b)
	}
	return nil
}

// values are entries after a position, at most limit, as the log keeps them.
func (r reader) values(ctx context.Context, p place, last found, after uint64, limit int) (values [][]byte, err error) {
	items, err := r.items(ctx, p, last)
	if err != nil {
		return nil, err
	}
	begin := sort.Search(len(items), func(i int) bool { return items[i].Pos > after })
	end, have := begin, uint64(0)
	for end < len(items) && (end == begin || have < uint64(max(limit, 0))) {
		have = items[end].Pos - after
		end++
	}
	if limit <= 0 || begin == end {
		return nil, nil
	}
	bodies, err := r.itemBodies(ctx, p, items[begin:end])
	if err != nil {
		return nil, err
	}
	for _, b := range bodies {
		values = append(values, b.entries...)
	}
	first := items[begin].Pos - uint64(items[begin].N)
	if skip := after - first; skip > uint64(len(values)) {
		return nil, damaged(p, "position %d is missing", after)
	}
	values = values[after-first:]
	return values[:min(limit, len(values))], nil
}

// itemBodies reads several bodies, in parallel.
func (r reader) itemBodies(ctx context.Context, p place, items []item) ([]body, error) {
	bodies, errs := make([]body, len(items)), make([]error, len(items))
	var reading sync.WaitGroup
	places := make(chan struct{}, 32)
	for i, it := range items {
		b, ok := r.cache.body(p, it.Seq)
		if ok {
			bodies[i] = b
			continue
		}
		places <- struct{}{}
		reading.Go(func() { // ends with its read
			defer func() { <-places }()
			bodies[i], errs[i] = r.itemBody(ctx, p, it)
		})
	}
	reading.Wait()
	return bodies, errors.Join(errs...)
}

// first is the body of the first append.
func (r reader) first(ctx context.Context, p place, last found) (body, error) {
	if last.seq == last.oldest() {
		return r.whole(ctx, p, last)
	}
	if b, ok := r.cache.body(p, last.First); ok {
		return b, nil
	}
	f, err := r.at(ctx, p, last.First)
	if err != nil {
		return body{}, err
	}
	return r.whole(ctx, p, f)
}

func notFound(ref session.Ref) error { return fmt.Errorf("session %s: %w", ref, session.ErrNotFound) }
