package vault

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/provider/durable"
)

const secret = "sk-of-the-test-which-is-secret"

// line is a key, the same for the same letter.
func line(c byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{c}, keyBytes)) + "\n"
}

func masters(t *testing.T, text string) Masters {
	t.Helper()
	m, err := read("the test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// get opens a value and returns its text.
func get(t *testing.T, v durable.Value, m Masters) (text string, rotated bool) {
	t.Helper()
	s, rotated, err := Seal(v, "keys", m)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := s.Get()
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), rotated
}

// A text comes back with its key, and what is stored has nothing of it. Each write has other bytes.
func TestSeal(t *testing.T) {
	kept := new(durable.Memory)
	m := masters(t, line('a'))
	s, rotated, err := Seal(kept, "keys", m)
	if err != nil || rotated {
		t.Fatal(rotated, err)
	}
	if text, err := s.Get(); text != nil || err != nil {
		t.Errorf("of nothing: %q, %v", text, err)
	}
	seen := map[string]bool{}
	for range 3 {
		if err := s.Put([]byte(secret)); err != nil {
			t.Fatal(err)
		}
		stored, _ := kept.Get()
		if seen[string(stored)] || strings.Contains(string(stored), "sk-") || !Sealed(stored) {
			t.Errorf("stored: %s", stored)
		}
		seen[string(stored)] = true
		if text, rotated := get(t, kept, m); text != secret || rotated {
			t.Errorf("%q, rotated %v", text, rotated)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if said := fmt.Sprintf(verb, m); strings.Contains(said, "97") || said != "the test" {
			t.Errorf("%s prints %s", verb, said)
		}
	}
}

// Plain text is encrypted at the next start, and a text of an older key is encrypted anew with a new data key.
func TestRotate(t *testing.T) {
	kept := durable.NewMemory([]byte(secret))
	dataKey := func() string {
		text, _ := kept.Get()
		s, ok := readSealed(text)
		if !ok || strings.Contains(string(text), "sk-") {
			t.Fatalf("stored: %s", text)
		}
		return string(s.Key)
	}
	if text, rotated := get(t, kept, masters(t, line('a'))); text != secret || !rotated {
		t.Errorf("%q, %v", text, rotated)
	}
	before := dataKey()
	if text, rotated := get(t, kept, masters(t, line('b')+line('a'))); text != secret || !rotated {
		t.Errorf("%q, %v", text, rotated)
	}
	if dataKey() == before {
		t.Error("the data key is the same")
	}
	if text, rotated := get(t, kept, masters(t, line('b'))); text != secret || rotated {
		t.Errorf("%q, %v", text, rotated)
	}
	stored, _ := kept.Get()
	_, _, err := Seal(kept, "keys", masters(t, line('a')))
	if after, _ := kept.Get(); err == nil || !strings.Contains(err.Error(), "which is not in the test") || !bytes.Equal(after, stored) {
		t.Errorf("with the old key: %v", err)
	}
}

// Each change of what is stored is an error, and so is the text of a value of another name.
func TestChanged(t *testing.T) {
	kept, m := new(durable.Memory), masters(t, line('a'))
	s, _, err := Seal(kept, "keys", m)
	if err == nil {
		err = s.Put([]byte(secret))
	}
	if err != nil {
		t.Fatal(err)
	}
	stored, _ := kept.Get()
	whole, _ := readSealed(stored)
	refused := func(what string, s sealed, name string) {
		t.Helper()
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Seal(durable.NewMemory(text), name, m); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", what, err)
		}
	}
	flip := func(b []byte, i int) []byte {
		b = bytes.Clone(b)
		b[i] ^= 1
		return b
	}
	for i := range whole.Text {
		c := whole
		c.Text = flip(c.Text, i)
		refused(fmt.Sprintf("byte %d of the text", i), c, "keys")
	}
	for i := range whole.Key {
		c := whole
		c.Key = flip(c.Key, i)
		refused(fmt.Sprintf("byte %d of the key", i), c, "keys")
	}
	refused("another name", whole, "other")
	for what, change := range map[string]func(*sealed){
		"no text": func(s *sealed) { s.Text = nil }, "no key": func(s *sealed) { s.Key = nil },
		"another master key": func(s *sealed) { s.Master = "0" }, "a later version": func(s *sealed) { s.Vault = 2 },
	} {
		c := whole
		change(&c)
		refused(what, c, "keys")
	}
	if err := kept.Put([]byte(secret)); err != nil {
		t.Fatal(err)
	}
	if text, err := s.Get(); err == nil {
		t.Errorf("plain text in the place of an encrypted one: %q", text)
	}
}

// Keys come from lines of a file or of a program's output. What is wrong is named by its line, and not quoted.
func TestMasters(t *testing.T) {
	if m := masters(t, "# the key of 2026\n\n"+line('a')+strings.Repeat("62", keyBytes)+"\r\n"); len(m.keys) != 2 || m.keys[0][0] != 'a' || m.keys[1][31] != 'b' {
		t.Errorf("%d keys", len(m.keys))
	}
	for text, want := range map[string]string{
		"":                             "has no key",
		"# " + line('a'):               "has no key",
		line('a') + "secret\n":         "line 2: must be 32 random bytes in base64",
		line('a')[:40]:                 "line 1",
		strings.Repeat("x", maxText+1): "longer than",
	} {
		if _, err := read("F", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(line('a')), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := FromFile(path); err != nil || len(m.keys) != 1 {
		t.Error(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := FromFile(path); err == nil || !strings.Contains(err.Error(), "everybody") {
		t.Error(err)
	}
	if m, err := FromCommand(t.Context(), []string{"cat", path}); err != nil || len(m.keys) != 1 {
		t.Error(err)
	}
	if _, err := FromCommand(t.Context(), []string{"sh", "-c", "echo the vault is locked >&2; exit 3"}); err == nil || !strings.Contains(err.Error(), "the vault is locked") {
		t.Error(err)
	}
	if _, err := FromCommand(t.Context(), []string{filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a program that is not there has a key")
	}
}

// A secret is one line of a file or of a program's output. What is none is named, and not quoted.
func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	file := func(text string, mode os.FileMode) string {
		path := filepath.Join(dir, fmt.Sprint("secret", len(text), mode))
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if s, err := SecretFromFile(file(secret+"\n", 0o600)); err != nil || s.Reveal() != secret {
		t.Errorf("%v, %v", s, err)
	}
	for path, want := range map[string]string{
		file(" \n", 0o600):                      "is empty",
		file(secret+"\n"+secret+"\n", 0o600):    "more than one line",
		file(strings.Repeat("k", 1<<17), 0o600): "is longer than",
		filepath.Join(dir, "none"):              "no such file",
		file(secret, 0o644):                     "can be read by everybody",
	} {
		if runtime.GOOS == "windows" {
			continue // there are no modes, and another text for what is not there
		}
		if s, err := SecretFromFile(path); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) || !s.IsZero() {
			t.Errorf("%s: %v", want, err)
		}
	}
	if runtime.GOOS == "windows" {
		return // sh is not there
	}
	if s, err := SecretFromCommand(t.Context(), []string{"sh", "-c", "echo " + secret}); err != nil || s.Reveal() != secret {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := SecretFromCommand(t.Context(), []string{"sh", "-c", "echo locked >&2; exit 3"}); err == nil || !strings.Contains(err.Error(), "exit status 3: locked") {
		t.Errorf("%v", err)
	}
}
