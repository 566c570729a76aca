// Image makes the container images of a release, and pushes them to a registry. It is a module of its own, so that its library is no
// dependency of thinkd.
//
//	go -C packaging/image run . build DIST                   writes the images below DIST/image, and prints their digests
//	go -C packaging/image run . list DIST                    lists the configuration and the files of each platform
//	go -C packaging/image run . push DIST PROGRAM REFERENCE  pushes an image under a name such as ghcr.io/thinkd/thinkd:0.1.0
//
// DIST is the absolute path of goreleaser's directory. There is an image for each program, thinkd and thinkd-store. It is built from nothing: it has the program, the certificates of
// Debian's package ca-certificates, a user, and empty directories. It needs Debian for the certificates, but neither Docker nor root.
// The same commit and the same version of the certificates give the same bytes. push uses the logins of `docker login`,
// and for ghcr.io also $GITHUB_TOKEN.
//
// Inside the package, files depend in one direction: main, list, image, files, release, product.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/authn/github"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: image build DIST | list DIST | push DIST PROGRAM REFERENCE")

func run(out io.Writer, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "build":
		return buildAll(out, args[1])
	case len(args) == 2 && args[0] == "list":
		return listAll(out, args[1])
	case len(args) == 4 && args[0] == "push":
		index, err := open(args[1], args[2])
		if err != nil {
			return err
		}
		return push(out, index, args[3])
	}
	return errUsage
}

// buildAll writes an OCI image layout for each program.
func buildAll(out io.Writer, dist string) error {
	certificates, err := readCertificates()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(dist, "image")); err != nil {
		return err
	}
	for _, p := range products {
		if err := build(out, dist, p, certificates); err != nil {
			return err
		}
	}
	return nil
}

func listAll(out io.Writer, dist string) error {
	for _, p := range products {
		index, err := open(dist, p.name)
		if err != nil {
			return err
		}
		if err := list(out, index); err != nil {
			return err
		}
	}
	return nil
}

// build writes the layout of one program. Its index names one index, which has the images of all platforms.
func build(out io.Writer, dist string, p product, certificates certificates) error {
	r, err := readRelease(dist, p.name)
	if err != nil {
		return err
	}
	index, err := newIndex(p, r, certificates)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	dir := filepath.Join(dist, "image", p.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := to.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version})); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s:%s %s\n", p.name, r.version, digest)
	return err
}

// open reads what build wrote for a program.
func open(dist, program string) (v1.ImageIndex, error) {
	outer, err := layout.ImageIndexFromPath(filepath.Join(dist, "image", program))
	if err != nil {
		return nil, err
	}
	m, err := outer.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(m.Manifests) != 1 {
		return nil, fmt.Errorf("%s names %d images of %s: build them again", dist, len(m.Manifests), program)
	}
	return outer.ImageIndex(m.Manifests[0].Digest)
}

// push pushes all platforms under one name.
func push(out io.Writer, index v1.ImageIndex, reference string) error {
	to, err := name.ParseReference(reference)
	if err != nil {
		return err
	}
	logins := authn.NewMultiKeychain(authn.DefaultKeychain, github.Keychain)
	if err := remote.WriteIndex(to, index, remote.WithAuthFromKeychain(logins)); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s@%s\n", to.Context(), digest)
	return err
}
