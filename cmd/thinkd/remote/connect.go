package remote

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
)

// early is how long before its end a token is renewed.
const early = time.Minute

// Connect makes a link to a daemon with the login to it.
func (l Logins) Connect(ctx context.Context, a Address) (*door.Link, error) {
	all, err := l.read()
	if err != nil {
		return nil, err
	}
	have, ok := all[a]
	if !ok {
		return nil, fmt.Errorf("there is no login to %s: run `thinkd remote login %[1]s`", a)
	}
	if !have.Expires.IsZero() && time.Until(have.Expires) < early {
		if have, err = l.renew(ctx, a, have); err != nil {
			return nil, err
		}
	}
	frames, err := conn.DialWebSocket(ctx, string(a)+"rpc", []string{"thinkd.v1", "thinkd.token." + have.Token}, math.MaxInt32)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a, err)
	}
	return door.Remote(frames), nil
}
