package main

import "math"

// memoryOfSession is for the two subjects of a session, in bytes: a server keeps an index of all subjects. It was measured as heap, with 500,000 subjects in one
// server: 222 bytes each. The collector lets the heap double.
const memoryOfSession = 2 * 222 * 2

// load is what people do with a cluster.
type load struct {
	Sessions float64 // that are stored
	Live     float64 // turns that run at once
	Nodes    float64
}

// What a turn is. The figures are assumptions.
const (
	liveShare     = 0.001 // of the sessions, a turn runs at any moment
	turnSeconds   = 60.0
	callsPerTurn  = 3.0 // model calls
	appendsAround = 3.0 // the prompt, the start of the turn, and its end
	appendsInCall = 2.0
	liveOfNode    = 1250.0 // turns that one node has; planned, not measured
	stores        = 3.0
	bodyBytes     = 2000.0 // of an append; the constants have 100
	appendsKept   = 27.0   // appends that a session has: three turns
	shards        = 4
)

// constants are what one thing costs one store server. Measured with three servers, each a process, by "go run ./bench/cluster -measure".
type constants struct {
	Writes  float64 // system calls that write, per append: each waits for the disk
	Written float64 // bytes that go to the disk, per append of about 100 bytes
	Stored  float64 // bytes that stay, per append
	CPU     float64 // seconds of processor time, per append

	Create        float64 // the same, per session that is made
	CreateWrites  float64
	CreateWritten float64
	CreateCPU     float64
}

// measured are the constants of 2026-11-28, with 4,000 sessions.
var measured = constants{Writes: 4.66, Written: 5236, Stored: 856, CPU: 0.00022, Create: 1054, CreateWrites: 10.4, CreateWritten: 8747, CreateCPU: 0.00058}

// costs are those of one store server, per second where nothing else is said.
type costs struct {
	Appends     float64 // of logs
	Values      float64 // accounts, budgets, marks
	Checkpoints float64 // in memory
	Heartbeats  float64 // that a node gets
	Writes      float64
	Written     float64 // bytes
	Disk        float64 // bytes that stay
	Memory      float64 // bytes, without what open blocks take
	CPU         float64 // processors that are busy
	Serial      float64 // changes of the one value with budgets
}

// loadOf is the load of so many sessions.
func loadOf(sessions float64) load {
	live := math.Max(1, sessions*liveShare)
	return load{Sessions: sessions, Live: live, Nodes: math.Max(3, math.Ceil(live/liveOfNode)+1)}
}

// predict says what a load costs.
func (c constants) predict(l load) costs {
	turns := l.Live / turnSeconds
	out := costs{
		Appends:     turns * (appendsAround + appendsInCall*callsPerTurn),
		Values:      turns * (1 + 1 + callsPerTurn), // an account, a mark, and a charge of each call
		Checkpoints: l.Live,
		Heartbeats:  2 * stores * stores * l.Nodes, // on each connection a node gets what was sent on each
		Serial:      turns * callsPerTurn,
		Memory:      l.Sessions * memoryOfSession,
		Disk:        l.Sessions * c.session(),
	}
	stored := out.Appends + out.Values
	out.Writes, out.CPU = stored*c.Writes, stored*c.CPU
	out.Written = stored*c.Written + 2*out.Appends*(bodyBytes-100) // once in the Raft log, and once in the stream
	return out
}

// session is the bytes on disk that a session takes.
func (c constants) session() float64 { return c.Create + appendsKept*(c.Stored+bodyBytes-100) }

// scales are the numbers of sessions in the table.
var scales = []float64{1e3, 1e5, 1e7}

// limit is a bound of the design.
type limit struct {
	What, Why string
	Live      float64 // turns at which it is reached; 0: not yet measured
}

// limits have different remedies, so they are in no order.
func (c constants) limits() []limit {
	return []limit{
		{"disk", "200 GB of logs on each server: after a kill a server reads all of it", 200e9 / c.session() * liveShare},
		{"memory", "16 GB for sessions on each server", 16e9 / memoryOfSession * liveShare},
		{"budgets", "one value for all sessions, changed at each model call, one change after another", 0},
		{"writes", "each stream for logs syncs one append after another", 0},
	}
}
