package rpc

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/session"
)

// StoreReport is what a check of the store found.
type StoreReport struct {
	Sessions int           `json:"sessions"`
	Entries  int           `json:"entries"`
	Size     int64         `json:"size"` // of the file, in bytes
	Free     int64         `json:"free"` // of size: what later writes take before the file grows
	Damaged  []StoreDamage `json:"damaged"`

	// Of images and documents that a backup has copied as well.
	Blobs     int `json:"blobs,omitempty"`
	LostBlobs int `json:"lost_blobs,omitempty"` // damaged, so that there is no copy
}

// StoreDamage is what is wrong with a session.
type StoreDamage struct {
	Session session.ID `json:"session_id"`
	Error   string     `json:"error"`
}

// NewStoreReport is a report for the wire.
func NewStoreReport(r session.Report) StoreReport {
	w := StoreReport{Sessions: r.Sessions, Entries: r.Entries, Size: r.Size, Free: r.Free, Damaged: []StoreDamage{}}
	for _, d := range r.Damaged {
		w.Damaged = append(w.Damaged, StoreDamage{d.ID, d.Err.Error()})
	}
	return w
}

// Backup has the daemon copy its store to a new file and check the copy. The path is absolute.
func (l *Link) Backup(path string) (r StoreReport, err error) {
	return r, l.Call(methodBackup, backupParams{path}, &r)
}

// Check has the daemon check all of its store while it is in use.
func (l *Link) Check() (r StoreReport, err error) {
	return r, l.Call(methodCheck, nothing{}, &r)
}

type backupParams struct {
	Path string `json:"path"`
}

func backup(_ context.Context, c *client, p backupParams) (func(context.Context) (StoreReport, error), error) {
	run := c.local.Backup
	switch {
	case run == nil:
		return nil, conn.ErrMethodNotFound
	case !filepath.IsAbs(p.Path):
		return nil, invalidParams("path", "%q is not absolute", p.Path)
	}
	return reporting(func(ctx context.Context) (StoreReport, error) { return run(ctx, p.Path) }), nil
}

func check(_ context.Context, c *client, _ nothing) (func(context.Context) (StoreReport, error), error) {
	if c.local.Check == nil {
		return nil, conn.ErrMethodNotFound
	}
	return reporting(c.local.Check), nil
}

// reporting tells why there is no report: whoever asks is the store's owner.
func reporting(run func(context.Context) (StoreReport, error)) func(context.Context) (StoreReport, error) {
	return func(ctx context.Context) (StoreReport, error) {
		r, err := run(ctx)
		if err != nil && ctx.Err() == nil && !errors.Is(err, session.ErrClosed) {
			return StoreReport{}, &conn.Error{Code: conn.CodeInternal, Message: err.Error()}
		}
		return r, err
	}
}
