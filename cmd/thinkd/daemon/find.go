package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/thinkd/thinkd/cmd/thinkd/config"
	"github.com/thinkd/thinkd/rpc/door"
)

const (
	// startLimit is how long a daemon is looked for and waited for. The check of a large store takes its time.
	startLimit = 30 * time.Second

	// startEvery is how often, in looks at the socket, a start is tried while another process has the data directory and does not listen.
	startEvery = 4

	// maxMakeWay is how often in a row older daemons are asked to leave: where doors of two versions are in use, the
	// older one may be the quicker to start another.
	maxMakeWay = 3
)

// Connect finds the data directory's daemon, or starts one. notice is a line for the user: the daemon has another version or
// another config than this process; empty: it has not. It gives up after 30 s, or when ctx ends.
func (o Options) Connect(ctx context.Context) (link *door.Link, notice string, err error) {
	dir, err := o.Data()
	if err != nil {
		return nil, "", err
	}
	if _, _, err := o.configFile(); err != nil { // a file that is named has to be there, though a daemon runs with another
		return nil, "", err
	}
	ctx, stop := context.WithTimeout(ctx, startLimit)
	defer stop()
	var held *heldError
	var silence error // why the daemon did not answer, before time was over
	pause, madeWay := firstPause, 0
	for round := 0; ; round++ {
		link, err := Greet(ctx, dir)
		if silence == nil || ctx.Err() == nil {
			silence = err
		}
		switch {
		case err == nil && madeWay < maxMakeWay && older(link.Status.Version, o.Version):
			gone, later := makesWay(link)
			if !gone {
				return link, o.notice(link, later), nil
			}
			madeWay++
			continue
		case err == nil:
			return link, o.notice(link, false), nil
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			if held != nil {
				return nil, "", fmt.Errorf("%w (it does not answer: %w)", held, silence)
			}
			return nil, "", fmt.Errorf("the daemon does not answer: %w", silence)
		case ctx.Err() != nil:
			return nil, "", context.Cause(ctx)
		}
		if round%startEvery == 0 {
			err := o.start(ctx, dir)
			if err == nil {
				continue
			}
			var other bool
			if held, other = errors.AsType[*heldError](err); !other && ctx.Err() == nil {
				return nil, "", err
			}
		}
		wait(ctx, pause)
		pause = min(2*pause, maxPause)
	}
}

// Greet connects to the daemon that is there. It starts none.
func Greet(ctx context.Context, dir string) (*door.Link, error) {
	path, err := findSocket(dir)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	return door.Greet(ctx, conn)
}

// makesWay asks the daemon to leave. gone: it ends now, and the link is closed. later: it ends as soon as no turn runs.
func makesWay(link *door.Link) (gone, later bool) {
	later, err := link.Leave()
	if err == nil && !later || errors.Is(err, door.ErrDaemonGone) {
		link.Close()
		return true, false
	}
	return false, later
}

// notice is one line if the daemon has another version or another config than this process: the daemon's apply. ends: the daemon ends as
// soon as no turn runs.
func (o Options) notice(link *door.Link, ends bool) string {
	s := link.Status
	var what []string
	if s.Version != o.Version {
		what = append(what, fmt.Sprintf("version %s, not %s", s.Version, o.Version))
	}
	difference, wrong := o.otherConfig(s, link.Config)
	if difference != "" {
		what = append(what, difference)
	}
	if len(what) == 0 {
		return ""
	}
	text := fmt.Sprintf("the daemon (process %d) runs with %s. ", s.PID, strings.Join(what, ", and with "))
	if wrong != nil {
		return text + "The config has an error now: " + strings.ReplaceAll(wrong.Error(), "\n", "; ")
	}
	if ends {
		return text + "It restarts with yours when no turn runs"
	}
	return text + "To restart it with yours, run `thinkd restart`"
}

// otherConfig describes how the config of a daemon differs from that of this command; empty: it does not. Most do not. The
// configs are compared, and the daemon is asked for its own, only if they are made of different things. A key or a header
// with another value is not reported here: shells and editors of one user often have different ones. wrong is an error of the
// config that a new daemon would read.
func (o Options) otherConfig(s door.Status, theirs func() (door.DaemonConfig, error)) (difference string, wrong error) {
	doc, path, err := o.configFile()
	if err == nil && config.Sum(doc, strings.Fields(s.Variables), o.Getenv) == s.Inputs {
		return "", nil
	}
	var mine config.Config
	if err == nil {
		mine, err = config.Parse(path, doc, o.Getenv)
	}
	if err != nil {
		return "the config that it was started with", err
	}
	other, err := theirs()
	if err != nil || other.Facts == nil { // an older version says something else
		return "another config", nil
	}
	var names []string
	for _, d := range config.Compare(other.Facts, mine.Inputs.Facts) {
		if !d.Secret {
			names = append(names, d.Name)
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	return "another config (" + enumerate(names, 5) + ")", nil
}

// enumerate lists words, at most so many.
func enumerate(words []string, most int) string {
	if len(words) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
	}
	return strings.Join(words, ", ")
}

// older reports whether version a comes before b, as Semantic Versioning orders them. Words that are no such versions have
// no order. A v in front is fine.
func older(a, b string) bool {
	a, b = canonical(a), canonical(b)
	return a != "" && b != "" && semver.Compare(a, b) < 0
}

// canonical is a version as package semver wants it, empty if it is none. That package takes v1.2 for v1.2.0.
func canonical(v string) string {
	v = "v" + strings.TrimPrefix(v, "v")
	core, _, _ := strings.Cut(v, "+")
	if core, _, _ = strings.Cut(core, "-"); strings.Count(core, ".") != 2 {
		return ""
	}
	return semver.Canonical(v)
}
