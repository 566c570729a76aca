package daemon

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/rpc/audit"
	"github.com/thinkd/thinkd/rpc/cluster/node"
	"github.com/thinkd/thinkd/rpc/cluster/trail"
)

// AuditDir is the folder of the records of requests in a data directory.
func AuditDir(dir string) string { return filepath.Join(dir, "audit") }

// auditReader reads a page of the records.
type auditReader func(ctx context.Context, q audit.Query, after audit.Place, limit int) (audit.Page, error)

// records are what a daemon records of requests. The zero value records nothing.
type records struct {
	audit *audit.Log     // nil: requests are not recorded
	trail *trail.Shipper // nil: as audit, or the daemon is no node
	read  auditReader    // nil: as audit
}

// openRecords begins to record requests in a folder. A node sends its records to the store, and reads those of all nodes; to is nil if the daemon
// is no node.
func openRecords(ctx context.Context, dir string, to *node.Node, log *slog.Logger) (r records, err error) {
	if r.audit, err = audit.Open(dir, log); err != nil {
		return records{}, err
	}
	if to == nil {
		r.read = func(_ context.Context, q audit.Query, after audit.Place, limit int) (audit.Page, error) {
			return audit.Read(dir, q, after, limit)
		}
		return r, nil
	}
	stream, err := to.OpenAudit(ctx)
	if err != nil {
		return r, err
	}
	if r.trail, err = trail.Start(trail.Config{Stream: stream, Dir: dir, Node: to.Name(), Log: log}); err != nil {
		return r, err
	}
	r.audit.Notify(r.trail.Wake)
	r.read = trail.Reader{Stream: stream, Dir: dir, Node: to.Name()}.Read
	return r, nil
}

// sendTime bounds how long the end of a node waits until its last records are sent.
const sendTime = 5 * time.Second

// close makes all records durable, and sends what is left of them. The store is still open.
func (r records) close(log *slog.Logger) error {
	if r.audit == nil {
		return nil
	}
	err := r.audit.Close()
	if r.trail == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), sendTime)
	defer cancel()
	if left := r.trail.Close(ctx); left != nil {
		log.Warn("the end of this node", "err", left)
	}
	return err
}

// ExportAudit writes the records of a data directory as JSON lines, or those of all nodes if the config has a cluster. damaged counts lines that are no
// records.
func ExportAudit(ctx context.Context, out io.Writer, dir string, c config.Config, q audit.Query) (damaged int, err error) {
	if c.Cluster == nil || !c.Auth.Users {
		return audit.Export(out, AuditDir(dir), q)
	}
	stream, end, err := node.OpenAudit(ctx, clusterOf(*c.Cluster, slog.New(slog.DiscardHandler)))
	if err != nil {
		return 0, err
	}
	defer end()
	return trail.Reader{Stream: stream, Dir: AuditDir(dir), Node: c.Cluster.Name}.Export(ctx, out, q)
}
