package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Versions of Landlock's interface.
const (
	leastVersion  = 3 // before it, files could be cut to nothing anywhere
	tcpVersion    = 4
	deviceVersion = 5 // calls of ioctl on devices
	scopeVersion  = 6 // signals and abstract sockets
	socketVersion = 9 // sockets in the file system
)

// landlock is the version of this kernel's interface, and why it cannot be used.
var landlock = sync.OnceValues(func() (int, error) {
	version, err := ll.LandlockGetABIVersion()
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return 0, errors.New("Landlock is switched off in this kernel (its lsm= parameter)")
	case err != nil:
		return 0, fmt.Errorf("this kernel has no Landlock: %w", err)
	case version < leastVersion:
		return version, fmt.Errorf("this kernel has version %d of Landlock: version %d is needed, which came with Linux 6.2", version, leastVersion)
	case architectures[runtime.GOARCH] == 0:
		return version, fmt.Errorf("there is no filter of system calls for %s", runtime.GOARCH)
	}
	return version, nil
})

// Lacks lists what the Landlock of this kernel cannot restrict, but that of later kernels can.
func Lacks() (list []string) {
	version, err := landlock()
	if err == nil && version < scopeVersion {
		list = append(list, "they can send signals to other programs of your user (Linux 6.12 and later hold that back)")
	}
	return list
}

// Rights to a file, and to a folder with all below it.
const (
	readFile   uint64 = ll.AccessFSExecute | ll.AccessFSReadFile
	readAll           = readFile | ll.AccessFSReadDir
	writeFile         = readFile | ll.AccessFSWriteFile | ll.AccessFSTruncate
	writeAll          = readAll | writeFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
	onlyOfDirs        = ^(writeFile | ll.AccessFSIoctlDev)
	device            = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSIoctlDev
)

// handled returns the rights that a kernel knows. Each of them is denied unless a rule grants it.
func handled(version int) uint64 {
	all := uint64(ll.AccessFSIoctlDev - 1)
	if version >= deviceVersion {
		all |= ll.AccessFSIoctlDev
	}
	if version >= socketVersion {
		all |= ll.AccessFSResolveUnix
	}
	return all
}

// devices are all that a command gets of /dev. The others could be the disk, or memory.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"}

// Confine restricts this process to the rules that args have and becomes the program after them, which a path or a name of
// PATH names. It returns only if that fails.
//
// A rule of Landlock grants a right to a folder and all below it, and no other rule takes that away below. So a folder in
// which something is hidden gets no rule, but each of its entries does, and so on down to what is hidden:
//
//	/           names only
//	├── usr     read
//	└── home
//	    └── me
//	        ├── .ssh     no rule
//	        └── project  read and write
//
// What follows: the names in hidden folders can be listed. Where the session's folder has a secret such as .env, files that are
// there can be changed, but none can be created, renamed or removed next to the secret; in the folders below they can.
//
// Landlock knows neither UDP nor all other kinds of sockets, so a filter of system calls (seccomp) refuses them.
func Confine(args []string) int {
	r, program, err := parse(args)
	if err == nil {
		err = r.exec(program)
	}
	fmt.Fprintln(os.Stderr, "thinkd: the command was not run:", err)
	return 126
}

// exec restricts the calling thread and replaces the process, which is then under the thread's restrictions (execve(2)).
func (r rules) exec(program []string) error {
	runtime.LockOSThread() // for good
	version, err := landlock()
	if err != nil {
		return err
	}
	path, err := exec.LookPath(program[0])
	if err != nil {
		return err
	}
	if err := os.Setenv("TMPDIR", r.Temp); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("its capabilities cannot be given up: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := r.restrict(version); err != nil {
		return fmt.Errorf("Landlock: %w", err)
	}
	if err := install(filter(architectures[runtime.GOARCH], r.Network)); err != nil {
		return fmt.Errorf("the filter of system calls: %w", err)
	}
	return syscall.Exec(path, program, os.Environ())
}

// restrict puts the calling thread under the rules.
func (r rules) restrict(version int) error {
	attr := &ll.RulesetAttr{HandledAccessFS: handled(version)}
	if version >= tcpVersion && !r.Network {
		attr.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if version >= scopeVersion {
		attr.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	set, err := ll.LandlockCreateRuleset(attr, 0)
	if err != nil {
		return err
	}
	defer unix.Close(set)
	err = r.grants(func(fd int, path string, access uint64) error {
		err := ll.LandlockAddPathBeneathRule(set, &ll.PathBeneathAttr{AllowedAccess: access & attr.HandledAccessFS, ParentFd: fd}, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return ll.LandlockRestrictSelf(set, 0)
}

// identity is that of a file, whatever name leads to it.
type identity struct{ device, inode uint64 }

func identify(fd int) (identity, uint32, error) {
	var stat unix.Stat_t
	err := unix.Fstat(fd, &stat)
	return identity{uint64(stat.Dev), stat.Ino}, stat.Mode & unix.S_IFMT, err
}

// walk finds what rules are for.
type walk struct {
	hidden, above map[identity]bool // above are the folders that what is hidden is in
	grant         func(fd int, path string, access uint64) error
}

// grants calls grant for each file and folder that a rule is needed for. All are open while they are looked at, so that a file
// that takes another's place meanwhile gets no right that was meant for the other.
func (r rules) grants(grant func(fd int, path string, access uint64) error) error {
	w := walk{make(map[identity]bool), make(map[identity]bool), grant}
	for _, path := range append([]string{"/dev"}, r.Hidden...) {
		if err := w.hide(path); err != nil {
			return err
		}
	}
	err := at(unix.AT_FDCWD, "/", func(fd int) error {
		if err := grant(fd, "/", ll.AccessFSReadDir); err != nil {
			return err
		}
		return w.below(fd, "/", readAll)
	})
	for _, dir := range append([]string{r.Temp}, r.Roots...) {
		real, wrong := filepath.EvalSymlinks(dir)
		if wrong != nil {
			return wrong
		}
		err = errors.Join(err, at(unix.AT_FDCWD, real, func(fd int) error { return w.below(fd, real, writeAll) }))
	}
	for _, path := range devices {
		wrong := at(unix.AT_FDCWD, path, func(fd int) error {
			_, kind, err := identify(fd)
			if err != nil || kind == unix.S_IFLNK {
				return err
			}
			return grant(fd, path, device)
		})
		if !errors.Is(wrong, unix.ENOENT) {
			err = errors.Join(err, wrong)
		}
	}
	return err
}

// hide notes a file that is to be hidden, and the folders above it. One that is gone by now needs no hiding.
func (w walk) hide(path string) error {
	for of := w.hidden; ; of = w.above {
		err := at(unix.AT_FDCWD, path, func(fd int) error {
			id, _, err := identify(fd)
			of[id] = true
			return err
		})
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
		if path == "/" {
			return nil
		}
		path = filepath.Dir(path)
	}
}

// below grants access to a file or folder, except to what is hidden below it.
func (w walk) below(fd int, path string, access uint64) error {
	id, kind, err := identify(fd)
	switch {
	case err != nil:
		return err
	case w.hidden[id], kind == unix.S_IFLNK: // a link has no rights, only what it leads to
		return nil
	case kind != unix.S_IFDIR:
		return w.grant(fd, path, access&^onlyOfDirs)
	case !w.above[id]:
		return w.grant(fd, path, access)
	}
	names, err := list(fd)
	if errors.Is(err, unix.EACCES) { // then its entries get no rules
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range names {
		inside := strings.TrimSuffix(path, "/") + "/" + name
		err := at(fd, name, func(fd int) error { return w.below(fd, inside, access) })
		if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EACCES) {
			return err
		}
	}
	return nil
}

// at opens a file to be looked at, never through a link in the last part of its path.
func at(dir int, path string, look func(fd int) error) error {
	fd, err := unix.Openat(dir, path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer unix.Close(fd)
	return look(fd)
}

func list(dir int) ([]string, error) {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	return f.Readdirnames(-1)
}

// dropCapabilities gives up all that root may do besides owning files. A user that is not root has nothing to give up, and
// gets nothing from programs that it runs, since there are no new privileges.
func dropCapabilities() error {
	for c := uintptr(0); ; c++ {
		has, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil { // there are no more
			break
		}
		if has == 0 {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && os.Geteuid() == 0 {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	var none [2]unix.CapUserData
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
}
