package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Value is a small text that is kept whole: the settings, the keys, the model lists. Its user reads it at the start, and from
// then on has all of it in memory. [File] and [SecretFile] keep a value on one machine, and [Memory] until the process ends.
//
// A value has one user, who calls Get before the first Put, and Put from one goroutine after the other. So an implementation need not
// decide between two writers.
type Value interface {
	// Name is what people know the value by, in messages: the path of its file.
	Name() string

	// Get returns what the last successful Put has kept, also in an earlier process. It is nil, without an error, if there is
	// nothing. An error says what to do, if the user can do something, and has none of the text: that may be a key.
	Get() ([]byte, error)

	// Put replaces the text, completely or not at all, and is durable on return. After an error the value is the old one, or, if
	// nobody knows whether the new one is durable, either. Put does not keep a reference to text. It waits for a disk or a
	// network, and returns an error within seconds if that does not answer.
	Put(text []byte) error
}

// File is a Value in a file. A link is not followed.
type File struct{ Path string }

func (f File) Name() string { return f.Path }

func (f File) Get() ([]byte, error) {
	text, err := Read(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

func (f File) Put(text []byte) error { return Replace(f.Path, text) }

// SecretFile is a File for keys. Get refuses a file that others can read, since they may know what is in it.
type SecretFile struct{ Path string }

func (f SecretFile) Name() string { return f.Path }

func (f SecretFile) Get() ([]byte, error) {
	info, err := os.Lstat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file, and links are not followed", f.Path)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s can be read by others (mode %o): the keys in it may be known; make it 600, or remove it", f.Path, info.Mode().Perm())
	}
	return os.ReadFile(f.Path)
}

// Put first removes what a crash has left half written: a key that was removed must not stay in there.
func (f SecretFile) Put(text []byte) error {
	dir, prefix := filepath.Dir(f.Path), filepath.Base(f.Path)+"."
	left, err := os.ReadDir(dir)
	for _, file := range left {
		if strings.HasPrefix(file.Name(), prefix) {
			err = errors.Join(err, os.Remove(filepath.Join(dir, file.Name())))
		}
	}
	if err != nil {
		return err
	}
	return Replace(f.Path, text)
}

// Memory is a Value that ends with the process. The zero Memory is empty.
type Memory struct {
	mu   sync.Mutex
	text []byte
}

// NewMemory is a Memory with a text; nil: with nothing.
func NewMemory(text []byte) *Memory { return &Memory{text: text} }

func (m *Memory) Name() string { return "memory" }

func (m *Memory) Get() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text, nil
}

func (m *Memory) Put(text []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text = append([]byte(nil), text...)
	return nil
}
