package jet

import "time"

// SetNear sets how many messages of others may be between those that are read forward.
func (s *Store) SetNear(n uint64) { s.near = n }

// SetClock sets the clock by which fights are judged.
func (s *Store) SetClock(now func() time.Time) { s.fights.now = now }
