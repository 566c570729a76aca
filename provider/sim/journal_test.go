package sim

import (
	"net/http/httptest"
	"testing"
)

// TestJournalIsBounded: the oldest requests go first.
func TestJournalIsBounded(t *testing.T) {
	var j journal
	for range journalBytes>>20 + 100 {
		j.body(j.add(httptest.NewRequest("POST", "/", nil)), make([]byte, 1<<20))
	}
	if j.bytes > journalBytes || len(j.requests) < 60 {
		t.Errorf("%d bytes in %d requests", j.bytes, len(j.requests))
	}
}
