package jet

// SetNear sets how many messages of others may be between those that are read forward.
func (s *Store) SetNear(n uint64) { s.near = n }
