package rpc

import "time"

// When clients come back to a daemon that went. All of them notice in the same moment; a daemon that begins takes some
// 1,000 a second without a sweat, so they are told beforehand to take any time below a bound that grows with their number.
// One that came early was told of few and comes back early, one that came late of many: together they come evenly
// enough. A daemon that is killed says nothing any more, hence beforehand, and to all in one place.
const (
	perClient    = time.Millisecond       // of the bound
	daemonStart  = 100 * time.Millisecond // before that it is of no use to try
	fewClients   = 250 * time.Millisecond // the bound for next to none
	maxReconnect = 15 * time.Second
)

// reconnect is how long a client waits after its connection broke: any time between the two. It doubles both with each
// try that fails.
type reconnect struct {
	Min int64 `json:"min_ms"`
	Max int64 `json:"max_ms"`
}

// spread is the time over which the clients that there are had better come back.
func (s *Server) spread() time.Duration {
	return min(time.Duration(s.crowd())*perClient, maxReconnect)
}

func (s *Server) reconnect() reconnect {
	return reconnect{daemonStart.Milliseconds(), min(fewClients+s.spread(), maxReconnect).Milliseconds()}
}
