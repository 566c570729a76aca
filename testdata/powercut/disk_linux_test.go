package powercut

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// disk is a tree of directories and files. What processes see and what a power cut leaves are two things: a write is safe
// when its file was synced, a name when its directory was.
type disk struct {
	*folder
	deaf    deafness
	journal bool          // a sync of anything makes all names safe, as ext4 and XFS do; POSIX asks for the sync of each folder
	hang    chan struct{} // not nil: the first sync of new names in a folder closes it, and ends without success when its process is killed

	mu    sync.Mutex // for all folders and files
	off   bool       // the power is cut: nothing more is written
	hung  bool       // hang is closed
	syncs int
}

// deafness is what a disk only says that it syncs.
type deafness int

const (
	hears        deafness = iota
	toAll                 // everything
	toFolders             // the names of folders
	toInnerNames          // the names of files in folders
	toInnerFiles          // what is in such files
)

func (d deafness) String() string {
	return [...]string{"nothing", "everything", "the names of folders", "the names of files in folders", "files in folders"}[d]
}

// folder is a directory.
type folder struct {
	fs.Inode
	disk  *disk
	mode  uint32
	names map[string]node
	safe  map[string]node
	moves []move // of names, since it was synced
}

// node is a *folder or a *file.
type node interface{ fs.InodeEmbedder }

// move gives a name to a file, or to none. A file that was renamed loses its old name in the same step.
type move struct {
	name, old string
	to        node
}

func (m move) apply(names map[string]node) {
	delete(names, m.old)
	if m.to == nil {
		delete(names, m.name)
	} else {
		names[m.name] = m.to
	}
}

// file is a file of the disk, or a socket.
type file struct {
	fs.Inode
	disk   *disk
	mode   uint32
	now    []byte
	safe   []byte
	writes []write // since it was synced
}

// write is a write, or with data of nil a new length.
type write struct {
	at   int
	data []byte
}

func (w write) apply(content []byte) []byte {
	end := w.at + len(w.data)
	if w.data == nil && end < len(content) {
		return content[:end]
	}
	if end > len(content) {
		content = append(content, make([]byte, end-len(content))...)
	}
	copy(content[w.at:], w.data)
	return content
}

const sector = 512

// newDisk has these files, safe. A name has those of the folders before it; one that ends with a slash is that of a folder.
func newDisk(files map[string][]byte) *disk {
	d := &disk{}
	d.folder = d.newFolder(0o700)
	for name, content := range files {
		in := d.folder
		for outer, inner, ok := strings.Cut(name, "/"); ok; outer, inner, ok = strings.Cut(name, "/") {
			if in.names[outer] == nil {
				in.names[outer] = d.newFolder(0o700)
			}
			in, name = in.names[outer].(*folder), inner
		}
		if name != "" {
			in.names[name] = &file{disk: d, mode: syscall.S_IFREG | 0o600, now: slices.Clone(content), safe: content}
		}
	}
	d.each(func(f *folder) { f.safe = maps.Clone(f.names) })
	return d
}

func (d *disk) newFolder(mode uint32) *folder {
	return &folder{disk: d, mode: mode & 0o7777, names: map[string]node{}, safe: map[string]node{}}
}

// each calls f with the folders that there are now.
func (d *disk) each(f func(*folder)) { d.folder.each(f) }

func (f *folder) each(visit func(*folder)) {
	visit(f)
	for _, n := range f.names {
		if inner, ok := n.(*folder); ok {
			inner.each(visit)
		}
	}
}

func (d *disk) mount(dir string) (*fuse.Server, error) {
	return fs.Mount(dir, d.folder, &fs.Options{MountOptions: fuse.MountOptions{DirectMount: true, FsName: "powercut", Name: "powercut"}})
}

// unmount waits for the kernel to let go of what processes that have ended had open there: on a busy machine that takes longer
// than the library tries.
func unmount(server *fuse.Server) error {
	for begun := time.Now(); ; {
		err := server.Unmount()
		if err == nil || time.Since(begun) > patience {
			return err
		}
	}
}

// cut ends the power. What is under way is not written.
func (d *disk) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.off = true
}

// image is what a disk may have after the cut: by kind 0 nothing that was not synced, by kind 1 all of it, by others any
// part, each write whole, torn or missing, and names up to any move, as a journal keeps them.
func (d *disk) image(kind int, rng *rand.Rand) map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	files := map[string][]byte{}
	d.folder.image("", kind, rng, files)
	return files
}

func (f *folder) image(path string, kind int, rng *rand.Rand, files map[string][]byte) {
	names := maps.Clone(f.safe)
	for _, m := range f.moves {
		if kind == 0 || kind > 1 && rng.IntN(len(f.moves)+1) == 0 {
			break
		}
		m.apply(names)
	}
	for name, n := range names {
		switch n := n.(type) {
		case *folder:
			files[path+name+"/"] = nil
			n.image(path+name+"/", kind, rng, files)
		case *file:
			if n.mode&syscall.S_IFMT == syscall.S_IFREG {
				files[path+name] = n.image(kind, rng)
			}
		}
	}
}

func (f *file) image(kind int, rng *rand.Rand) []byte {
	content := slices.Clone(f.safe)
	for _, w := range f.writes {
		if kind == 0 || kind > 1 && rng.IntN(2) == 0 {
			continue
		}
		if kind > 1 && w.data != nil && rng.IntN(3) == 0 {
			if w.data = w.data[:rng.IntN(len(w.data)/sector+1)*sector]; len(w.data) == 0 {
				continue
			}
		}
		content = w.apply(content)
	}
	return content
}

// commitLocked makes the names in all folders safe, if the disk has a journal.
func (d *disk) commitLocked() {
	if !d.journal {
		return
	}
	d.each(func(f *folder) { f.safe, f.moves = maps.Clone(f.names), nil })
}

// unsynced is how much a cut now may lose.
func (d *disk) unsynced() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.each(func(in *folder) {
		n += len(in.moves)
		for _, f := range in.names {
			if f, ok := f.(*file); ok {
				n += len(f.writes)
			}
		}
	})
	return n
}

// put is a directory's contents as files.
func put(dir string, files map[string][]byte) error {
	for name, content := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o700); err != nil {
				return err
			}
			continue
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			return err
		}
	}
	return nil
}

// What the kernel asks of the directory. It keeps the tree of names itself, so that only changes come here.

func (f *folder) OnAdd(ctx context.Context) {
	for name, n := range f.names {
		mode := uint32(syscall.S_IFDIR)
		if n, ok := n.(*file); ok {
			mode = n.mode & syscall.S_IFMT
		}
		f.AddChild(name, f.NewPersistentInode(ctx, n, fs.StableAttr{Mode: mode}), true)
	}
}

func (f *folder) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	out.Mode = syscall.S_IFDIR | f.mode
	return 0
}

func (f *folder) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if mode, ok := in.GetMode(); ok {
		f.mode = mode & 0o7777
	}
	out.Mode = syscall.S_IFDIR | f.mode
	return 0
}

// move changes names, unless the power is off.
func (f *folder) move(m move) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.off {
		return syscall.EIO
	}
	if m.old != "" {
		m.to = f.names[m.old]
	}
	m.apply(f.names)
	f.moves = append(f.moves, m)
	return 0
}

func (f *folder) add(ctx context.Context, name string, n node, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if errno := f.move(move{name: name, to: n}); errno != 0 {
		return nil, errno
	}
	out.Mode = mode
	return f.NewPersistentInode(ctx, n, fs.StableAttr{Mode: mode & syscall.S_IFMT}), 0
}

func (f *folder) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	mode = syscall.S_IFREG | mode&0o7777
	made, errno := f.add(ctx, name, &file{disk: f.disk, mode: mode}, mode, out)
	return made, handle(flags), fuse.FOPEN_KEEP_CACHE, errno
}

func (f *folder) Mknod(ctx context.Context, name string, mode, _ uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return f.add(ctx, name, &file{disk: f.disk, mode: mode}, mode, out)
}

func (f *folder) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return f.add(ctx, name, f.disk.newFolder(mode), syscall.S_IFDIR|mode, out)
}

func (f *folder) Unlink(_ context.Context, name string) syscall.Errno {
	return f.move(move{name: name})
}

func (f *folder) Rmdir(_ context.Context, name string) syscall.Errno {
	return f.move(move{name: name})
}

// Rename to another folder is a move of each of the two: a cut may come between their syncs.
func (f *folder) Rename(_ context.Context, name string, to fs.InodeEmbedder, fresh string, _ uint32) syscall.Errno {
	other, ok := to.(*folder)
	if !ok {
		return syscall.EXDEV
	}
	if other == f {
		return f.move(move{name: fresh, old: name})
	}
	f.disk.mu.Lock()
	moved := f.names[name]
	f.disk.mu.Unlock()
	if errno := other.move(move{name: fresh, to: moved}); errno != 0 {
		return errno
	}
	return f.move(move{name: name})
}

func (f *folder) Fsync(ctx context.Context, _ fs.FileHandle, _ uint32) syscall.Errno {
	if f.hangs() {
		<-ctx.Done()
		return syscall.EINTR
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.off {
		return syscall.EIO
	}
	f.disk.syncs++
	switch inner := f != f.disk.folder; {
	case f.disk.deaf == toAll, f.disk.deaf == toInnerNames && inner:
	case f.disk.deaf == toFolders:
		f.syncFilesLocked()
	default:
		f.safe, f.moves = maps.Clone(f.names), nil
		f.disk.commitLocked()
	}
	return 0
}

func (f *folder) hangs() bool {
	d := f.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hang == nil || d.hung || f == d.folder || len(f.moves) == 0 {
		return false
	}
	d.hung = true
	close(d.hang)
	return true
}

// syncFilesLocked makes the names of files safe, and leaves those of folders as they are.
func (f *folder) syncFilesLocked() {
	isFolder := func(n node) bool { _, ok := n.(*folder); return ok }
	old := f.safe
	f.safe = maps.Clone(f.names)
	maps.DeleteFunc(f.safe, func(name string, n node) bool { return isFolder(n) && old[name] == nil })
	f.moves = slices.DeleteFunc(f.moves, func(m move) bool { return !isFolder(m.to) })
}

// What it asks of a file.

func (f *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	out.Mode, out.Size = f.mode, uint64(len(f.now))
	return 0
}

func (f *file) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.off {
		return syscall.EIO
	}
	if mode, ok := in.GetMode(); ok {
		f.mode = f.mode&syscall.S_IFMT | mode&0o7777
	}
	if size, ok := in.GetSize(); ok {
		f.writeLocked(write{at: int(size)})
	}
	out.Mode, out.Size = f.mode, uint64(len(f.now))
	return 0
}

func (f *file) writeLocked(w write) {
	f.now = w.apply(f.now)
	f.writes = append(f.writes, w)
}

func (f *file) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if flags&syscall.O_TRUNC != 0 {
		if f.disk.off {
			return nil, 0, syscall.EIO
		}
		f.writeLocked(write{})
	}
	return handle(flags), fuse.FOPEN_KEEP_CACHE, 0
}

// handle is of a file that is open: it holds the flags.
type handle uint32

func (h handle) syncs() bool { return uint32(h)&syscall.O_DSYNC != 0 } // a part of O_SYNC

func (f *file) Read(_ context.Context, _ fs.FileHandle, to []byte, at int64) (fuse.ReadResult, syscall.Errno) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if at >= int64(len(f.now)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData(to[:copy(to, f.now[at:])]), 0
}

func (f *file) Write(ctx context.Context, h fs.FileHandle, data []byte, at int64) (uint32, syscall.Errno) {
	f.disk.mu.Lock()
	off := f.disk.off
	if !off {
		f.writeLocked(write{int(at), slices.Clone(data)})
	}
	f.disk.mu.Unlock()
	if off {
		return 0, syscall.EIO
	}
	if h, ok := h.(handle); ok && h.syncs() {
		return uint32(len(data)), f.Fsync(ctx, h, 0)
	}
	return uint32(len(data)), 0
}

func (f *file) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.off {
		return syscall.EIO
	}
	f.disk.syncs++
	_, in := f.Parent()
	if inner := in != nil && !in.IsRoot(); f.disk.deaf == toAll || f.disk.deaf == toInnerFiles && inner {
		return 0
	}
	for _, w := range f.writes {
		f.safe = w.apply(f.safe)
	}
	f.writes = nil
	f.disk.commitLocked()
	return 0
}
