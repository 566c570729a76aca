package usersocket

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/thinkd/thinkd/rpc/auth"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/method"
	"github.com/thinkd/thinkd/session"
)

// Config says where the socket is, and for whom.
type Config struct {
	Path  string                // absolute
	Users map[int]session.Owner // by the number of the account; others are refused
	Limit int                   // bytes of a message

	// Serve is one life of a client. It ends with ctx, which is that of the lease, and closes the frames.
	Serve func(ctx context.Context, l *auth.Lease, f conn.Frames) error
	Log   *slog.Logger

	// Refused is called for each connection of an account that no user has; nil: nobody needs to know.
	Refused func(from string)
}

// Bounds of connections.
const (
	maxPeer = 64
	maxAll  = 1024
)

// Socket serves the clients of a socket until Close.
type Socket struct {
	config Config
	socket *net.UnixListener
	info   os.FileInfo // of our file

	ctx     context.Context // of all connections
	end     context.CancelCauseFunc
	running sync.WaitGroup // the accept loop and the connections

	mu    sync.Mutex
	peers map[int]int // connections of each account
	all   int
}

// Open listens. The caller closes the socket. A file of an earlier daemon in its place is removed; that of a daemon that still listens is an
// error, and so is a folder in which others could replace the socket.
func Open(c Config) (*Socket, error) {
	if !Supported {
		return nil, fmt.Errorf("socket under [auth]: %w on this system; let users in with tokens", errors.ErrUnsupported)
	}
	l, err := listen(c.Path)
	if err != nil {
		return nil, fmt.Errorf("socket under [auth]: %w", err)
	}
	s := &Socket{config: c, socket: l, peers: make(map[int]int)}
	if s.info, err = os.Lstat(c.Path); err == nil {
		err = os.Chmod(c.Path, 0o666) // until then, only this account could connect, or whom the umask admits
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s.ctx, s.end = context.WithCancelCause(context.Background())
	s.running.Go(s.accept) // ends when the socket is closed
	return s, nil
}

func listen(path string) (*net.UnixListener, error) {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if err := trusted(dir, info); err != nil {
		return nil, err
	}
	switch info, err := os.Lstat(path); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != os.ModeSocket:
		return nil, fmt.Errorf("%s is not a socket; remove it", path)
	default:
		if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
			c.Close()
			return nil, fmt.Errorf("another daemon listens at %s", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // by then another may lie there
	return l, nil
}

func (s *Socket) accept() {
	for {
		c, err := s.socket.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // for want of file descriptors, say
			s.config.Log.Warn("a user's client was refused", "err", err)
			select { // Close does not wait for the pause
			case <-time.After(pause):
			case <-s.ctx.Done():
			}
			continue
		}
		uid, err := peerOf(c)
		p, refusal := s.enter(uid, err)
		if refusal != nil {
			if s.config.Refused != nil && refusal.Code == conn.CodeUnauthorized {
				s.config.Refused(accountName(uid))
			}
			s.refuse(c, refusal)
			continue
		}
		s.running.Go(func() { // ends with the client or with s.ctx; Close waits
			defer s.leave(uid)
			s.serve(c, p, uid)
		})
	}
}

var pause = 100 * time.Millisecond // after an error of accept; a test lengthens it

const refuseTime = 100 * time.Millisecond // for a client to take a refusal, which fits into the socket's buffer

// enter is who a connection is for, or why it is refused.
func (s *Socket) enter(uid int, err error) (method.Principal, *conn.Error) {
	if err != nil {
		s.config.Log.Warn("a user's client was refused", "err", err)
		return method.Principal{}, &conn.Error{Code: conn.CodeUnauthorized, Message: "the system does not say whose this connection is"}
	}
	owner, ok := s.config.Users[uid]
	if !ok {
		s.config.Log.Warn("an account that is no user was refused", "uid", uid)
		return method.Principal{}, &conn.Error{Code: conn.CodeUnauthorized,
			Message: fmt.Sprintf("the account %d is not a user of this daemon; the operator can add it to socket_users under [auth] in the config", uid)}
	}
	p, err := auth.NewPrincipal(owner, []string{method.Use.String()})
	if err != nil {
		return p, &conn.Error{Code: conn.CodeUnauthorized, Message: err.Error()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.peers[uid] >= maxPeer || s.all >= maxAll {
		return p, &conn.Error{Code: conn.CodeOverloaded, Message: "too many connections"}
	}
	s.peers[uid]++
	s.all++
	return p, nil
}

func (s *Socket) leave(uid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.peers[uid]--; s.peers[uid] == 0 {
		delete(s.peers, uid)
	}
}

// refuse says why in one message, and hangs up.
func (s *Socket) refuse(c *net.UnixConn, why *conn.Error) {
	text, err := conn.EncodeFailure("", why)
	if err == nil {
		err = c.SetWriteDeadline(time.Now().Add(refuseTime))
	}
	if err == nil {
		_, err = c.Write(append(text, '\n'))
	}
	if err = errors.Join(err, c.Close()); err != nil {
		s.config.Log.Debug("a refusal was not sent", "err", err)
	}
}

func (s *Socket) serve(c *net.UnixConn, p method.Principal, uid int) {
	lease := auth.NewLease(s.ctx, auth.Grant{Principal: p, Valid: s.ctx, From: accountName(uid)}, nil)
	defer lease.Close()
	err := s.config.Serve(lease.Context(), lease, conn.NewByteFrames(c, s.config.Limit))
	s.config.Log.Debug("a user's client disconnected", "err", err)
}

// accountName is an account as the audit has it.
func accountName(uid int) string { return fmt.Sprintf("uid %d", uid) }

// Clients counts the connections.
func (s *Socket) Clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

// Refuse stops accepting, and removes the file if it is still ours. Connections that are there go on.
func (s *Socket) Refuse() error {
	err := s.socket.Close()
	if errors.Is(err, net.ErrClosed) { // it was called before
		return nil
	}
	if info, statErr := os.Lstat(s.config.Path); statErr == nil && os.SameFile(info, s.info) {
		err = errors.Join(err, os.Remove(s.config.Path))
	}
	return err
}

// Close ends the connections and waits for them.
func (s *Socket) Close() error {
	err := s.Refuse()
	s.end(conn.ErrClosing)
	s.running.Wait()
	return err
}
