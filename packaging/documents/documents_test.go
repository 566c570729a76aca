package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/testgo"
)

// TestMain runs the tests at the root of the repository, as the commands are run.
func TestMain(m *testing.M) {
	if err := os.Chdir(filepath.Join("..", "..")); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func all(t *testing.T) []component {
	t.Helper()
	list, err := components()
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("needs: npm ci --prefix web: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// docs/licenses.md is what the command writes.
func TestLicenses(t *testing.T) {
	var want bytes.Buffer
	if err := licenses(&want, all(t)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("docs/licenses.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/licenses.md is not up to date: run go run ./packaging/documents licenses >docs/licenses.md")
	}
}

// Each component is named above a licence.
func TestTexts(t *testing.T) {
	list := all(t)
	var out bytes.Buffer
	if err := texts(&out, list); err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if !strings.Contains(out.String(), "\n"+c.name+" "+c.version+"\n") || !strings.Contains(out.String(), strings.Trim(c.text, "\n")) {
			t.Errorf("%s or its licence is missing", c.name)
		}
	}
}

func TestClassify(t *testing.T) {
	for text, want := range map[string]string{
		"Permission is hereby granted, free\nof charge, to any person obtaining a copy": "MIT",
		"Apache License\n  Version 2.0, January 2004":                                   "Apache-2.0",
		"GNU GENERAL PUBLIC LICENSE Version 3":                                          "",
		"All rights reserved.":                                                          "",
		"":                                                                              "",
	} {
		if got, err := classify(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
}

// The bill of materials has the binary's own modules, and every package URL once.
func TestSBOM(t *testing.T) {
	all(t)
	var out, again bytes.Buffer
	if err := errors.Join(sbom(&out, proof.PlainProgram(t)), sbom(&again, proof.PlainProgram(t))); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Error("two runs differ")
	}
	var b bom
	if err := json.Unmarshal(out.Bytes(), &b); err != nil {
		t.Fatal(err)
	}
	if b.Format != "CycloneDX" || b.Spec != "1.6" || len(b.Metadata.Component.Hashes) != 1 || len(b.Metadata.Component.Hashes[0].Content) != 64 {
		t.Errorf("the document begins with %+v", b)
	}
	refs := make(map[string]bool)
	for _, m := range b.Components {
		if refs[m.Ref] || m.Version == "" || m.Package == "" || len(m.Licenses) != 1 || m.Licenses[0].Expression == "" {
			t.Errorf("component %+v", m)
		}
		refs[m.Ref] = true
	}
	for _, name := range []string{"go.etcd.io/bbolt", "github.com/spf13/cobra", "dompurify", "Go"} {
		if !slices.ContainsFunc(b.Components, func(m material) bool { return m.Name == name }) {
			t.Errorf("%s is missing", name)
		}
	}
}

// The store server has the modules of NATS, and no page.
func TestStoreSBOM(t *testing.T) {
	all(t)
	program := filepath.Join(t.TempDir(), "thinkd-store")
	build := exec.Command("go", "build", "-o", program, "./cmd/thinkd-store")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as a release and proof.PlainProgram, so that little is compiled for this alone
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var out bytes.Buffer
	if err := sbom(&out, program); err != nil {
		t.Fatal(err)
	}
	var b bom
	if err := json.Unmarshal(out.Bytes(), &b); err != nil {
		t.Fatal(err)
	}
	if b.Metadata.Component.Name != "thinkd-store" {
		t.Errorf("the program is %q", b.Metadata.Component.Name)
	}
	for name, want := range map[string]bool{"github.com/nats-io/nats-server/v2": true, "github.com/nats-io/jwt/v2": true, "katex": false} {
		if slices.ContainsFunc(b.Components, func(m material) bool { return m.Name == name }) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
}

// The man page has every command, and man reads it without a warning.
func TestManpage(t *testing.T) {
	var out bytes.Buffer
	if err := manpage(&out, proof.PlainProgram(t)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{".TH THINKD 1", ".SS thinkd serve\n", `.SS thinkd sessions export ID` + "\n", `.B \-\-config FILE`, `.B \-\-format string`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	man, err := exec.LookPath("man")
	if err != nil {
		return // its form is checked where man is
	}
	cmd := exec.Command(man, "--warnings", "-l", "-")
	cmd.Env = append(os.Environ(), "MANWIDTH=80", "LC_ALL=C.UTF-8", "MANPAGER=cat")
	cmd.Stdin = &out
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	text, err := cmd.Output()
	if err != nil || errOut.Len() > 0 || !bytes.Contains(text, []byte("thinkd sessions export")) {
		t.Errorf("man: %v\n%s\n%s", err, testgo.Excerpt(errOut.String()), testgo.Excerpt(text))
	}
}

// Arguments that name no document are an error that lists them.
func TestUsage(t *testing.T) {
	if err := write(&bytes.Buffer{}, []string{"licences"}); err == nil || !strings.Contains(err.Error(), "licenses | texts") {
		t.Error(err)
	}
}
