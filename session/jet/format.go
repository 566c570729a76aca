package jet

import (
	"encoding/json"
	"fmt"

	"github.com/thinkd/thinkd/session"
)

// format is the value of a store that says how it was made.
type format struct {
	Version int    `json:"version"`
	Shards  int    `json:"shards"`
	ID      string `json:"id,omitempty"` // random: a store that is restored is another one
}

const version = 1

// maxShards is how many streams for logs a store may have.
const maxShards = 64

// formatOf reads a format.
func formatOf(data []byte) (f format, err error) {
	if err := json.Unmarshal(data, &f); err != nil {
		return f, fmt.Errorf("%w: %w", session.ErrDamaged, err)
	}
	if f.Version > version {
		return f, session.ErrNewer
	}
	if f.Shards < 1 || f.Shards > maxShards {
		return f, fmt.Errorf("%w: %d shards", session.ErrDamaged, f.Shards)
	}
	return f, nil
}
