package node

import (
	"context"
	"fmt"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session/jet"
)

// Tables are those of a cluster, for a process that is no node.
type Tables struct {
	all   *jet.Tables
	conns jet.Conns
}

// OpenTables connects to the store servers of a cluster. The caller must call Close.
func OpenTables(ctx context.Context, c Config) (t Tables, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("the store servers do not answer in %v", startTime))
	defer cancel()
	if t.conns, err = c.dial(); err == nil {
		t.all, err = jet.OpenTables(ctx, t.conns, jet.TableOptions{Prefix: c.Prefix, Replicas: c.Replicas})
	}
	if err != nil {
		hangUp(t.conns)
		return t, fmt.Errorf("cluster: %w", err)
	}
	return t, nil
}

// OpenAudit opens the records of requests of all nodes, for a process that is no node. The caller must call end.
func OpenAudit(ctx context.Context, c Config) (a *jet.Audit, end func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("the store servers do not answer in %v", startTime))
	defer cancel()
	conns, err := c.dial()
	if err == nil {
		a, err = jet.OpenAudit(ctx, conns, c.audit())
	}
	if err != nil {
		hangUp(conns)
		return nil, nil, fmt.Errorf("cluster: %w", err)
	}
	return a, func() { hangUp(conns) }, nil
}

// Table is one of them.
func (t Tables) Table(name string) durable.Table { return t.all.Table(name) }

// Close ends the connections.
func (t Tables) Close() {
	t.all.Close()
	hangUp(t.conns)
}
