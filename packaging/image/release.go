package main

import (
	"bytes"
	"crypto/x509"
	"debug/buildinfo"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// platforms are the processors of Linux for which there is an image.
var platforms = []string{"amd64", "arm64"}

// A release is what goreleaser built from a commit.
type release struct {
	version  string
	commit   string
	time     time.Time         // of the commit
	programs map[string][]byte // by platform
	texts    map[string][]byte // licences, by file name
}

// readRelease reads a program from goreleaser's directory, and checks that the programs are static and of the same commit.
func readRelease(dist, program string) (release, error) {
	r := release{programs: make(map[string][]byte), texts: make(map[string][]byte)}
	var metadata struct{ Version, Commit string }
	text, err := os.ReadFile(filepath.Join(dist, "metadata.json"))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &metadata); err != nil {
		return r, fmt.Errorf("metadata.json: %w", err)
	}
	r.version, r.commit = metadata.Version, metadata.Commit
	for _, platform := range platforms {
		found, err := filepath.Glob(filepath.Join(dist, program+"_linux_"+platform+"*", program))
		if err != nil || len(found) != 1 {
			return r, fmt.Errorf("%s has %d programs %s for linux/%s", dist, len(found), program, platform)
		}
		if r.programs[platform], err = os.ReadFile(found[0]); err != nil {
			return r, err
		}
		if r.time, err = checkProgram(r.programs[platform], platform, r.commit); err != nil {
			return r, fmt.Errorf("%s: %w", found[0], err)
		}
	}
	for _, path := range []string{"LICENSE", "packaging/out/THIRD_PARTY_LICENSES.txt"} {
		if r.texts[filepath.Base(path)], err = os.ReadFile(filepath.Join(filepath.Dir(dist), path)); err != nil {
			return r, err
		}
	}
	return r, nil
}

// checkProgram returns the time of the program's commit.
func checkProgram(program []byte, platform, commit string) (time.Time, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return time.Time{}, err
	}
	facts := make(map[string]string)
	for _, s := range info.Settings {
		facts[s.Key] = s.Value
	}
	for key, want := range map[string]string{"GOOS": "linux", "GOARCH": platform, "CGO_ENABLED": "0", "vcs.revision": commit} {
		if facts[key] != want {
			return time.Time{}, fmt.Errorf("the program has %s=%q, want %q", key, facts[key], want)
		}
	}
	return time.Parse(time.RFC3339, facts["vcs.time"])
}

// certificates are those of a version of Debian's package ca-certificates.
type certificates struct {
	version string
	bundle  []byte
}

// authorities is where the package has them, one in each file.
const authorities = "/usr/share/ca-certificates/mozilla/"

// readCertificates joins the certificates of the package as `update-ca-certificates` does, without those that were added on this
// machine.
func readCertificates() (certificates, error) {
	version, err := exec.Command("dpkg-query", "--show", "--showformat=${Version}", "ca-certificates").Output()
	if err != nil {
		return certificates{}, fmt.Errorf("Debian's package ca-certificates is needed: %w", err)
	}
	changed, err := exec.Command("dpkg", "--verify", "ca-certificates").Output()
	if err != nil && len(changed) == 0 {
		return certificates{}, fmt.Errorf("dpkg --verify: %w", err)
	}
	if strings.Contains(string(changed), authorities) {
		return certificates{}, fmt.Errorf("the package ca-certificates was changed on this machine:\n%s", changed)
	}
	owned, err := exec.Command("dpkg-query", "--listfiles", "ca-certificates").Output()
	if err != nil {
		return certificates{}, fmt.Errorf("dpkg-query: %w", err)
	}
	c := certificates{version: string(version)}
	files := strings.Fields(string(owned))
	slices.Sort(files)
	for _, path := range files {
		if !strings.HasPrefix(path, authorities) || !strings.HasSuffix(path, ".crt") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return c, err
		}
		if err := checkCertificate(text); err != nil {
			return c, fmt.Errorf("%s: %w", path, err)
		}
		c.bundle = append(c.bundle, text...)
	}
	if len(c.bundle) == 0 {
		return c, errors.New("the package ca-certificates has no certificates below " + authorities)
	}
	return c, nil
}

func checkCertificate(text []byte) error {
	block, rest := pem.Decode(text)
	if block == nil || len(bytes.TrimSpace(rest)) > 0 {
		return errors.New("not one certificate")
	}
	_, err := x509.ParseCertificate(block.Bytes)
	return err
}
