package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/thinkd/thinkd/session"
)

// ending is that of the names of files, which begin with a day.
const ending = ".jsonl"

// maxRecord bounds a line, in bytes. Names have at most 255 bytes, and ids are shorter.
const maxRecord = 16 << 10

// Days are those of which a folder has files, the oldest first. A folder that is not there has none.
func Days(dir string) (days []session.Day, err error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, f := range files {
		day := session.Day(strings.TrimSuffix(f.Name(), ending))
		if _, wrong := time.Parse(time.DateOnly, string(day)); wrong == nil && string(day)+ending == f.Name() {
			days = append(days, day)
		}
	}
	slices.Sort(days)
	return days, err
}

// Size is how long the file of a day is, in bytes, and when it was last written. A file that is not there is empty.
func Size(dir string, day session.Day) (bytes int64, written time.Time, err error) {
	info, err := os.Stat(filepath.Join(dir, string(day)+ending))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, time.Time{}, nil
	}
	if err != nil {
		return 0, time.Time{}, err
	}
	return info.Size(), info.ModTime(), nil
}

// Bytes are those of the file of a day from one to another; fewer, if the file is shorter.
func Bytes(dir string, day session.Day, from, to int64) ([]byte, error) {
	f, err := os.Open(filepath.Join(dir, string(day)+ending))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	return io.ReadAll(io.NewSectionReader(f, from, to-from))
}

// Chunk returns whole lines of the file of a day, from a byte on, and the byte after them. They have at most about so many bytes, and at least one line if
// there is one. A line that is not ended yet is for a later call. A line that is too long for a record is left out: then text is empty, and to is
// behind that line.
func Chunk(dir string, day session.Day, from int64, most int) (text []byte, to int64, err error) {
	f, err := os.Open(filepath.Join(dir, string(day)+ending))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, from, nil
	}
	if err != nil {
		return nil, from, err
	}
	defer f.Close() // it was only read
	text, err = io.ReadAll(io.NewSectionReader(f, from, int64(max(most, maxRecord))))
	if err != nil {
		return nil, from, err
	}
	if end := bytes.LastIndexByte(text, '\n') + 1; end > 0 {
		return text[:end], from + int64(end), nil
	}
	if len(text) < maxRecord {
		return nil, from, nil
	}
	rest := bufio.NewReader(io.NewSectionReader(f, from, 1<<62))
	to = from
	for {
		part, err := rest.ReadSlice('\n')
		to += int64(len(part))
		switch {
		case err == nil:
			return nil, to, nil
		case errors.Is(err, io.EOF):
			return nil, from, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, from, err
		}
	}
}

// Lines yields the records of lines, and the byte after each. A line that is no record is nil.
func Lines(text []byte) iter.Seq2[int64, *Record] {
	return func(yield func(int64, *Record) bool) {
		at := int64(0)
		for line := range bytes.Lines(text) {
			at += int64(len(line))
			if line = bytes.TrimSpace(line); len(line) == 0 { // see openLocked
				continue
			}
			r := new(Record)
			if len(line) > maxRecord || json.Unmarshal(line, r) != nil {
				r = nil
			}
			if !yield(at, r) {
				return
			}
		}
	}
}
