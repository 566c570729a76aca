package mem

import (
	"testing"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

func TestMem(t *testing.T) {
	t.Parallel()
	storetest.RunLocal(t, func(*testing.T) session.Local { return New() })
}
