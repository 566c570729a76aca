package jet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Link carries requests to the store servers. Its methods are safe for concurrent use, and return when ctx ends, or when no answer came
// in time. A try has a number: another try of the same request takes another connection, if there is one.
type Link interface {
	// Request sends a message and returns its answer.
	Request(ctx context.Context, try int, m *nats.Msg) (*nats.Msg, error)

	// Collect sends a message and returns its answers, up to and including the first that has a status.
	Collect(ctx context.Context, try int, m *nats.Msg) ([]*nats.Msg, error)
}

// answerTime is how long a try waits. It is short, because a stream without a leader does not answer at all.
const answerTime = 2 * time.Second

// Conns is a Link over connections to the servers of one cluster. Dial makes such connections.
type Conns []*nats.Conn

var errNoConn = errors.New("no connection to a store server")

// Dial connects to a server, now or as soon as it can be reached. The connection sends nothing later than it was asked to: a message that
// its caller has given up must not be stored when the server comes back.
func Dial(url string, options ...nats.Option) (*nats.Conn, error) {
	return nats.Connect(url, append([]nats.Option{
		nats.Name("thinkd"), nats.ReconnectBufSize(-1), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond), nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
	}, options...)...)
}

func (c Conns) conn(try int) (*nats.Conn, error) {
	for i := range c {
		if conn := c[(try+i)%len(c)]; conn.IsConnected() {
			return conn, nil
		}
	}
	return nil, errNoConn
}

// Request implements Link.
func (c Conns) Request(ctx context.Context, try int, m *nats.Msg) (*nats.Msg, error) {
	conn, err := c.conn(try)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return conn.RequestMsgWithContext(ctx, m)
}

// Collect implements Link.
func (c Conns) Collect(ctx context.Context, try int, m *nats.Msg) (list []*nats.Msg, err error) {
	conn, err := c.conn(try)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	inbox := conn.NewRespInbox()
	sub, err := conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() {
		if left := sub.Unsubscribe(); left != nil && !errors.Is(left, nats.ErrConnectionClosed) {
			err = errors.Join(err, left)
		}
	}()
	ask := nats.NewMsg(m.Subject)
	ask.Reply, ask.Data = inbox, m.Data
	if err := conn.PublishMsg(ask); err != nil {
		return nil, err
	}
	for {
		answer, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, fmt.Errorf("answer %d: %w", len(list)+1, err)
		}
		if list = append(list, answer); answer.Header.Get("Status") != "" {
			return list, nil
		}
	}
}
