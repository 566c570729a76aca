package audit

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/dispatch"
	"github.com/thinkd/thinkd/rpc/door"
	"github.com/thinkd/thinkd/session"
)

// Log appends records to the files of a folder. It is a [dispatch.Auditor], and safe for concurrent use.
type Log struct {
	dir string
	log *slog.Logger // for errors
	now func() time.Time

	mu   sync.Mutex
	file *os.File // of day; nil: none is open
	day  session.Day
	lost int // records that could not be written

	since   time.Time // when the minute began in which refused logins are counted
	refused int       // in this minute
	others  int       // that were not recorded

	said string // the last error in log

	wrote func() // after each record; nil: nobody waits for one
}

// Open makes the folder if it is not there. The caller closes the log. Errors of writes go to log.
func Open(dir string, log *slog.Logger) (*Log, error) {
	return &Log{dir: dir, log: log, now: time.Now}, durable.MakeDir(dir)
}

// Notify has f called after each record that was written. f must not block. Call Notify before other goroutines use the log.
func (l *Log) Notify(f func()) { l.wrote = f }

// Note records a request.
func (l *Log) Note(e dispatch.Event) {
	o := e.Principal.Owner
	r := Record{User: o.User, Tenant: o.Tenant, From: e.Origin.From, Token: e.Origin.Token, Method: e.Method, Session: string(e.Session), Made: string(e.Made)}
	switch e.Method {
	case door.MethodDeleteUser, door.MethodUserSessions, door.MethodDeleteSession:
		r.About = &About{gjson.GetBytes(e.Params, "tenant").String(), gjson.GetBytes(e.Params, "user").String()}
		r.Session = gjson.GetBytes(e.Params, "session_id").String()
	}
	if e.Failure != nil {
		r.Code, r.Kind = int(e.Failure.Code), e.Failure.DataKind()
	}
	l.Append(r)
}

// Refused records that a client on the network showed a token or a cookie that lets nobody in. Of a flood, a bounded number a minute is
// recorded; the next one that is has the count of the others.
func (l *Log) Refused(from string) {
	l.mu.Lock()
	now := l.now()
	if now.Sub(l.since) >= time.Minute || now.Before(l.since) {
		l.since, l.refused = now, 0
	}
	if l.refused++; l.refused > maxRefused {
		l.others++
		l.mu.Unlock()
		return
	}
	others := l.others
	l.others = 0
	l.mu.Unlock()
	l.Append(Record{From: from, Method: MethodLogin, Code: int(conn.CodeUnauthorized), Kind: conn.CodeUnauthorized.Kind(), Others: others})
}

// MethodLogin stands in records of clients that were not let in: they have called no method.
const MethodLogin = "login"

// maxRefused is how many refused logins of a minute are recorded.
const maxRefused = 20

// Append records something else. It sets the time.
func (l *Log) Append(r Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Time, r.Lost = Stamp(l.now()), l.lost
	if err := l.writeLocked(r); err != nil {
		l.lost++
		if err.Error() != l.said { // not with each request
			l.log.Error("audit: requests are not recorded", "err", err)
		}
		l.said = err.Error()
		return
	}
	l.lost, l.said = 0, ""
	if l.wrote != nil {
		l.wrote()
	}
}

func (l *Log) writeLocked(r Record) error {
	if l.file == nil || r.day() != l.day {
		if err := l.openLocked(r.day()); err != nil {
			return err
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	n, err := l.file.Write(append(text, '\n'))
	if err != nil && n > 0 { // the next record begins on a line of its own
		err = errors.Join(err, l.closeLocked())
	}
	return err
}

// openLocked makes file that of a day. A record that was cut off, because the disk was full or the power was lost, ends there.
func (l *Log) openLocked(day session.Day) error {
	if err := l.closeLocked(); err != nil {
		return err
	}
	f, err := durable.Open(filepath.Join(l.dir, string(day)+ending), os.O_RDWR|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	last := make([]byte, 1)
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil && size > 0 {
		_, err = f.ReadAt(last, size-1)
	}
	if err == nil && size > 0 && last[0] != '\n' {
		_, err = f.Write([]byte("\n"))
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	l.file, l.day = f, day
	return nil
}

// closeLocked makes the open file durable and closes it.
func (l *Log) closeLocked() error {
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.file.Sync(), l.file.Close())
	l.file = nil
	return err
}

// Close makes all records durable. Later ones open the file again.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closeLocked()
}
