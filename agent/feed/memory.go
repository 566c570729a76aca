package feed

import "sort"

// Bounds of what a feed remembers while turns run. The end of a block and a prompt are shared with the session's view, and
// weigh at most maxWeight.
const (
	maxRemembered      = 4096     // updates; a run of growth counts as one
	maxRememberedBytes = 1 << 20  // of weight
	maxRun             = 64 << 10 // of weight of a run: it is forgotten as a whole, and sent as one update
	weightOfCut        = 16       // in addition to its text
)

// memory is the latest updates, for clients that come back. It has every update after a number, without a gap, and forgets
// the oldest first.
//
//	after │ update │ run: "some growing text" │ update │ ...
//	      │        │      cut cut    cut      │
//
// Consecutive growth of one block is a run: its text is kept once, with a cut for each update. A client may have seen any part
// of a run. What it gets begins with the very next byte.
type memory struct {
	after uint64 // every later update is here
	list  []remembered
	what  growing // what the last in the list is growth of
	bytes int     // weight of the list
}

// remembered is an update, or a run.
type remembered struct {
	first *Update // of a run: without its text; no subscriber has it, so it holds no encoded bytes
	text  []byte  // of a run
	cuts  []cut   // of a run: one for each of its pieces; nil: it is none
}

// cut is where the text of an update ends in that of its run, and the time of the update.
type cut struct {
	end  int
	time int64
}

// add remembers an update, which may be growth, of several pieces perhaps.
func (m *memory) add(u *Update, what growing, text string, ends []int) {
	cuts := weightOfCut * max(len(ends), 1)
	switch {
	case what == (growing{}):
		m.list = append(m.list, remembered{first: plain(u, u.Event)})
		m.bytes += u.weight
	case len(m.list) == 0 || m.what != what || m.list[len(m.list)-1].weight()+len(text)+cuts > maxRun:
		first := plain(u, withText(u.Event, ""))
		first.Seq = u.first()
		m.list = append(m.list, remembered{first: first})
		fallthrough
	default:
		run := &m.list[len(m.list)-1]
		before := len(run.text)
		run.text = append(run.text, text...)
		for _, end := range ends {
			run.cuts = append(run.cuts, cut{before + end, u.Time})
		}
		if ends == nil {
			run.cuts = append(run.cuts, cut{len(run.text), u.Time})
		}
		m.bytes += len(text) + cuts
	}
	m.what = what
	for len(m.list) > maxRemembered || m.bytes > maxRememberedBytes {
		oldest := m.list[0]
		m.after = oldest.last()
		m.bytes -= oldest.weight()
		m.list[0] = remembered{}
		m.list = m.list[1:]
	}
}

// plain is a copy of an update that nobody else has.
func plain(u *Update, e Event) *Update {
	return &Update{Session: u.Session, Seq: u.Seq, Time: u.Time, Turn: u.Turn, Event: e, weight: u.weight}
}

// forget drops all; the last update was seq.
func (m *memory) forget(seq uint64) { *m = memory{after: seq} }

// since is Feed.Since.
func (m *memory) since(after uint64) []*Update {
	last := m.after
	if len(m.list) > 0 {
		last = m.list[len(m.list)-1].last()
	}
	if after < m.after || after > last {
		return nil
	}
	i := sort.Search(len(m.list), func(i int) bool { return m.list[i].last() > after })
	list := make([]*Update, 0, len(m.list)-i)
	for _, r := range m.list[i:] {
		list = append(list, r.since(after))
	}
	return list
}

func (r remembered) last() uint64 { return r.first.Seq + uint64(max(len(r.cuts), 1)) - 1 }

func (r remembered) weight() int {
	if r.cuts == nil {
		return r.first.weight
	}
	return len(r.text) + weightOfCut*len(r.cuts)
}

// since is the update, or that part of a run that follows a number.
func (r remembered) since(after uint64) *Update {
	if r.cuts == nil {
		return r.first
	}
	next, begin := max(after+1, r.first.Seq), 0
	if skip := int(next - r.first.Seq); skip > 0 {
		begin = r.cuts[skip-1].end
	}
	u := plain(r.first, withText(r.first.Event, string(r.text[begin:])))
	u.Seq, u.Time = r.last(), r.cuts[next-r.first.Seq].time
	if next < u.Seq {
		u.FirstSeq = next
	}
	return u
}
