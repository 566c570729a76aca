// Package presence decides which nodes of a cluster are gone, and whether this node may judge that. It has no network and no clock of
// its own: its caller sends the heartbeats, and says what arrives and when.
//
// Each node sends a heartbeat on its connection to each store server, twice a second. A server passes it on to all nodes that are connected
// to it or to its peers, so a node hears the others, and itself:
//
//	Contact: a majority of the servers returned a heartbeat of this node that was sent less than CutOff ago, and that was so
//	         without a break for CutOff
//	Gone:    nothing of the peer arrived for longer than Silence, and a majority of the servers returned a heartbeat of this node
//	         that was sent after the Silence of the peer had passed
//
// Any two majorities share a server. On a server that is shared, two nodes in contact hear each other. So of two nodes in contact neither
// takes the other one for gone, whatever connections are cut, and a node that others take for gone is out of contact and knows it. The
// second condition of Gone keeps a slow listener from judging: it hears its own heartbeat behind all that it has not read yet.
//
// A node that is out of contact may still reach one server, and be heard. Its heartbeats say that it is alone, and then they do not count for
// others. Otherwise nobody would serve its sessions for as long as the other connections are cut.
//
// A node that comes back waits for CutOff before it relies on its contact. The evidence of a judge may be that old: a slow one may just be reading
// of a silence that is over.
//
// Times are those of one machine. The caller takes them from a clock that counts suspension (CLOCK_BOOTTIME), so that a node that was
// stopped is out of contact when it goes on.
package presence
