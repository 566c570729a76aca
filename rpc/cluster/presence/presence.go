package presence

import "time"

// The times of the cluster. CutOff is that much shorter than Silence that a node is out of contact, and has been for Margin, before
// another node takes it for gone.
const (
	Interval = 500 * time.Millisecond // between two heartbeats
	CutOff   = 3 * time.Second
	Silence  = 5 * time.Second
	Margin   = Silence - CutOff
)

// MaxServers is how many store servers a cluster may have.
const MaxServers = 5

// Times are the limits of a Table. They are given so that tests can be faster than the cluster.
type Times struct {
	CutOff, Silence time.Duration
}

// Default has the times of the cluster.
var Default = Times{CutOff: CutOff, Silence: Silence}

// Contact is what a node knows about its own contact with the store servers. The zero value is not in contact. It is a small comparable
// value, so that the model check in rpc/cluster/model can visit all its states.
type Contact struct {
	servers  int
	returned [MaxServers]time.Duration // when the newest heartbeat was sent that a server returned; 0: none was
	since    time.Duration             // when the contact of now began, or begins
	until    time.Duration             // when that contact ends, unless more heartbeats return
}

// NewContact is for a cluster with so many store servers, at most MaxServers.
func NewContact(servers int) Contact { return Contact{servers: servers} }

// Returned takes a heartbeat of this node that came back from a server. sent is when it was sent, later than 0.
func (c *Contact) Returned(server int, sent, now time.Duration, times Times) {
	c.returned[server] = max(c.returned[server], sent)
	confirmed := c.Confirmed()
	if confirmed == 0 {
		return
	}
	if now >= c.until { // the contact before has ended, and its heartbeats have said so meanwhile: see Alone
		c.since = now + times.CutOff
	}
	c.until = max(c.until, confirmed+times.CutOff)
}

// Confirmed is the time up to which a majority of the servers is known to have passed on what this node sent, and so, what they had
// received of others before. 0: no majority has.
func (c *Contact) Confirmed() time.Duration {
	need := c.servers/2 + 1
	best := time.Duration(0)
	for _, at := range c.returned[:c.servers] {
		n := 0
		for _, other := range c.returned[:c.servers] {
			if other >= at {
				n++
			}
		}
		if n >= need {
			best = max(best, at)
		}
	}
	return best
}

// Newest is the server that returned the newest heartbeat of this node.
func (c *Contact) Newest() (server int) {
	for i, at := range c.returned[:c.servers] {
		if at > c.returned[server] {
			server = i
		}
	}
	return server
}

// Since returns when the node's contact with the others began, as of now. ok is false if the node is cut off: then it starts no model
// call and no tool, publishes nothing to clients and accepts nothing. What was confirmed or sent before since must be confirmed again.
func (c *Contact) Since(now time.Duration) (since time.Duration, ok bool) {
	if c.until == 0 || now < c.since || now >= c.until {
		return 0, false
	}
	return c.since, true
}

// Alone reports whether no majority has returned a heartbeat of the last CutOff. Such a node may still reach a server, and be heard through it.
// So its heartbeats say that it is alone, and then they do not count for others: a node that serves nothing must not be taken for one that
// does. For its own contact they count. They stop saying so before the node relies on its contact: see Since.
func (c *Contact) Alone(now time.Duration, times Times) bool {
	confirmed := c.Confirmed()
	return confirmed == 0 || now-confirmed >= times.CutOff
}

// InTime reports whether a model call or a tool may start now: its entry was sent in the present contact, less than Margin
// (Silence - CutOff) ago. So no other node can have decided meanwhile that this one is gone. Otherwise the owner appends an empty
// entry, and starts after that one.
func (c *Contact) InTime(sent, now time.Duration, times Times) bool {
	since, ok := c.Since(now)
	return ok && sent >= since && now-sent < times.Silence-times.CutOff
}

// Gone reports whether this node may treat a peer as gone. The last message of the peer came at heard. A goodbye of the peer, or a
// heartbeat of another incarnation of it, decides without this. For a peer that has sent nothing yet, heard is the time when this node
// began to listen. A node that claims a log calls Gone after it has read the last message, not before.
func (c *Contact) Gone(heard, now time.Duration, times Times) bool {
	_, ok := c.Since(now)
	return ok && now-heard > times.Silence && c.Confirmed() > heard+times.Silence
}
