package door

import "strconv"

// The methods that the daemon has for commands of the same user, who come over the unix socket. rpc.discover does not
// name them: they may change with each version.
const (
	MethodStatus = "daemon/status"
	MethodConfig = "daemon/config"
	MethodLeave  = "daemon/leave"
	MethodStop   = "daemon/stop"
	MethodListen = "daemon/listen"
	MethodDoor   = "daemon/door"
	MethodBackup = "daemon/backup"
	MethodCheck  = "daemon/check"

	MethodCompact = "daemon/compact"
	MethodCluster = "daemon/cluster"
	MethodDrain   = "daemon/drain"
)

// Status is a daemon as its own commands see it.
type Status struct {
	Version      string `json:"version"`
	PID          int    `json:"pid"`
	Inputs       string `json:"inputs"`        // a sum of what the config is made of: equal sums are equal configs
	Variables    string `json:"variables"`     // the names of the environment's variables among that, separated by spaces
	Running      int    `json:"running"`       // sessions in which a turn runs
	Sessions     string `json:"sessions"`      // their ids, with spaces between them
	Parked       int    `json:"parked"`        // turns that wait until a time; they keep the daemon running
	Clients      int    `json:"clients"`       // this one included
	Listen       string `json:"listen"`        // where it serves browsers; empty: nowhere
	MessageBytes int    `json:"message_bytes"` // the largest message
	SpreadMS     int64  `json:"spread_ms"`     // over which the doors of a daemon that has ended look for the next one
	Started      int64  `json:"started"`       // Unix time in ms
}

// DaemonConfig describes the config of a daemon.
type DaemonConfig struct {
	Path  string            `json:"path"`  // the file; empty: there is none
	Facts map[string]string `json:"facts"` // a digest of each value, for comparisons
}

// Params are those of daemon/door, which leaves the connection to a client of a door.
type Params struct {
	Protocol string `json:"protocol,omitempty"` // that the client speaks: empty is the native one, or ProtocolACP
}

// ProtocolACP is the Agent Client Protocol.
const ProtocolACP = "acp"

// Leaving is the answer to daemon/leave.
type Leaving struct {
	Later bool `json:"later"` // a turn runs; the daemon ends as soon as none does
}

// ListenParams are those of daemon/listen.
type ListenParams struct {
	Address string `json:"address"`
}

// ListenResult is the answer to daemon/listen.
type ListenResult struct {
	URL string `json:"url"`
}

// BackupParams are those of daemon/backup.
type BackupParams struct {
	Path string `json:"path"` // absolute
}

// StoreReport is what a check of the store found.
type StoreReport struct {
	Sessions int           `json:"sessions"`
	Entries  int           `json:"entries"`
	Size     int64         `json:"size"` // of the file, in bytes
	Free     int64         `json:"free"` // of size: what later writes take before the file grows
	Damaged  []StoreDamage `json:"damaged"`

	// Of images and documents that a backup has copied as well.
	Blobs     int `json:"blobs,omitempty"`
	LostBlobs int `json:"lost_blobs,omitempty"` // damaged, so that there is no copy
}

// Compaction is the store's file before and after it was rewritten.
type Compaction struct {
	Before StoreReport `json:"before"`
	After  StoreReport `json:"after"`
}

// StoreDamage is what is wrong with one session.
type StoreDamage struct {
	Session string `json:"session_id"`
	Error   string `json:"error"`
}

// Stale is the notification that a client missed updates of a session. It is of the native protocol, but a door sends it
// too, for a daemon that has ended.
func Stale(session string, after uint64) []byte {
	out := append([]byte(nil), `{"jsonrpc":"2.0","method":"stale","params":{"session_id":"`...)
	out = append(out, session...)
	out = append(out, `","after_seq":`...)
	out = strconv.AppendUint(out, after, 10)
	return append(out, `}}`...)
}

// ListUpdate is the notification that the list of sessions changed.
func ListUpdate(params []byte) []byte {
	return append(append([]byte(`{"jsonrpc":"2.0","method":"list_update","params":`), params...), '}')
}

// ListStale is the last ListUpdate of a subscription: the client missed changes. A door sends it too, for a daemon that has ended.
func ListStale() []byte { return ListUpdate([]byte(`{"stale":true}`)) }

// StopParams say for how long a stop waits until no turn runs.
type StopParams struct {
	WaitMS int64 `json:"wait_ms"`
}

// Stopping is a daemon that has begun to end.
type Stopping struct {
	Interrupted []string `json:"interrupted"` // sessions whose turn is interrupted
	Clients     int      `json:"clients"`     // that are connected, besides the one that asked
}
