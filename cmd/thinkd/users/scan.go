package users

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/thinkd/thinkd/session"
)

// idLen is the length of an id of a session that the daemon made.
const idLen = 26

// occurrences lists the files below dir, by their paths in it, in which one of the ids occurs.
func occurrences(ctx context.Context, dir string, ids map[session.ID]bool) (list []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		found, err := occurs(path, ids)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !found {
			return err
		}
		name, err := filepath.Rel(dir, path)
		list = append(list, filepath.ToSlash(name))
		return err
	})
	return list, err
}

// occurs reports whether one of the ids is in a file, whatever stands before and behind it.
func occurs(path string, ids map[session.ID]bool) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close() // it was only read
	r := bufio.NewReaderSize(f, 1<<16)
	var run []byte // the letters of ids that were read last, in a row
	for {
		c, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
			run = run[:0]
			continue
		}
		if len(run) == idLen {
			copy(run, run[1:])
			run = run[:idLen-1]
		}
		if run = append(run, c); len(run) == idLen && ids[session.ID(run)] {
			return true, nil
		}
	}
}
