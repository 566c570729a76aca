package builtin

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
)

// Bounds of what is read and written.
const (
	maxRead  = 128 << 10 // bytes of a file in one result
	maxLines = 2000      // lines of a file in one result
	maxEdit  = 16 << 20  // bytes of a file that is written or edited
	maxEdits = 1000      // edits of a call
	maxDiff  = 32 << 10  // bytes of a difference in a result
)

type readParams struct {
	Path  string `json:"path"`
	From  int    `json:"from_line"`
	Lines int    `json:"lines"`
}

func readFile(ctx context.Context, h *Host, p readParams) (string, error) {
	s, err := h.at(p.Path)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if h.place.Files != nil {
		if _, err := s.plain(); err != nil && !errors.Is(err, fs.ErrNotExist) { // a buffer may have no file yet
			return "", err
		}
		if err := s.admitted(); err != nil {
			return "", err
		}
		text, err := h.place.Files.Read(ctx, s.path())
		if err != nil {
			return "", s.refused(err)
		}
		return part(ctx, strings.NewReader(text), p)
	}
	f, err := s.open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 8<<10)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return "", s.refused(err)
	}
	if head = head[:n]; binary(head) {
		info, err := f.Stat()
		if err != nil {
			return "", s.refused(err)
		}
		return "", fmt.Errorf("%s is no text: %d bytes of %s", p.Path, info.Size(), http.DetectContentType(head))
	}
	return part(ctx, io.MultiReader(bytes.NewReader(head), f), p)
}

// binary reports whether the beginning of a file is that of no text.
func binary(head []byte) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	for len(head) >= utf8.UTFMax { // the last character may be cut
		r, size := utf8.DecodeRune(head)
		if r == utf8.RuneError && size == 1 {
			return true
		}
		head = head[size:]
	}
	return false
}

// part is the requested lines, as many as one result may have, and a sentence about what follows.
func part(ctx context.Context, from io.Reader, p readParams) (string, error) {
	first, most := max(p.From, 1), maxLines
	if p.Lines > 0 {
		most = min(p.Lines, maxLines)
	}
	var out strings.Builder
	lines := bufio.NewReaderSize(from, 64<<10)
	for number := 1; ; number++ {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if number == first+most || number > first && out.Len() >= maxRead {
			if _, err := lines.Peek(1); err == nil {
				fmt.Fprintf(&out, "[lines %d to %d; there are more, from_line %d is next]\n", first, number-1, number)
			}
			return out.String(), nil
		}
		cut, read, err := line(ctx, lines, number >= first, maxRead-out.Len(), &out)
		if cut > 0 {
			fmt.Fprintf(&out, "[%d bytes of this line are left out]\n", cut)
		}
		if err == io.EOF {
			if number == 1 && read == 0 {
				return "[the file is empty]", nil
			}
			if read == 0 && number <= first {
				return "", fmt.Errorf("%s has %d lines only", p.Path, number-1)
			}
			return out.String(), nil
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", p.Path, err)
		}
	}
}

// line reads a line and keeps at most room bytes of it, in whole characters. It holds no more of it in memory.
func line(ctx context.Context, from *bufio.Reader, keep bool, room int, out *strings.Builder) (cut, read int, err error) {
	for {
		piece, err := from.ReadSlice('\n')
		read += len(piece)
		if keep {
			n := min(len(piece), max(room, 0))
			for n > 0 && n < len(piece) && !utf8.RuneStart(piece[n]) {
				n--
			}
			out.Write(bytes.ToValidUTF8(piece[:n], []byte("\uFFFD")))
			room -= n
			if cut += len(piece) - n; cut > 0 {
				room = 0
			}
		}
		if err != bufio.ErrBufferFull {
			return cut, read, err
		}
		if ctx.Err() != nil {
			return cut, read, context.Cause(ctx)
		}
	}
}

type writeParams struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func writeFile(ctx context.Context, h *Host, p writeParams) (string, error) {
	s, release, err := h.lock(ctx, p.Path)
	if err != nil {
		return "", err
	}
	defer release()
	old, err := h.read(ctx, s)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return "", err
	}
	if err := h.write(ctx, s, p.Content); err != nil {
		return "", err
	}
	if fresh {
		return fmt.Sprintf("%s is new: %d bytes", p.Path, len(p.Content)), nil
	}
	return difference(p.Path, old, p.Content), nil
}

type editParams struct {
	Path  string `json:"path"`
	Edits []edit `json:"edits"`
}

type edit struct {
	Old string `json:"old_text"`
	New string `json:"new_text"`
	All bool   `json:"all"`
}

func editFile(ctx context.Context, h *Host, p editParams) (string, error) {
	s, release, err := h.lock(ctx, p.Path)
	if err != nil {
		return "", err
	}
	defer release()
	old, err := h.read(ctx, s)
	if err != nil {
		return "", err
	}
	text := old
	if text, err = applyAll(ctx, p.Edits, text); err != nil {
		return "", fmt.Errorf("%w; nothing was changed", err)
	}
	if err := h.write(ctx, s, text); err != nil {
		return "", err
	}
	return difference(p.Path, old, text), nil
}

// applyAll makes edits in order.
func applyAll(ctx context.Context, edits []edit, text string) (string, error) {
	if len(edits) > maxEdits {
		return "", fmt.Errorf("edits: more than %d; make several calls", maxEdits)
	}
	for i, e := range edits {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		var err error
		if text, err = e.apply(text); err != nil {
			return "", fmt.Errorf("edit %d: %w", i+1, err)
		}
	}
	return text, nil
}

// apply makes an edit. A model sees no carriage returns, so a file with them is searched with them too. The size of the
// result is known before it is made.
func (e edit) apply(text string) (string, error) {
	if e.Old == "" {
		return "", errors.New("old_text is empty")
	}
	n := strings.Count(text, e.Old)
	if n == 0 && strings.Contains(text, "\r\n") && !strings.Contains(e.Old, "\r") {
		e.Old, e.New = strings.ReplaceAll(e.Old, "\n", "\r\n"), strings.ReplaceAll(e.New, "\n", "\r\n")
		n = strings.Count(text, e.Old)
	}
	switch {
	case n == 0:
		return "", errors.New("old_text is not in the file")
	case n > 1 && !e.All:
		return "", fmt.Errorf("old_text is in the file %d times; make it longer, or say all", n)
	case len(text)+n*(len(e.New)-len(e.Old)) > maxEdit:
		return "", fmt.Errorf("the file would be larger than %d bytes", maxEdit)
	}
	return strings.ReplaceAll(text, e.Old, e.New), nil
}

// difference is what changed, as a unified diff.
func difference(path, old, text string) string {
	if old == text {
		return path + " is as it was"
	}
	d, ok := hunks(old, text)
	if !ok {
		before, oldPart, newPart := changed(old, text)
		return fmt.Sprintf("--- a/%s\n+++ b/%s\n[the lines from %d on changed: %d bytes became %d, too many to show the difference]\n", path, path, before+1, len(oldPart), len(newPart))
	}
	d = fmt.Sprintf("--- a/%s\n+++ b/%s\n%s", path, path, d)
	if len(d) > maxDiff {
		cut := maxDiff
		for !utf8.RuneStart(d[cut]) {
			cut--
		}
		d = fmt.Sprintf("%s\n[%d bytes of the difference are left out]\n", d[:cut], len(d)-cut)
	}
	return strings.ToValidUTF8(d, "\uFFFD")
}

// hunks is a unified diff without its head, empty if nothing changes; not ok: the texts differ in too much to compare them.
func hunks(old, text string) (d string, ok bool) {
	if old == text {
		return "", true
	}
	before, oldPart, newPart := changed(old, text)
	if len(oldPart)+len(newPart) > maxDiffed {
		return "", false
	}
	d = string(diff.Diff("old", []byte(oldPart), "new", []byte(newPart)))
	for range 3 { // the command that would make it, and the two names
		_, d, _ = strings.Cut(d, "\n")
	}
	if before == 0 {
		return d, true
	}
	var out strings.Builder
	for line := range strings.Lines(d) {
		var a, b, c, n int
		if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &a, &b, &c, &n); err == nil {
			line = fmt.Sprintf("@@ -%d,%d +%d,%d @@\n", a+before, b, c+before, n)
		}
		out.WriteString(line)
	}
	return out.String(), true
}

// lock locks a path that is about to be changed, so that only one call changes it.
func (h *Host) lock(ctx context.Context, path string) (spot, func(), error) {
	s, err := h.at(path)
	if err != nil {
		return spot{}, nil, err
	}
	if err := s.admitted(); err != nil {
		s.Close()
		return spot{}, nil, err
	}
	release, err := h.tools.edits.take(ctx, s.path())
	if err != nil {
		s.Close()
		return spot{}, nil, err
	}
	return s, func() { release(); s.Close() }, nil
}

// read is a whole text, small enough to be edited.
func (h *Host) read(ctx context.Context, s spot) (string, error) {
	info, err := s.plain()
	if err != nil && !(errors.Is(err, fs.ErrNotExist) && h.place.Files != nil) {
		return "", err
	}
	var text []byte
	switch {
	case info != nil && info.Size() > maxEdit:
		return "", fmt.Errorf("%s is larger than %d bytes", s.given, maxEdit)
	case h.place.Files != nil:
		buffer, err := h.place.Files.Read(ctx, s.path())
		if err != nil {
			return "", s.refused(err)
		}
		text = []byte(buffer)
	default:
		f, err := s.open()
		if err != nil {
			return "", err
		}
		defer f.Close()
		whole := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead)) // of the size that it needs: else it grows by copies
		if _, err := whole.ReadFrom(io.LimitReader(f, maxEdit+1)); err != nil {
			return "", s.refused(err)
		}
		text = whole.Bytes()
	}
	if len(text) > maxEdit {
		return "", fmt.Errorf("%s is larger than %d bytes", s.given, maxEdit)
	}
	if !utf8.Valid(text) || slices.Contains(text, 0) {
		return "", fmt.Errorf("%s is no text", s.given)
	}
	return string(text), nil
}

// write replaces a file, or creates it. A concurrent reader of the disk sees either the old text or the new one.
func (h *Host) write(ctx context.Context, s spot, text string) error {
	if len(text) > maxEdit {
		return fmt.Errorf("%s would be larger than %d bytes", s.given, maxEdit)
	}
	mode := fs.FileMode(0o666)
	switch info, err := s.plain(); {
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if h.place.Files != nil {
		if err := s.reachable(); err != nil {
			return err
		}
		if err := h.place.Files.Write(ctx, s.path(), text); err != nil {
			return s.refused(err)
		}
		return nil
	}
	if dir := filepath.Dir(s.name); dir != "." {
		if err := s.MkdirAll(dir, 0o777); err != nil {
			return s.refused(err)
		}
	}
	if link, err := s.Lstat(s.name); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		return s.overwrite(text) // the link stays
	}
	return s.replace(text, mode)
}

// reachable reports whether the nearest existing folder is below the root when all links are followed. An editor that writes for us
// does not check this.
func (s spot) reachable() error {
	for dir := s.name; ; dir = filepath.Dir(dir) {
		_, err := s.Lstat(dir)
		if err == nil {
			_, err = s.Stat(dir) // a link that leads nowhere yet is no place to write to
		} else if errors.Is(err, fs.ErrNotExist) && dir != "." {
			continue
		}
		if err != nil {
			return s.refused(err)
		}
		return nil
	}
}

func (s spot) overwrite(text string) error {
	f, err := s.OpenFile(s.name, os.O_WRONLY|os.O_CREATE|nonblocking, 0o666)
	if err != nil {
		return s.refused(err)
	}
	info, err := f.Stat()
	if err == nil {
		err = s.holds(info)
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return s.refused(err)
	}
	return nil
}

// replace puts a new file in the old one's place. It works in the folder that it has opened and judged, wherever that is
// moved meanwhile.
func (s spot) replace(text string, mode fs.FileMode) error {
	dir, err := s.OpenRoot(filepath.Dir(s.name))
	if err != nil {
		return s.refused(err)
	}
	defer dir.Close()
	info, err := dir.Stat(".")
	if err != nil {
		return s.refused(err)
	}
	if err := (spot{s.Root, s.host, filepath.Dir(s.name), s.given}).holds(info); err != nil {
		return err
	}
	fresh, name := ".thinkd-"+rand.Text(), filepath.Base(s.name)
	f, err := dir.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return s.refused(err)
	}
	_, err = f.WriteString(text)
	if mode != 0o666 { // of a file that was there: what the umask took away is given back
		err = errors.Join(err, f.Chmod(mode))
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = dir.Rename(fresh, name)
	}
	if err != nil {
		return s.refused(errors.Join(err, dir.Remove(fresh)))
	}
	return nil
}
