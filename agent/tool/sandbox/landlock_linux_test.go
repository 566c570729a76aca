package sandbox

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/thinkd/thinkd/provider/testgo"
)

// TestMain makes the test binary a command in a sandbox, also on a kernel without Landlock.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "confine" {
		os.Exit(Confine(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "unconfined" {
		landlock = func() (int, error) { return 0, errors.New("this kernel has no Landlock") }
		os.Exit(Confine(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// tree makes files, and folders where a name ends in a slash.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if name, to, is := strings.Cut(name, "->"); is {
			err = os.Symlink(to, filepath.Join(dir, name))
		} else if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = os.WriteFile(path, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A folder in which something is hidden gets no rule; all else below it does, and links get none.
func TestHostileRules(t *testing.T) {
	testgo.Cost(t)
	dir := tree(t, "home/.ssh/id", "home/.netrc", "home/notes", "home/docs/a", "home/link->.ssh", "home/project/.env", "home/project/main.go", "home/project/src/a.go",
		"home/project/deep/sub/.aws/credentials", "home/project/deep/sub/file", "home/project/deep/other/file", "home/project/out->../../.ssh", "temp/", "elsewhere/x")
	for _, test := range []struct {
		name   string
		hidden []string
		want   map[string]uint64
	}{
		{"nothing is hidden", nil, map[string]uint64{"temp": writeAll, "home/project": writeAll}},
		{"a file and a folder deep in the project", []string{"home/project/.env", "home/project/deep/sub/.aws", "home/project/gone"}, map[string]uint64{
			"temp": writeAll | readAll, "elsewhere": readAll, "home/.ssh": readAll, "home/.netrc": readFile, "home/notes": readFile, "home/docs": readAll,
			"home/project/main.go": writeFile | readFile, "home/project/src": writeAll, "home/project/deep/sub/file": writeFile, "home/project/deep/other": writeAll}},
		{"the home folder's", []string{"home/.ssh", "home/.netrc"}, map[string]uint64{"temp": writeAll, "elsewhere": readAll, "home/notes": readFile, "home/docs": readAll, "home/project": writeAll}},
		{"the project itself", []string{"home"}, map[string]uint64{"temp": writeAll, "elsewhere": readAll, "home/project": writeAll}},
	} {
		r := rules{Roots: []string{filepath.Join(dir, "home/project")}, Temp: filepath.Join(dir, "temp")}
		for _, name := range test.hidden {
			r.Hidden = append(r.Hidden, filepath.Join(dir, name))
		}
		got, all := make(map[string]uint64), make(map[string]uint64)
		if err := r.grants(func(fd int, path string, access uint64) error {
			var stat unix.Stat_t
			if err := unix.Fstat(fd, &stat); err != nil {
				return err
			}
			if (stat.Mode&unix.S_IFMT == unix.S_IFLNK) || stat.Mode&unix.S_IFMT != unix.S_IFDIR && access&^uint64(writeFile|device) != 0 {
				t.Errorf("%s: %s has the rights %b", test.name, path, access)
			}
			all[path] |= access
			if name, inside := strings.CutPrefix(path, dir+"/"); inside {
				got[name] |= access
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		if all["/"] != ll.AccessFSReadDir || all["/dev"] != 0 || all["/dev/null"] != device || all["/usr"]&ll.AccessFSWriteFile != 0 {
			t.Errorf("%s: / has %b, /dev %b, /dev/null %b, /usr %b", test.name, all["/"], all["/dev"], all["/dev/null"], all["/usr"])
		}
	}
}

// No kernel is given a right that it does not know.
func TestHandledRights(t *testing.T) {
	for version, want := range map[int]uint64{3: 1<<15 - 1, 4: 1<<15 - 1, 5: 1<<16 - 1, 8: 1<<16 - 1, 9: 1<<17 - 1, 12: 1<<17 - 1} {
		if got := handled(version); got != want {
			t.Errorf("version %d: %b, want %b", version, got, want)
		}
	}
}

// evaluate runs a filter on a call.
func evaluate(t *testing.T, list []unix.SockFilter, call [3]uint32) uint32 {
	t.Helper()
	var a uint32
	for i := 0; i < len(list); {
		f := list[i]
		i++
		switch f.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = map[uint32]uint32{callAt: call[0], archAt: call[1], argAt: call[2]}[f.K]
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump := f.Jf
			if a == f.K || f.Code&unix.BPF_JGE == unix.BPF_JGE && a > f.K {
				jump = f.Jt
			}
			i += int(jump)
		case unix.BPF_RET | unix.BPF_K:
			return f.K
		default:
			t.Fatalf("instruction %+v", f)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

func TestHostileSystemCalls(t *testing.T) {
	testgo.Cost(t)
	const ours = unix.AUDIT_ARCH_X86_64
	const allow, kill, refuse = uint32(unix.SECCOMP_RET_ALLOW), uint32(unix.SECCOMP_RET_KILL_PROCESS), uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EACCES)
	for _, test := range []struct {
		what          string
		call          [3]uint32
		without, with uint32
	}{
		{"read", [3]uint32{unix.SYS_READ, ours, unix.AF_UNIX}, allow, allow},
		{"socketpair", [3]uint32{unix.SYS_SOCKETPAIR, ours, unix.AF_UNIX}, allow, allow},
		{"socket of this machine", [3]uint32{unix.SYS_SOCKET, ours, unix.AF_UNIX}, refuse, refuse},
		{"socket", [3]uint32{unix.SYS_SOCKET, ours, unix.AF_INET}, refuse, allow},
		{"socket of version 6", [3]uint32{unix.SYS_SOCKET, ours, unix.AF_INET6}, refuse, allow},
		{"netlink", [3]uint32{unix.SYS_SOCKET, ours, unix.AF_NETLINK}, refuse, allow},
		{"vsock", [3]uint32{unix.SYS_SOCKET, ours, unix.AF_VSOCK}, refuse, refuse},
		{"packets", [3]uint32{unix.SYS_SOCKET, ours, unix.AF_PACKET}, refuse, refuse},
		{"io_uring", [3]uint32{unix.SYS_IO_URING_SETUP, ours, 0}, refuse, refuse},
		{"socket of x32", [3]uint32{unix.SYS_SOCKET | x32, ours, unix.AF_INET}, kill, kill},
		{"another architecture", [3]uint32{unix.SYS_READ, unix.AUDIT_ARCH_I386, 0}, kill, kill},
	} {
		for network, want := range map[bool]uint32{false: test.without, true: test.with} {
			if got := evaluate(t, filter(ours, network), test.call); got != want {
				t.Errorf("%s, network %v: %x, want %x", test.what, network, got, want)
			}
		}
	}
}

// A command whose sandbox cannot be made does not run.
func TestHostileConfineFails(t *testing.T) {
	testgo.Cost(t)
	dir := tree(t, "temp/")
	r := rules{Roots: []string{dir}, Temp: filepath.Join(dir, "temp")}
	touch := []string{"/bin/sh", "-c", "touch " + filepath.Join(dir, "ran")}
	for name, args := range map[string][]string{
		"no Landlock":         slices.Concat([]string{"unconfined"}, r.args(), touch),
		"no folder":           slices.Concat([]string{"confine"}, rules{Roots: []string{filepath.Join(dir, "missing")}, Temp: r.Temp}.args(), touch),
		"no temporary folder": slices.Concat([]string{"confine"}, rules{Roots: r.Roots, Temp: filepath.Join(dir, "missing")}.args(), touch),
		"no rules":            slices.Concat([]string{"confine"}, touch),
		"no program":          slices.Concat([]string{"confine"}, r.args(), []string{filepath.Join(dir, "missing")}),
	} {
		cmd := exec.Command(os.Args[0], args...)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 126 || !strings.HasPrefix(string(out), "thinkd: the command was not run: ") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the command ran")
	}
}

// A command in a sandbox, and every program that it starts, has no capability, also if the user is root.
func TestHostileCapabilities(t *testing.T) {
	testgo.Cost(t)
	if _, err := landlock(); err != nil {
		t.Skipf("needs: landlock: %v", err)
	}
	dir := tree(t, "temp/")
	r := rules{Roots: []string{dir}, Temp: filepath.Join(dir, "temp")}
	out, err := exec.Command(os.Args[0], slices.Concat([]string{"confine"}, r.args(), []string{"/bin/grep", "-E", "Cap|NoNewPrivs|Seccomp:", "/proc/self/status"})...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		word, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		want := map[string]string{"NoNewPrivs": "1", "Seccomp": "2"}[word]
		if word == "CapBnd" && os.Geteuid() != 0 {
			continue // it gives nothing without new privileges
		}
		if want == "" {
			want = "0000000000000000"
		}
		if value != want {
			t.Errorf("%s is %s, want %s", word, value, want)
		}
	}
}
