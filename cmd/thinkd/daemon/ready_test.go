package daemon

import "testing"

// A daemon whose store takes nothing says so to whoever would send clients to it, until the store does again.
func TestReadyFollowsTheStore(t *testing.T) {
	d := &daemon{log: discard, lost: make(chan error, 1)}
	for _, readOnly := range []bool{false, true, false} {
		d.storeState(readOnly, nil)
		if err := d.ready(); (err != nil) != readOnly {
			t.Errorf("read only %v: %v", readOnly, err)
		}
	}
}
