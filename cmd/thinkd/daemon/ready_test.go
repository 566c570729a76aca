package daemon

import "testing"

// While its store is read-only, a daemon reports that it is not ready, so that a load balancer sends no clients to it.
func TestReadyFollowsTheStore(t *testing.T) {
	d := &daemon{log: discard, lost: make(chan error, 1)}
	for _, readOnly := range []bool{false, true, false} {
		d.storeState(readOnly, nil)
		if err := d.ready(); (err != nil) != readOnly {
			t.Errorf("read only %v: %v", readOnly, err)
		}
	}
}
