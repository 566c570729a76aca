package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/thinkd/thinkd/provider/durable"
)

// Install writes the service's files, replaces older ones, and starts the service. stop ends a daemon that runs already: it would hold the
// store. If the manager refuses, the files are removed again.
func Install(ctx context.Context, p Program, stop func() error) (files []string, err error) {
	m, err := here(p)
	if err != nil {
		return nil, err
	}
	all, _, err := m.installed()
	if err != nil {
		return nil, err
	}
	if all { // an older one
		if err := run(ctx, m.stop); err != nil {
			return nil, err
		}
	}
	if err := stop(); err != nil {
		return nil, err
	}
	files = slices.Sorted(maps.Keys(m.files))
	for _, path := range files {
		if err := write(path, m.files[path]); err != nil {
			return nil, errors.Join(err, m.removeFiles())
		}
	}
	if err := run(ctx, m.start); err != nil {
		return nil, errors.Join(fmt.Errorf("%s refuses the service: %w", m.name, err), m.removeFiles())
	}
	return files, nil
}

// write replaces a file as a whole.
func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return durable.Replace(path, []byte(text))
}

// State describes the service.
type State struct {
	Manager   string   // systemd or launchd
	Files     []string // that are there, or would be
	Installed bool     // all files are there
	Current   bool     // and they start this program with this data directory and config
	Active    bool     // the manager runs the service, or waits for the first connection
}

// Status reports on the service.
func Status(ctx context.Context, p Program) (State, error) {
	m, err := here(p)
	if err != nil {
		return State{}, err
	}
	s := State{Manager: m.name, Files: slices.Sorted(maps.Keys(m.files))}
	if s.Installed, s.Current, err = m.installed(); err != nil {
		return State{}, err
	}
	err = run(ctx, [][]string{m.state})
	if _, inactive := errors.AsType[*exec.ExitError](err); err != nil && !inactive && s.Installed {
		return State{}, err // the manager cannot be asked
	}
	s.Active = err == nil
	return s, nil
}

// Remove stops the service and removes its files, also if some of them are missing. removed is false if there were none. The daemon ends in order, as for [Install].
func Remove(ctx context.Context, p Program) (removed bool, err error) {
	m, err := here(p)
	if err != nil {
		return false, err
	}
	some := false
	for path := range m.files {
		if _, err := os.Lstat(path); err == nil {
			some = true
		}
	}
	if !some {
		return false, nil
	}
	return true, errors.Join(run(ctx, m.stop), m.removeFiles(), run(ctx, m.after))
}

func (m manager) removeFiles() error {
	var errs []error
	for path := range m.files {
		if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
