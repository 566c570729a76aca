package service

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A user is a home of its own, with a systemctl or launchctl that writes down what it is called with.
type user struct {
	t       *testing.T
	home    string
	calls   string // the file
	program Program
}

func newUser(t *testing.T) *user {
	t.Helper()
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("needs: systemd or launchd")
	}
	u := &user{t: t, home: t.TempDir()}
	u.calls = filepath.Join(u.home, "calls")
	u.program = Program{Path: "/opt/a b/thinkd", Data: filepath.Join(u.home, "100%"), Socket: filepath.Join(u.home, "100%", "thinkd.sock")}
	bin := filepath.Join(u.home, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"systemctl", "launchctl"} {
		script := "#!/bin/sh\necho " + name + " \"$@\" >>" + u.calls + "\ncase \"$*\" in *\"$REFUSE\"*) echo refused >&2; exit 1;; esac\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", u.home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(u.home, "config"))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("REFUSE", "nothing")
	return u
}

// called returns the calls since the last time.
func (u *user) called() []string {
	u.t.Helper()
	text, err := os.ReadFile(u.calls)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		u.t.Fatal(err)
	}
	if err := os.WriteFile(u.calls, nil, 0o600); err != nil {
		u.t.Fatal(err)
	}
	var calls []string
	for line := range strings.Lines(string(text)) {
		calls = append(calls, strings.TrimSpace(line))
	}
	return calls
}

func (u *user) state() State {
	u.t.Helper()
	s, err := Status(u.t.Context(), u.program)
	if err != nil {
		u.t.Fatal(err)
	}
	u.called()
	return s
}

func TestInstall(t *testing.T) {
	u := newUser(t)
	if s := u.state(); s.Installed || s.Current || len(s.Files) == 0 {
		t.Errorf("before: %+v", s)
	}
	if removed, err := Remove(t.Context(), u.program); removed || err != nil || len(u.called()) > 0 {
		t.Errorf("removed what was not installed: %v, %v", removed, err)
	}
	stopped := 0
	stop := func() error { stopped++; return nil }
	files, err := Install(t.Context(), u.program, stop)
	if err != nil || stopped != 1 || !slices.Equal(files, u.state().Files) {
		t.Fatalf("installed %v, %v, stopped %d daemons", files, err, stopped)
	}
	if s := u.state(); !s.Installed || !s.Current || !s.Active {
		t.Errorf("installed: %+v", s)
	}
	other := u.program
	other.Path = "/opt/thinkd"
	if s, err := Status(t.Context(), other); err != nil || !s.Installed || s.Current {
		t.Errorf("for another program: %+v, %v", s, err)
	}
	u.called()
	if _, err := Install(t.Context(), other, stop); err != nil || stopped != 2 {
		t.Errorf("installed again: %v", err)
	}
	want := []string{"systemctl --user disable --now thinkd.socket", "systemctl --user stop thinkd.service", "systemctl --user daemon-reload", "systemctl --user enable --now thinkd.socket"}
	if calls := u.called(); runtime.GOOS == "linux" && !slices.Equal(calls, want) {
		t.Errorf("an update calls %q, want %q", calls, want)
	}
	u.program = other
	if err := os.Remove(files[0]); err != nil { // what is left of a service is removed as well
		t.Fatal(err)
	}
	if removed, err := Remove(t.Context(), other); !removed || err != nil {
		t.Errorf("removed: %v, %v", removed, err)
	}
	for _, path := range files {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	if s := u.state(); s.Installed {
		t.Errorf("removed: %+v", s)
	}
}

// What the manager refuses leaves no files, and a daemon that does not stop leaves all as it was.
func TestInstallRefused(t *testing.T) {
	u := newUser(t)
	t.Setenv("REFUSE", map[string]string{"linux": "enable", "darwin": "bootstrap"}[runtime.GOOS])
	if _, err := Install(t.Context(), u.program, func() error { return nil }); err == nil || !strings.Contains(err.Error(), "refuses the service") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("the error is %v", err)
	}
	if s := u.state(); s.Installed {
		t.Errorf("refused: %+v", s)
	}
	t.Setenv("REFUSE", "nothing")
	errBusy := errors.New("busy")
	if _, err := Install(t.Context(), u.program, func() error { return errBusy }); !errors.Is(err, errBusy) {
		t.Errorf("the error is %v", err)
	}
	if s, calls := u.state(), u.called(); s.Installed || len(calls) > 0 {
		t.Errorf("a daemon that runs: %+v, %v", s, calls)
	}
}

func TestUnits(t *testing.T) {
	p := Program{Path: `/opt/a "b"/thinkd`, Data: "/data/100%", Config: "/etc/a$b.toml", Socket: "/data/100%/thinkd.sock"}
	if want := `ExecStart="/opt/a \"b\"/thinkd" --data /data/100%% --config "/etc/a$$b.toml" daemon` + "\n"; !strings.Contains(ServiceUnit(p, false), want) {
		t.Errorf("want %s in\n%s", want, ServiceUnit(p, false))
	}
	if want := "ListenStream=/data/100%%/thinkd.sock\n"; !strings.Contains(SocketUnit(p, false), want) {
		t.Errorf("want %s in\n%s", want, SocketUnit(p, false))
	}
	if want := "ExecStart=/usr/bin/thinkd --data %h/.local/share/thinkd daemon\n"; !strings.Contains(ServiceUnit(Packaged, true), want) {
		t.Errorf("want %s in\n%s", want, ServiceUnit(Packaged, true))
	}
	if _, err := managerOf("windows", "", "", 0, p); err == nil {
		t.Error("Windows has a service")
	}
}

// systemd reads the units without a complaint, and judges the system unit as its documentation demands.
func TestSystemdReadsUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs: systemd-analyze")
	}
	program, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	system, err := os.ReadFile("../../../packaging/systemd/thinkd.service")
	if err != nil {
		t.Fatal(err)
	}
	store, err := os.ReadFile("../../../packaging/systemd/thinkd-store.service")
	if err != nil {
		t.Fatal(err)
	}
	system = bytes.ReplaceAll(system, []byte("/usr/bin/thinkd"), []byte(program))
	store = bytes.ReplaceAll(store, []byte("/usr/bin/thinkd-store"), []byte(program))
	p := Program{Path: program, Data: filepath.Join(dir, "a b"), Socket: filepath.Join(dir, "a b", "thinkd.sock")}
	units := map[string]string{"user/thinkd.socket": SocketUnit(p, false), "user/thinkd.service": ServiceUnit(p, false), "system/thinkd.service": string(system),
		"system/thinkd-store.service": string(store)}
	for name, text := range units { // all first: they name each other
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name := range units {
		path := filepath.Join(dir, name)
		cmd := exec.Command(analyze, "verify", "--man=no", path)
		if strings.HasPrefix(name, "user") {
			cmd.Args = []string{analyze, "verify", "--user", "--man=no", path}
		}
		cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+filepath.Dir(path)+":", "XDG_RUNTIME_DIR="+dir)
		if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("thinkd")) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	for _, name := range []string{"thinkd.service", "thinkd-store.service"} {
		out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=20", "--no-pager", filepath.Join(dir, "system", name)).CombinedOutput()
		if err != nil {
			t.Errorf("%s: the exposure is above 2.0: %v\n%s", name, err, out)
		}
	}
}
