package mem

import (
	"testing"

	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/storetest"
)

func TestMem(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) session.Store { return New() })
}
