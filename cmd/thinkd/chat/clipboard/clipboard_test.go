package clipboard

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// programs puts scripts in the place of all programs.
func programs(t *testing.T, scripts map[string]string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs: sh")
	}
	dir := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

func env(name string) string { return map[string]string{"WAYLAND_DISPLAY": "w"}[name] }

func TestImage(t *testing.T) {
	for script, want := range map[string]error{
		`printf '\211PNG\r\n\032\n'; [ "$*" = "--no-newline --type image/png" ]`: nil,
		`echo "No suitable type of content copied"; exit 1`:                      ErrNoImage,
		`echo text`: ErrNoImage,
	} {
		programs(t, map[string]string{"wl-paste": script, "xclip": "exit 1"})
		if data, err := Image(t.Context(), env); !errors.Is(err, want) || (err == nil) != (len(data) == 8) {
			t.Errorf("%s: %q, %v", script, data, err)
		}
	}
	programs(t, map[string]string{"xclip": "exit 1"}) // there is no X11
	if _, err := Image(t.Context(), env); !errors.Is(err, ErrNoProgram) {
		t.Error(err)
	}
}

func TestWrite(t *testing.T) {
	at := filepath.Join(t.TempDir(), "copied")
	programs(t, map[string]string{"wl-copy": `read -r text; echo "$text" >` + at})
	if err := Write(t.Context(), env, "a text\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(at); string(got) != "a text\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	programs(t, nil)
	if err := Write(t.Context(), env, "x"); !errors.Is(err, ErrNoProgram) {
		t.Error(err)
	}
}
