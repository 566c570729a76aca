package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/thinkd/thinkd/cmd/thinkd/daemon/systemd"
)

// The daemon's socket lies in the data directory. Where that path is too long for one, the socket lies elsewhere, and
// socketPathName in the data directory holds its path.
const (
	socketName     = "thinkd.sock"
	socketPathName = "sock.path"
)

// maxSocketPath is the size of sun_path without its zero byte (unix(7), unix(4) on macOS, afunix.h on Windows).
func maxSocketPath(goos string) int {
	if goos == "linux" || goos == "windows" {
		return 107
	}
	return 103
}

// findSocket is where a daemon of the data directory listens, if there is one. os.ErrNotExist: there is none.
func findSocket(dir string) (string, error) {
	path := filepath.Join(dir, socketName)
	if len(path) <= maxSocketPath(goos) {
		return path, nil
	}
	named := filepath.Join(dir, socketPathName)
	info, err := os.Lstat(named)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file; links are not followed", named)
	}
	text, err := os.ReadFile(named)
	return strings.TrimSpace(string(text)), err
}

// Socket is where a daemon of the data directory listens. It is an error if the path of the directory is too long for a socket: then the
// daemon chooses another place.
func (o Options) Socket() (string, error) {
	dir, err := o.Data()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, socketName)
	if len(path) > maxSocketPath(goos) {
		return "", fmt.Errorf("%s is too long for a socket; choose a data directory with a shorter path", path)
	}
	return path, nil
}

// socket is what a daemon listens on.
type socket struct {
	*net.UnixListener
	path   string
	passed bool        // by the service manager, whose the file is
	info   os.FileInfo // of the socket's file, to remove no other; nil: it stays
}

// openSocket listens for the commands of this user and nobody else. Only the holder of the data directory's lock may
// call it: what lies in the socket's place is removed, unless the service manager listens there and passed its socket.
func openSocket(dir string, getenv func(string) string) (*socket, error) {
	path := filepath.Join(dir, socketName)
	elsewhere := len(path) > maxSocketPath(goos)
	if elsewhere {
		private, err := privateDir(getenv)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256([]byte(dir))
		path = filepath.Join(private, hex.EncodeToString(sum[:8])+".sock")
		if len(path) > maxSocketPath(goos) {
			return nil, fmt.Errorf("%s is too long for a socket; set XDG_RUNTIME_DIR or TMPDIR to a shorter path", path)
		}
	}
	s, err := passedSocket(path, getenv)
	if err == nil && s == nil {
		s, err = listenSocket(path)
	}
	if err != nil {
		return nil, err
	}
	if err = restrict(path); err == nil && !s.passed {
		s.info, err = os.Lstat(path)
	}
	if err == nil && elsewhere {
		err = writeSocketPath(dir, path)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// passedSocket is the socket of the service manager, if there is one.
func passedSocket(path string, getenv func(string) string) (*socket, error) {
	l, err := systemd.Socket(getenv)
	if l == nil || err != nil {
		return nil, err
	}
	if at := l.Addr().String(); at != path {
		return nil, errors.Join(fmt.Errorf("the service manager listens at %s, and commands look at %s: change ListenStream= in the socket unit, or the data directory", at, path), l.Close())
	}
	l.SetUnlinkOnClose(false)
	return &socket{UnixListener: l, path: path, passed: true}, nil
}

func listenSocket(path string) (*socket, error) {
	if err := removeSocket(path); err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // by then another may lie there
	return &socket{UnixListener: l, path: path}, nil
}

func removeSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().IsRegular() || info.IsDir():
		return fmt.Errorf("%s is not a socket; remove it", path)
	}
	return os.Remove(path)
}

// Close ends listening; the file goes if it is still ours.
func (s *socket) Close() error {
	err := s.UnixListener.Close()
	if info, statErr := os.Lstat(s.path); statErr == nil && s.info != nil && os.SameFile(info, s.info) {
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}

// socketFolder is where sockets lie whose data directory has too long a path.
func socketFolder(getenv func(string) string) string {
	if base := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(base) {
		return filepath.Join(base, "thinkd")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("thinkd-%d", os.Getuid()))
}

// privateDir is a directory with a short path that nobody else can look into.
func privateDir(getenv func(string) string) (string, error) {
	dir := socketFolder(getenv)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir() || !ours(info):
		return "", fmt.Errorf("%s is not a directory of this user; remove it", dir)
	}
	return dir, os.Chmod(dir, 0o700) // whatever the umask made of it
}

// writeSocketPath replaces the file, or a link in its place, as a whole.
func writeSocketPath(dir, path string) error {
	fresh := filepath.Join(dir, socketPathName+".new")
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(path + "\n")
	if err = errors.Join(err, f.Chmod(0o600), f.Close()); err != nil {
		return err
	}
	return os.Rename(fresh, filepath.Join(dir, socketPathName))
}

// Pauses between two looks at a socket that nobody listens on yet: each is twice the one before, up to maxPause.
const (
	firstPause = 5 * time.Millisecond
	maxPause   = 100 * time.Millisecond
)

func wait(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
