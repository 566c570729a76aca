package service

import (
	"testing"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/testgo"
	"github.com/thinkd/thinkd/session/tool"
)

// A client from the network cannot declare that its tool only reads: such tools run in all modes.
func TestHostileEffects(t *testing.T) {
	testgo.Cost(t)
	for _, declared := range []tool.Effect{"", tool.Read, tool.Edit, tool.Run, tool.Other} {
		for _, sameUser := range []bool{true, false} {
			want := declared
			if declared == tool.Read && !sameUser {
				want = tool.Other
			}
			tools, err := ownTools([]tool.Tool{{Tool: provider.Tool{Name: "t"}, Effect: declared}}, sameUser)
			if err != nil || tools[0].Effect != want {
				t.Errorf("%q of the same user %v: %+v, %v", declared, sameUser, tools, err)
			}
		}
	}
}
