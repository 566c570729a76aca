package guard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/agent/tool/approval"
)

// machine is a home folder with a daemon's files, secrets and a project.
func machine(t *testing.T) (g *Guard, home string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".local/share/thinkd/token", ".local/share/thinkd/blobs/aa/one", ".ssh/id_ed25519", ".aws/credentials", ".netrc",
		".bash_history", "vault/x", "project/main.go", "project/.env", "project/.git/config", "project/.git/hooks/pre-commit", "project/.aws/config", "project/open/.env"} {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return New(Config{Home: home, Data: filepath.Join(home, ".local/share/thinkd"), Protected: []string{filepath.Join(home, ".config/thinkd/config.toml")},
		Secret: []string{"~/vault"}, Program: []string{"Makefile"}, Open: []string{"~/project/open", ".aws/config"}}), home
}

func TestPlaces(t *testing.T) {
	g, home := machine(t)
	link := func(kind func(string, string) error, old, name string) {
		t.Helper()
		if err := kind(filepath.Join(home, old), filepath.Join(home, name)); err != nil {
			t.Skipf("needs: symbolic links: %v", err)
		}
	}
	link(os.Link, ".local/share/thinkd/token", "project/hard")
	link(os.Link, ".local/share/thinkd/blobs/aa/one", "project/blob")
	link(os.Link, ".ssh/id_ed25519", "project/key.txt")
	link(os.Symlink, ".ssh", "project/docs")
	link(os.Symlink, ".local/share/thinkd", "project/data")
	link(os.Symlink, "project/.git/hooks/new", "project/innocent")
	link(os.Symlink, ".config/thinkd/config.toml", "project/config")
	for name, want := range map[string]struct{ read, edit approval.Danger }{
		".local/share/thinkd/token":       {approval.Protected, approval.Protected},
		".local/share/thinkd/new":         {approval.Protected, approval.Protected},
		".local/share/thinkd":             {approval.Protected, approval.Protected},
		".local/share":                    {},
		".config/thinkd/config.toml":      {approval.Protected, approval.Protected}, // which is not there yet
		".config/thinkd":                  {},
		"project/hard":                    {approval.Protected, approval.Protected},
		"project/blob":                    {approval.Protected, approval.Protected},
		"project/data/token":              {approval.Protected, approval.Protected},
		"project/config":                  {approval.Protected, approval.Protected},
		".ssh/id_ed25519":                 {approval.Secret, approval.Secret},
		".ssh":                            {approval.Secret, approval.Secret},
		"project/key.txt":                 {approval.Secret, approval.Secret},
		"project/docs/new":                {approval.Secret, approval.Secret},
		".netrc":                          {approval.Secret, approval.Secret},
		".NETRC":                          {approval.Secret, approval.Secret},
		".bash_history":                   {approval.Secret, approval.Secret},
		"vault/x":                         {approval.Secret, approval.Secret},
		"project/.env":                    {approval.Secret, approval.Secret},
		"project/.env.local":              {approval.Secret, approval.Secret},
		"project/.envrc":                  {approval.Secret, approval.Secret},
		"project/open/.env":               {},
		"project/open/.envrc":             {approval.NoDanger, approval.Program},
		"project/.aws/config":             {},
		"project/.aws/credentials":        {approval.Secret, approval.Secret},
		"project/main.go":                 {},
		"project/new/new.go":              {},
		"project/.git/hooks/pre-commit":   {approval.NoDanger, approval.Program},
		"project/.GIT/hooks/pre-commit":   {approval.NoDanger, approval.Program},
		"project/innocent":                {approval.NoDanger, approval.Program},
		"project/.vscode/tasks.json":      {approval.NoDanger, approval.Program},
		"project/sub/Makefile":            {approval.NoDanger, approval.Program},
		".bashrc":                         {approval.NoDanger, approval.Program},
		".config/systemd/user/x.service":  {approval.NoDanger, approval.Program},
		"project/environment.go":          {},
		"project/x.env":                   {},
		"project/node_modules/.bin/build": {},
	} {
		for edit, want := range map[bool]approval.Danger{false: want.read, true: want.edit} {
			got, err := g.Look(edit).Path(filepath.Join(home, filepath.FromSlash(name)))
			if err != nil || got.Danger != want {
				t.Errorf("%s, edit %v: %+v, %v, want danger %d", name, edit, got, err, want)
			}
			if (got.Why == "") != (want == approval.NoDanger) {
				t.Errorf("%s: no reason, or one too many: %q", name, got.Why)
			}
		}
	}
}

// A file is judged as what it is when it is open, not as what its name led to before.
func TestOpened(t *testing.T) {
	g, home := machine(t)
	name := filepath.Join(home, "project", "notes")
	if err := os.Symlink(filepath.Join(home, "project", "main.go"), name); err != nil {
		t.Skipf("needs: symbolic links: %v", err)
	}
	look := g.Look(false)
	if c, err := look.Path(name); err != nil || c.Danger != approval.NoDanger {
		t.Fatalf("%+v, %v", c, err)
	}
	swap := func(to string) {
		t.Helper()
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(home, to), name); err != nil {
			t.Fatal(err)
		}
	}
	swap(".ssh/id_ed25519")
	key, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer key.Close()
	info, err := key.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if c, err := look.Opened(info, name); err != nil || c.Danger != approval.Secret {
		t.Errorf("opened through a new link: %+v, %v", c, err)
	}
	swap("project/main.go")
	if c, err := look.Opened(info, name); err != ErrMoved {
		t.Errorf("the name leads elsewhere again: %+v, %v", c, err)
	}
}

func TestBroad(t *testing.T) {
	g, home := machine(t)
	if err := os.Symlink(home, filepath.Join(home, "project", "up")); err != nil {
		t.Skipf("needs: symbolic links: %v", err)
	}
	for path, want := range map[string]bool{"/": true, home: true, filepath.Dir(home): true, filepath.Join(home, ".local"): true,
		filepath.Join(home, "project/up"): true, filepath.Join(home, "project"): false, filepath.Join(home, ".ssh"): false, filepath.Join(home, "none"): false} {
		if got := g.Broad(path); (got != "") != want {
			t.Errorf("%s: %q, want broad %v", path, got, want)
		}
	}
}

func TestCheckPath(t *testing.T) {
	for path, want := range map[string]bool{".env*": true, "~/vault": true, "/srv/x": true, ".git/hooks": true, "": false, "~": false, "a/../b": false, "a//b": false, "x/~": false, "[": false, "a/": false, "/": false} {
		if err := CheckPath(path); (err == nil) != want {
			t.Errorf("%q: %v, want taken %v", path, err, want)
		}
	}
}

// Each place of the built-in lists can match.
func TestTable(t *testing.T) {
	g, home := machine(t)
	for _, p := range g.Places() {
		if err := CheckPath(p.Path); err != nil {
			t.Error(err)
		}
		path := p.Path
		if at := g.fixed(path); at != "" {
			path = at
		} else {
			path = filepath.Join(home, "project", strings.ReplaceAll(filepath.FromSlash(path), "*", "x"))
		}
		if c, err := g.Look(true).Path(path); err != nil || c.Danger < p.Danger && p.Path != ".aws/config" {
			t.Errorf("%s: %+v, %v", p.Path, c, err)
		}
	}
}
