// Package files finds the files of a folder for a person who writes a prompt, and makes them parts of the prompt.
package files

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/thinkd/thinkd/provider"
	"github.com/thinkd/thinkd/provider/mediatype"
)

// largest bounds a file that is sent, in bytes. The daemon's own limit on messages is usually lower.
const largest = 64 << 20

// Attached is a prompt with files: the files come first, as vendors advise. An error names the file.
func Attached(paths []string, text string) (content provider.Blocks, err error) {
	for _, path := range paths {
		data, err := read(path)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(path)
		content = append(content, provider.Media{Type: mediatype.OfFile(name, data), Name: name, Data: data})
	}
	if strings.TrimSpace(text) != "" {
		content = append(content, provider.Text{Text: text})
	}
	return content, nil
}

// read reads a regular file of a bounded size.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	case info.Size() > largest:
		return nil, fmt.Errorf("%s has %d bytes; the limit is %d", path, info.Size(), int64(largest))
	case info.Size() == 0:
		return nil, fmt.Errorf("%s is empty", path)
	}
	return io.ReadAll(io.LimitReader(f, largest))
}

// Mentioned returns the files that a text mentions as @path or @"path", each once. Relative paths are those of dir, and ~/ is the user's
// home. What is no regular file is text: people and decorators have the same sign.
func Mentioned(text, dir string) (paths []string) {
	for at, r := range text {
		if r != '@' || at > 0 && !strings.ContainsRune(" \t\n(", rune(text[at-1])) {
			continue
		}
		word := text[at+1:]
		if quoted, ok := strings.CutPrefix(word, `"`); ok {
			word, _, _ = strings.Cut(quoted, `"`)
		} else if end := strings.IndexAny(word, " \t\n"); end >= 0 {
			word = word[:end]
		}
		for ; word != ""; word = word[:len(word)-1] {
			if path := resolved(word, dir); path != "" {
				if !slices.Contains(paths, path) {
					paths = append(paths, path)
				}
				break
			}
			if !strings.ContainsRune(".,;:!?)'\"", rune(word[len(word)-1])) {
				break
			}
		}
	}
	return paths
}

// resolved is the path of a regular file; empty: there is none.
func resolved(word, dir string) string {
	if rest, ok := strings.CutPrefix(word, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		word = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(word) {
		word = filepath.Join(dir, word)
	}
	if info, err := os.Stat(word); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return word
}

// Mention is how a text mentions a path.
func Mention(path string) string {
	if strings.ContainsAny(path, " \t\n\"") {
		return `@"` + path + `"`
	}
	return "@" + path
}

// Dropped returns the file whose path is all of a text that was pasted, if it is an image, a document or a sound. Terminals paste the path
// of a file that is dropped on them, quoted in their own ways. Other pasted paths are text.
func Dropped(text string) (path string, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) > 4096 || strings.Contains(text, "\n") {
		return "", false
	}
	if len(text) > 1 && (text[0] == '\'' || text[0] == '"') && text[len(text)-1] == text[0] {
		text = text[1 : len(text)-1]
	} else if !strings.Contains(text, `:\`) { // a path of Windows
		text = strings.ReplaceAll(text, `\`, "")
	}
	if u, err := url.Parse(text); err == nil && u.Scheme == "file" {
		text = u.Path
	}
	if !filepath.IsAbs(text) && !strings.HasPrefix(text, "~/") {
		return "", false
	}
	path = resolved(text, "")
	if path == "" {
		return "", false
	}
	kind := mediatype.OfFile(filepath.Base(path), nil)
	return path, strings.HasPrefix(kind, "image/") || strings.HasPrefix(kind, "audio/") || kind == "application/pdf"
}
