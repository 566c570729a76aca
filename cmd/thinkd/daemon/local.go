package daemon

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/thinkd/thinkd/rpc"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session/bolt"
)

// local is what commands of the same user may ask.
func (h *host) local() *rpc.Local {
	local := &rpc.Local{Status: h.status, Leave: h.makeWay, Listen: h.listen,
		Config: func(context.Context) (door.DaemonConfig, error) {
			return door.DaemonConfig{Path: h.daemon.configPath, Facts: h.daemon.inputs.Facts}, nil
		}}
	if store, ok := h.daemon.store.(*bolt.Store); ok {
		local.Backup = func(ctx context.Context, path string) (door.StoreReport, error) { return h.backup(ctx, store, path) }
		local.Check = func(ctx context.Context) (door.StoreReport, error) {
			report, err := store.Check(ctx)
			return rpc.NewStoreReport(report), err
		}
	}
	return local
}

func (h *host) status(context.Context) (door.Status, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return door.Status{Version: h.version, PID: os.Getpid(),
		Inputs: h.daemon.inputs.Sum, Variables: strings.Join(h.daemon.inputs.Variables, " "), Running: h.daemon.agents.Running(),
		Clients: len(h.clients), Listen: h.daemon.listening()}, nil
}

// makeWay ends the daemon for a newer one. A turn that begins after this look is interrupted.
func (h *host) makeWay(context.Context) error {
	if h.idle == 0 {
		return &conn.Error{Code: conn.CodeBusy, Message: "this daemon was started to stay"}
	}
	if h.daemon.agents.Running() > 0 {
		return &conn.Error{Code: conn.CodeBusy, Message: "a turn is running"}
	}
	select {
	case h.asked <- struct{}{}:
	default:
	}
	return nil
}

// BlobsOf is where a backup has its images and documents.
func BlobsOf(path string) string { return path + ".blobs" }

// backup copies the store, then what its sessions refer to: that is only ever added to, and removed by a start alone.
func (h *host) backup(ctx context.Context, store *bolt.Store, path string) (door.StoreReport, error) {
	if _, err := os.Lstat(BlobsOf(path)); err == nil {
		return door.StoreReport{}, &fs.PathError{Op: "mkdir", Path: BlobsOf(path), Err: fs.ErrExist}
	}
	report, err := store.Backup(ctx, path)
	if err != nil {
		return door.StoreReport{}, err
	}
	r := rpc.NewStoreReport(report)
	r.Blobs, r.LostBlobs, err = h.daemon.blobs.Copy(ctx, BlobsOf(path))
	if err != nil {
		return r, fmt.Errorf("%s is whole; its images and documents: %w", path, err)
	}
	return r, nil
}
