package gate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/thinkd/thinkd/rpc/cluster/model"
	"github.com/thinkd/thinkd/session"
)

// The model of blocks: two nodes spend one quota, as share, session/jet and rpc/cluster/node have it. What a node does about its block is decided by share
// itself. The model adds the store, the log of a session for each run of a node, and what fails. Every step may be late.
//
//	Enter ──► reserved in the block ──► mark ──► reservation in the log ──► the call runs ──► its use in the log ──► account in the ledger ──► no mark
//
// A side question has no log: its reservation is a value in the ledger, and no mark.
const (
	quotaTokens = 3 // the quota
	callTokens  = 2 // what a call reserves; it uses 1 or 2
	runCount    = 4 // of nodes; A is 1, B is 2, and A is 3 after a restart
	steady      = 1 // the node that does not fail: it would fail in the same ways as the other one
	modelDay    = session.Day("2026-11-23")
)

const (
	overspent model.Harm = "A call begins that exceeds the quota."
	missing   model.Harm = "The ledger lacks what a call used, and nothing will bring it there."
	forEver   model.Harm = "Tokens stay reserved, although nothing runs."
)

// rule is a rule that can be turned off alone.
type rule uint8

const (
	compareAndSet    rule = iota // off: the store takes each change of the blocks
	absolute                     // off: a change adds to the block that the store has
	blocksFirst                  // off: the ledger is read before the blocks
	ledgerNotOlder               // off: an outdated leader may answer for the ledger what is older than the blocks
	flushBeforeRead              // off: a node reads the ledger without its own accounts
	unknownIsUnknown             // off: a change without a result counts as made
	blockOfRun                   // off: a restarted node has the block of its run before
	contactRenews                // off: a block counts after a loss of contact
	coveredAtStart               // off: a call starts without a look at the block
	markFirst                    // off: a call is in the log before the mark is stored
	marksKeepBlocks              // off: a block is removed whatever marks there are
	marksAfterGone               // off: the marks may be read before the node is gone
	flushBeforeMark              // off: a mark is removed or replaced before the ledger has the use
	marksAgain                   // off: the mark of a session that stays open after a takeover stays that of the node that is gone
	blocksRemoved                // off: nobody removes the blocks of nodes that are gone
	holdsSettled                 // off: nobody counts the reservations of side questions of nodes that are gone
	holdsFirst                   // off: blocks are removed before these are counted
	ruleCount
)

func (r rule) String() string {
	return [...]string{"compareAndSet", "absolute", "blocksFirst", "ledgerNotOlder", "flushBeforeRead", "unknownIsUnknown", "blockOfRun", "contactRenews", "coveredAtStart",
		"markFirst", "marksKeepBlocks", "marksAfterGone", "flushBeforeMark", "marksAgain", "blocksRemoved", "holdsSettled", "holdsFirst"}[r]
}

type rules uint32

const allRules rules = 1<<ruleCount - 1

func (r rules) has(rule rule) bool { return r&(1<<rule) != 0 }

// part is a share as a value.
type part struct {
	block, held, unlogged, unread int8
	has, unknown                  bool
}

func amountOfTokens(n int8) amount { return amount{tokens: int(n)} }
func tokensOf(a amount) int8       { return int8(a.tokens) }
func (p part) on(s *share) {
	s.held, s.unlogged, s.unread = amountOfTokens(p.held), amountOfTokens(p.unlogged), amountOfTokens(p.unread)
}
func (s *share) part() (p part) {
	return part{tokensOf(s.block), tokensOf(s.held), tokensOf(s.unlogged), tokensOf(s.unread), s.day != "", s.unknown}
}
func (p part) share(c machine) *share { return p.shareOf(&answerer{valid: c.valid && !c.cut}) }

func (p part) shareOf(c *answerer) *share {
	s := newShare(c, &ann, new(sync.Mutex))
	s.counts, s.today, s.learn = amount{tokens: quotaTokens}, func() session.Day { return modelDay }, func(ledgered) {}
	s.left = (&purse{quota: Quota{DayTokens: quotaTokens}}).left
	s.block, s.unknown = amountOfTokens(p.block), p.unknown
	if p.has {
		s.day = modelDay
	}
	p.on(s)
	return s
}

// answerer answers one change of a share.
type answerer struct {
	valid  bool
	others int8
	err    error

	asks  func() // is called when the change has begun
	wrote int8
}

func (*answerer) Nodes() int                    { return 2 }
func (c *answerer) Unbroken(time.Duration) bool { return c.valid }

func (c *answerer) ChangeBlock(_ context.Context, _ *session.Owner, change func([]session.Block) (session.Block, error)) (time.Duration, error) {
	c.asks()
	b, err := change([]session.Block{{Day: modelDay, Tokens: int(c.others)}})
	if err != nil {
		return 0, err
	}
	c.wrote = int8(b.Tokens)
	return 0, c.err
}

// stage is where the change of a block stands.
type stage uint8

const (
	quiet    stage = iota
	toRead         // it is to read
	halfRead       // it has read one of the two
	sent           // its message is on the way
	stored         // it is stored, and the answer is on the way
)

// changing is the change of a block that is on the way.
type changing struct {
	stage          stage
	need           int8
	give           bool
	start          part
	valid          bool // at the start
	others, ledger int8
	next           int8 // the block that is published
	stale          bool // another change was stored since the read
	newer          bool // the blocks that were read are newer than what the outdated leader has
	broken         bool // the contact was lost since it began
}

// phase is where the call of a node stands.
type phase uint8

const (
	idle     phase = iota
	reserved       // the block has it
	marked         // its session is marked
	logged         // the log, or for a side question the ledger, has the reservation
	runs           // it runs
	ended          // it has ended
	charged        // the log has what it used
)

// machine is one machine.
type machine struct {
	run          uint8 // 0: it does not run
	stopped, cut bool
	valid        bool // it was in contact ever since its block was changed
	part         part
	change       changing
	wrote        bool // an account, which the outdated leader does not have
	phase        phase
	used         int8

	drop     uint8 // the run whose block it removes; 0: none
	dropped  bool  // it has read the marks, and none keeps the block
	late     bool  // the blocks have changed since it read them
	sawMarks bool  // it has read the marks before it judged; see marksAfterGone
	saw      [runCount]bool

	stray astray
}

// astray is a change that was given up, and may still be stored.
type astray struct {
	there, stale bool
	next, before int8
	run          uint8
}

// book is the session of one run of a node, by which it makes its calls.
type book struct {
	owner          uint8
	used, reserved int8
	ledger         int8  // what the account has of used
	mark           uint8 // the run that marks it; 0: none
	open           bool  // a takeover left its turn open
}

type left struct {
	calls                                                    [2]uint8 // of each node
	crash, restart, stop, cut, lost, giveUp, election, parks uint8
}

type world struct {
	blocks [runCount]int8
	logs   [runCount]book
	holds  [runCount]int8 // of side questions
	aside  int8           // what the ledger has of side questions
	nodes  [2]machine
	left   left
	spent  int8 // by calls that have begun
	old    struct {
		there, changed bool // changed: the blocks are newer
		ledger         int8
	}
}

// scenario bounds what happens.
type scenario struct {
	name   string
	asides bool
	left   left
}

type moves struct {
	rules rules
	sc    scenario
	from  *world
	list  []model.Step[world]
}

func (m *moves) do(kind model.Kind, text string, change func(*world) model.Harm) {
	next := *m.from
	broken := change(&next)
	if broken == "" && next.lacks() {
		broken = missing
	}
	m.list = append(m.list, model.Step[world]{Kind: kind, Text: text, Next: next, Broken: broken})
}

func runName(run uint8) string {
	return [...]string{"nobody", "A", "B", "A/2"}[run]
}

func machineOf(run uint8) int { return int(run-1) % 2 }

// ledger is what the ledger has.
func (s *world) ledger() int8 {
	sum := s.aside
	for _, l := range s.logs {
		sum += l.ledger
	}
	return sum
}

func (s *world) alive(run uint8) bool { return run != 0 && s.nodes[machineOf(run)].run == run }

// lacks reports whether nothing will bring a use into the ledger: the log has it, its owner has ended, and no mark leads anybody to the session.
func (s *world) lacks() bool {
	for k, l := range s.logs {
		writer := false
		for i := range s.nodes {
			writer = writer || s.nodes[i].run != 0 && s.writes(i, k)
		}
		if l.used+l.reserved > l.ledger && l.mark == 0 && !writer {
			return true
		}
	}
	return false
}

// gone reports whether a node may take another one for gone, by the contract of presence.
func (s *world) gone(run uint8) bool {
	n := &s.nodes[machineOf(run)]
	return n.run != run || n.cut || n.stopped
}

// judge takes note that a node was taken for gone: one that was stopped finds its clocks ahead.
func (s *world) judge(run uint8) {
	if n := &s.nodes[machineOf(run)]; n.run == run && n.stopped {
		n.lose()
	}
}

// lose has a node lose its contact.
func (n *machine) lose() {
	n.cut, n.valid, n.change.broken = true, false, n.change.stage != quiet
}

// store puts the blocks in place of those before.
func (s *world) store(change func(*[runCount]int8)) {
	change(&s.blocks)
	s.old.changed = s.old.there
	for i := range s.nodes {
		n := &s.nodes[i]
		n.change.stale = n.change.stage != quiet
		n.stray.stale = n.stray.there
		n.late = n.drop != 0
	}
}

// key is where the block of a run is.
func (m *moves) key(run uint8) int {
	if !m.rules.has(blockOfRun) {
		return machineOf(run) + 1
	}
	return int(run)
}

// run runs the change of the share again from its start. asks is called when it has begun, and the calls that began or ended since then are in now.
func (c *changing) run(now part, err error, asks func(*share)) (block int8, after part) {
	cluster := &answerer{valid: c.valid, others: c.others, err: err}
	s := c.start.shareOf(cluster)
	cluster.asks = func() { asks(s) }
	s.read = func(context.Context, session.Day) (ledgered, error) {
		return ledgered{today: modelDay, day: amountOfTokens(c.ledger)}, nil
	}
	if _, failed := s.change(context.Background(), amountOfTokens(c.need), c.give); !errors.Is(failed, err) {
		panic(failed)
	}
	return cluster.wrote, s.part()
}

// decide is the block that the change publishes, and the share after its answer.
func (c *changing) decide(now part, err error) (block int8, after part) {
	return c.run(now, err, now.on)
}

var errModel = errors.New("no result")

// write stores what a change publishes.
func (m *moves) write(s *world, run uint8, next int8, before int8) {
	s.store(func(b *[runCount]int8) {
		if k := m.key(run); m.rules.has(absolute) {
			b[k] = next
		} else {
			b[k] = max(b[k]+next-before, 0)
		}
	})
}

func (m *moves) all() []model.Step[world] {
	for i := range m.from.nodes {
		if i != steady {
			m.faults()
		}
		if n := &m.from.nodes[i]; n.stray.there {
			m.do(model.Own, "A change of the blocks by "+runName(n.stray.run)+" arrives, which was given up.", func(s *world) model.Harm {
				n := &s.nodes[i]
				stray := n.stray
				if !stray.stale || !m.rules.has(compareAndSet) {
					m.write(s, stray.run, stray.next, stray.before)
				}
				n.stray = astray{}
				return ""
			})
		}
		if n := &m.from.nodes[i]; n.run != 0 {
			m.changes(i)
			if !n.stopped {
				m.calls(i)
				m.accounts(i)
				m.sweeps(i)
			}
		}
	}
	if s := m.from; s.left.election > 0 {
		m.do(model.Fault, "The store elects another leader, and the former one does not know it.", func(s *world) model.Harm {
			s.left.election--
			s.old.there, s.old.ledger = true, s.ledger()
			return ""
		})
	}
	return m.list
}

func (m *moves) faults() {
	const i = 0
	s, n := m.from, &m.from.nodes[i]
	if n.run == 0 {
		if s.left.restart > 0 {
			m.do(model.Fault, "A/2 starts.", func(s *world) model.Harm {
				s.left.restart--
				s.nodes[i].run, s.logs[3].owner = 3, 3
				return ""
			})
		}
		return
	}
	if s.left.crash > 0 {
		m.do(model.Fault, runName(n.run)+" is killed.", func(s *world) model.Harm {
			s.left.crash--
			n := s.nodes[i]
			s.nodes[i] = machine{stray: n.stray}
			if n.change.stage == sent {
				s.nodes[i].goesAstray(n.run, n.change)
			}
			return ""
		})
	}
	switch {
	case n.stopped:
		m.do(model.Fault, runName(n.run)+" goes on.", func(s *world) model.Harm { s.nodes[i].stopped = false; return "" })
		return
	case n.cut:
		m.do(model.Fault, runName(n.run)+" is in contact again.", func(s *world) model.Harm { s.nodes[i].cut = false; return "" })
	case s.left.cut > 0:
		m.do(model.Fault, runName(n.run)+" loses contact, and notices it.", func(s *world) model.Harm { s.left.cut--; s.nodes[i].lose(); return "" })
	}
	if s.left.stop > 0 {
		m.do(model.Fault, runName(n.run)+" stops, without knowing it.", func(s *world) model.Harm { s.left.stop--; s.nodes[i].stopped = true; return "" })
	}
}

func (n *machine) goesAstray(run uint8, c changing) {
	n.stray = astray{true, c.stale, c.next, c.start.block, run}
}

// changes has the steps of a change of the block.
func (m *moves) changes(i int) {
	s, n := m.from, &m.from.nodes[i]
	c := n.change
	name := runName(n.run)
	if c.stage == sent {
		m.do(model.Own, fmt.Sprintf("The store gets the block %d of %s.", c.next, name), func(s *world) model.Harm {
			n := &s.nodes[i]
			if n.change.stale && m.rules.has(compareAndSet) {
				n.change.again()
				return ""
			}
			m.write(s, n.run, n.change.next, n.change.start.block)
			n.change.stage, n.change.stale = stored, false
			return ""
		})
	}
	if n.stopped {
		return
	}
	if (c.stage == sent || c.stage == stored) && s.left.lost > 0 && !n.stray.there && i != steady {
		m.do(model.Fault, name+" gets no answer about its block, and tries again.", func(s *world) model.Harm {
			s.left.lost--
			n := &s.nodes[i]
			if n.change.stage == sent {
				n.goesAstray(n.run, n.change)
			}
			n.change.again()
			return ""
		})
	}
	if (c.stage == sent || c.stage == stored) && s.left.giveUp > 0 && !n.stray.there && i != steady {
		m.do(model.Fault, name+" gives up the change of its block after 15 s.", func(s *world) model.Harm {
			s.left.giveUp--
			n := &s.nodes[i]
			if n.change.stage == sent {
				n.goesAstray(n.run, n.change)
			}
			err := errModel
			if !m.rules.has(unknownIsUnknown) {
				err, n.valid = nil, true
			}
			_, n.part = n.change.decide(n.part, err)
			n.change = changing{}
			return ""
		})
	}
	if n.cut {
		return
	}
	m.reads(i)
}

// again begins a change again, after another one was faster, or without an answer.
func (c *changing) again() {
	*c = changing{stage: toRead, need: c.need, give: c.give, start: c.start, valid: c.valid}
}

// reads has the steps in which a node reads what a change needs, and goes on with the answer.
func (m *moves) reads(i int) {
	n := &m.from.nodes[i]
	name := runName(n.run)
	first, second := m.readBlocks, m.readLedger
	if !m.rules.has(blocksFirst) {
		first, second = second, first
	}
	switch n.change.stage {
	case toRead:
		first(i, func(n *machine) { n.change.stage = halfRead })
	case halfRead:
		second(i, func(n *machine) { n.change.next, _ = n.change.decide(n.part, nil); n.change.stage = sent })
	case stored:
		m.do(model.Own, name+" gets the acknowledgement of its block.", func(s *world) model.Harm {
			n := &s.nodes[i]
			if n.change.broken && m.rules.has(contactRenews) {
				n.change.again()
				return ""
			}
			_, n.part = n.change.decide(n.part, nil)
			n.valid, n.change = true, changing{}
			return ""
		})
	}
}

func (m *moves) readBlocks(i int, then func(*machine)) {
	m.do(model.Own, runName(m.from.nodes[i].run)+" reads the blocks.", func(s *world) model.Harm {
		n := &s.nodes[i]
		n.change.others, n.change.stale, n.change.newer = 0, false, s.old.changed
		for k, b := range s.blocks {
			if k != m.key(n.run) {
				n.change.others += b
			}
		}
		then(n)
		return ""
	})
}

func (m *moves) readLedger(i int, then func(*machine)) {
	s, n := m.from, &m.from.nodes[i]
	m.do(model.Own, runName(n.run)+" reads the ledger.", func(s *world) model.Harm {
		n := &s.nodes[i]
		if m.rules.has(flushBeforeRead) {
			s.flush(i)
		}
		n.change.ledger = s.ledger()
		then(n)
		return ""
	})
	if s.old.there && (!m.rules.has(ledgerNotOlder) || !n.change.newer && !n.wrote && !s.owes(i)) {
		m.do(model.Own, runName(n.run)+" reads the ledger from an outdated leader.", func(s *world) model.Harm {
			n := &s.nodes[i]
			n.change.ledger = s.old.ledger
			then(n)
			return ""
		})
	}
}

// flush writes the accounts of a node.
func (s *world) flush(i int) {
	for k := range s.logs {
		if l := &s.logs[k]; s.writes(i, k) && l.ledger < l.used {
			l.ledger = l.used
			s.nodes[i].wrote = s.old.there
		}
	}
}

// writes reports whether a node has to write the account of a session: it is the owner, or has lost the session and not written what it had appended.
func (s *world) writes(i, k int) bool {
	n := &s.nodes[i]
	return s.logs[k].owner == n.run || n.phase == charged && k == int(n.run)
}

// owes reports whether a node has accounts that the ledger lacks.
func (s *world) owes(i int) bool {
	for k, l := range s.logs {
		if s.writes(i, k) && l.ledger < l.used {
			return true
		}
	}
	return false
}

// begin begins a change.
func (s *world) begin(i int, need int8, give bool) {
	n := &s.nodes[i]
	n.change = changing{stage: toRead, need: need, give: give, start: n.part, valid: n.valid && !n.cut}
	n.change.run(n.part, errModel, func(s *share) { n.part = s.part() }) // what is given back cannot be used any more
}

// calls has the steps of the call of a node.
func (m *moves) calls(i int) {
	s, n := m.from, &m.from.nodes[i]
	name, quiet := runName(n.run), n.change.stage == quiet
	free := n.part.share(*n)
	if p := n.part; quiet && !n.cut && (n.phase == idle || n.phase == charged) && (p.has || p.unknown || p.unread > 0) {
		m.do(model.Own, name+" gives back what is free.", func(s *world) model.Harm { s.begin(i, 0, true); return "" })
	}
	if n.cut {
		m.ends(i)
		return
	}
	switch n.phase {
	case idle:
		switch {
		case s.left.calls[i] == 0 || s.logs[n.run].owner != n.run:
		case free.fits(amountOfTokens(callTokens)):
			m.do(model.Client, name+" reserves a call in its block.", func(s *world) model.Harm {
				s.left.calls[i]--
				n := &s.nodes[i]
				share := n.part.share(*n)
				share.hold(amountOfTokens(callTokens))
				n.part, n.phase = share.part(), reserved
				return ""
			})
		case quiet:
			m.do(model.Client, name+" needs a larger block for a call.", func(s *world) model.Harm { s.begin(i, callTokens, false); return "" })
		}
	case reserved:
		switch {
		case m.sc.asides:
			m.do(model.Own, name+" has the ledger keep the reservation.", func(s *world) model.Harm {
				s.holds[s.nodes[i].run], s.nodes[i].phase = callTokens, logged
				return ""
			})
		default:
			m.do(model.Own, name+" marks the session.", func(s *world) model.Harm {
				s.logs[s.nodes[i].run].mark, s.nodes[i].phase = s.nodes[i].run, marked
				return ""
			})
			if !m.rules.has(markFirst) {
				m.do(model.Own, "The mark of "+name+" is lost.", func(s *world) model.Harm { s.nodes[i].phase = marked; return "" })
			}
		}
	case marked:
		m.do(model.Own, name+" appends the reservation.", func(s *world) model.Harm { s.append(i); return "" })
	case logged:
		m.starts(i, free)
	}
	m.ends(i)
}

// append appends the reservation of a call.
func (s *world) append(i int) {
	n := &s.nodes[i]
	if l := &s.logs[n.run]; l.owner == n.run {
		l.reserved, n.phase = callTokens, logged
		return
	}
	n.settle(0)
}

// starts has the step in which a call begins.
func (m *moves) starts(i int, free *share) {
	n := &m.from.nodes[i]
	name := runName(n.run)
	lost := !m.sc.asides && m.from.logs[n.run].owner != n.run
	covered := free.spare().tokens >= 0
	switch {
	case lost:
		m.do(model.Own, name+" learns that its session was taken.", func(s *world) model.Harm { s.nodes[i].settle(0); return "" })
	case !covered && n.change.stage == quiet && m.rules.has(coveredAtStart):
		m.do(model.Own, name+" needs a block for the call again.", func(s *world) model.Harm { s.begin(i, 0, false); return "" })
		m.do(model.Own, name+" refuses the call.", func(s *world) model.Harm {
			s.nodes[i].phase, s.nodes[i].used = ended, 0
			return ""
		})
	case covered || !m.rules.has(coveredAtStart):
		m.do(model.Own, name+" starts the call.", func(s *world) model.Harm {
			s.nodes[i].phase = runs
			if s.spent += callTokens; s.spent > quotaTokens {
				return overspent
			}
			return ""
		})
	}
}

// settle ends the call of a node. What it used is in no log that counts for this node.
func (n *machine) settle(used int8) {
	share := n.part.share(*n)
	share.hold(amount{}.minus(amountOfTokens(callTokens)))
	if later := share.settle(amountOfTokens(used), false); later != nil {
		later()
	}
	n.part, n.phase, n.used = share.part(), idle, 0
}

// ends has the steps from the end of a call on.
func (m *moves) ends(i int) {
	s, n := m.from, &m.from.nodes[i]
	name := runName(n.run)
	switch n.phase {
	case runs:
		for used := int8(1); used <= callTokens; used++ {
			m.do(model.Own, fmt.Sprintf("The call of %s ends. It used %d.", name, used), func(s *world) model.Harm {
				s.nodes[i].phase, s.nodes[i].used = ended, used
				s.spent -= callTokens - used
				return ""
			})
		}
	case ended:
		if n.cut {
			return
		}
		m.do(model.Own, name+" stores what its call used.", func(s *world) model.Harm { s.count(i, m.sc.asides); return "" })
	case charged:
		if l := s.logs[n.run]; !m.rules.has(flushBeforeMark) || l.ledger == l.used {
			m.do(model.Own, name+" removes the mark.", func(s *world) model.Harm {
				n := &s.nodes[i]
				if l := &s.logs[n.run]; l.mark == n.run {
					l.mark = 0
				}
				n.phase = idle
				return ""
			})
		}
	}
}

// count stores what a call used.
func (s *world) count(i int, aside bool) {
	n := &s.nodes[i]
	l, used := &s.logs[n.run], n.used
	switch {
	case aside:
		if s.holds[n.run] > 0 {
			s.aside += used
		}
		s.holds[n.run] = 0
		n.settle(used)
	case l.owner == n.run:
		l.used, l.reserved = l.used+used, 0
		n.settle(used)
		n.phase = charged
	default: // the next owner counts what was reserved
		n.settle(used)
	}
}

// accounts has the step in which a node brings the ledger up to date.
func (m *moves) accounts(i int) {
	s, n := m.from, &m.from.nodes[i]
	if n.cut {
		return
	}
	if s.owes(i) {
		m.do(model.Own, runName(n.run)+" writes its accounts.", func(s *world) model.Harm { s.flush(i); return "" })
	}
}

// sweeps has the steps in which a node looks after what others that are gone have left.
func (m *moves) sweeps(i int) {
	s, n := m.from, &m.from.nodes[i]
	if n.cut {
		return
	}
	for run := uint8(1); run < runCount; run++ {
		if machineOf(run) != i && !s.gone(run) || run == n.run {
			continue
		}
		m.takes(i, run)
		if s.holds[run] > 0 && m.rules.has(holdsSettled) {
			m.do(model.Own, runName(n.run)+" counts the side question of "+runName(run)+".", func(s *world) model.Harm {
				s.judge(run)
				s.aside, s.holds[run] = s.aside+s.holds[run], 0
				return ""
			})
		}
		if s.blocks[run] > 0 && n.drop == 0 && m.rules.has(blocksRemoved) && (s.holds[run] == 0 || !m.rules.has(holdsFirst)) {
			m.do(model.Own, runName(n.run)+" reads the blocks, and takes "+runName(run)+" for gone.", func(s *world) model.Harm {
				s.judge(run)
				s.nodes[i].drop, s.nodes[i].late = run, false
				return ""
			})
		}
	}
	m.drops(i)
}

// takes has the steps in which a node claims the sessions of one that is gone.
func (m *moves) takes(i int, run uint8) {
	s, n := m.from, &m.from.nodes[i]
	for k, l := range s.logs {
		if l.mark != run || s.alive(l.owner) && !s.gone(l.owner) && l.owner != n.run { // its owner looks after it
			continue
		}
		if l.owner != n.run {
			take := func(text string, parked bool) {
				m.do(model.Own, runName(n.run)+" claims the session of "+runName(run)+text, func(s *world) model.Harm {
					s.judge(run)
					l := &s.logs[k]
					l.owner, l.used, l.reserved, l.open = n.run, l.used+l.reserved, 0, parked
					if parked {
						s.left.parks--
					}
					return ""
				})
			}
			take(", and closes its turn.", false)
			if s.left.parks > 0 && l.reserved == 0 {
				take(", whose turn waits for a person.", true)
			}
			continue
		}
		if m.rules.has(flushBeforeMark) && l.ledger < l.used || l.open && !m.rules.has(marksAgain) {
			continue
		}
		m.do(model.Own, runName(n.run)+" removes or replaces the mark of "+runName(run)+".", func(s *world) model.Harm {
			l := &s.logs[k]
			if l.mark = 0; l.open {
				l.mark = n.run
			}
			return ""
		})
	}
}

// drops has the steps in which a node removes the block of one that is gone.
func (m *moves) drops(i int) {
	n := &m.from.nodes[i]
	marks := func(s *world) (saw [runCount]bool) {
		for _, l := range s.logs {
			saw[l.mark] = true
		}
		return saw
	}
	if !m.rules.has(marksAfterGone) && !n.sawMarks && n.drop == 0 {
		m.do(model.Own, runName(n.run)+" reads the marks.", func(s *world) model.Harm {
			s.nodes[i].sawMarks, s.nodes[i].saw = true, marks(s)
			return ""
		})
	}
	if n.drop == 0 {
		return
	}
	if !n.dropped {
		m.do(model.Own, runName(n.run)+" looks at the marks of "+runName(n.drop)+".", func(s *world) model.Harm {
			n := &s.nodes[i]
			saw := marks(s)
			if n.sawMarks {
				saw = n.saw
			}
			n.dropped, n.sawMarks, n.saw = true, false, [runCount]bool{}
			if saw[n.drop] && m.rules.has(marksKeepBlocks) {
				n.drop, n.dropped, n.late = 0, false, false
			}
			return ""
		})
		return
	}
	m.do(model.Own, runName(n.run)+" removes the block of "+runName(n.drop)+", unless the blocks have changed.", func(s *world) model.Harm {
		n := &s.nodes[i]
		run, late := n.drop, n.late && m.rules.has(compareAndSet)
		n.drop, n.dropped, n.late = 0, false, false
		if !late {
			s.store(func(b *[runCount]int8) { b[run] = 0 })
		}
		return ""
	})
}

// released: while a node is in contact, all that is reserved without a call becomes free, and the ledger has what was used.
var released = model.Goal[world]{
	Broken: forEver,
	Helps:  model.Own,
	Due: func(s world) bool {
		for _, n := range s.nodes {
			if n.run != 0 && !n.stopped && !n.cut {
				return true
			}
		}
		return false
	},
	Met: func(s world) bool {
		for run := uint8(1); run < runCount; run++ {
			if s.blocks[run] > 0 && (!s.alive(run) || !s.nodes[machineOf(run)].stopped && !s.nodes[machineOf(run)].cut) || s.holds[run] > 0 && !s.alive(run) {
				return false
			}
		}
		return true
	},
}

func explore(sc scenario, rules rules, only model.Harm) model.Report {
	start := world{left: sc.left}
	for i := range start.nodes {
		run := uint8(i + 1)
		start.nodes[i].run, start.logs[run].owner = run, run
	}
	return model.Explore(model.World[world]{
		Start: start,
		Steps: func(s world) []model.Step[world] { return (&moves{rules: rules, sc: sc, from: &s}).all() },
		Goals: []model.Goal[world]{released},
		Only:  only,
		Show: func(s world) string {
			return fmt.Sprintf("blocks %v, ledger %d, spent %d", s.blocks[1:], s.ledger(), s.spent)
		},
	})
}

var (
	racing       = scenario{"race", false, left{calls: [2]uint8{2, 1}}}
	unanswered   = scenario{"answers", false, left{calls: [2]uint8{1, 1}, lost: 1}}
	givenUp      = scenario{"given up", false, left{calls: [2]uint8{1, 1}, giveUp: 1}}
	elected      = scenario{"election", false, left{calls: [2]uint8{2, 1}, election: 1}}
	killed       = scenario{"killed", false, left{calls: [2]uint8{1, 1}, crash: 1}}
	parked       = scenario{"parked", false, left{calls: [2]uint8{1, 0}, crash: 1, parks: 1}}
	restarted    = scenario{"restarted", false, left{calls: [2]uint8{2, 0}, crash: 1, restart: 1}}
	cutOff       = scenario{"cut", false, left{calls: [2]uint8{1, 1}, cut: 1, crash: 1}}
	paused       = scenario{"paused", false, left{calls: [2]uint8{1, 1}, stop: 1}}
	asking       = scenario{"side questions", true, left{calls: [2]uint8{1, 1}, crash: 1}}
	pausedAsking = scenario{"paused side question", true, left{calls: [2]uint8{1, 1}, stop: 1}}
)

// TestModel visits every state of the blocks. No quota is exceeded, nothing is missing, and nothing stays reserved.
func TestModel(t *testing.T) {
	for _, sc := range []scenario{racing, unanswered, givenUp, elected, killed, parked, restarted, cutOff, paused, asking, pausedAsking} {
		t.Run(sc.name, func(t *testing.T) {
			report := explore(sc, allRules, "")
			if report.Broken != "" {
				t.Errorf("\n%s", report)
			}
			t.Log(report)
		})
	}
}

// TestEachRuleOfBlocksIsNeeded turns each rule off alone. The check must find the harm that the rule prevents.
func TestEachRuleOfBlocksIsNeeded(t *testing.T) {
	tested := make(map[rule]bool)
	for _, c := range []struct {
		off  rule
		sc   scenario
		harm model.Harm
	}{
		{compareAndSet, racing, overspent},
		{absolute, unanswered, forEver},
		{blocksFirst, racing, overspent},
		{ledgerNotOlder, elected, overspent},
		{flushBeforeRead, racing, overspent},
		{unknownIsUnknown, givenUp, overspent},
		{unknownIsUnknown, givenUp, forEver},
		{blockOfRun, restarted, overspent},
		{contactRenews, cutOff, overspent},
		{coveredAtStart, paused, overspent},
		{coveredAtStart, pausedAsking, overspent},
		{markFirst, killed, overspent},
		{markFirst, killed, missing},
		{marksKeepBlocks, killed, overspent},
		{marksAfterGone, killed, overspent},
		{flushBeforeMark, killed, missing},
		{marksAgain, parked, forEver},
		{blocksRemoved, killed, forEver},
		{holdsSettled, asking, forEver},
		{holdsFirst, asking, overspent},
	} {
		tested[c.off] = true
		t.Run(c.off.String()+" "+c.sc.name, func(t *testing.T) {
			report := explore(c.sc, allRules&^(1<<c.off), c.harm)
			if report.Broken != c.harm {
				t.Errorf("the check does not find %q", c.harm)
			}
			t.Logf("after %d states:\n%s", report.States, report)
		})
	}
	for rule := range ruleCount {
		if !tested[rule] {
			t.Errorf("%s has no test", rule)
		}
	}
}
