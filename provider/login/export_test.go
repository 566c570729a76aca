package login

import "time"

// Lasting is a credential that is valid for some time, and is to be renewed after half of it.
func Lasting(c Credential, life time.Duration) Credential {
	c.lifetime(life/2, life)
	return c
}
