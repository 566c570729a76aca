// Image makes the container image of a release, and pushes it to a registry. It is a module of its own, so that its library is no
// dependency of thinkd.
//
//	go -C packaging/image run . build DIST           writes the image below DIST/image, and prints its digest
//	go -C packaging/image run . list DIST            lists the configuration and the files of each platform
//	go -C packaging/image run . push DIST REFERENCE  pushes the image under a name such as ghcr.io/thinkd/thinkd:0.1.0
//
// DIST is the absolute path of goreleaser's directory. The image is built from nothing: it has the program, the certificates of
// Debian's package ca-certificates, a user, and empty directories. It needs Debian for the certificates, but neither Docker nor root.
// The same commit and the same version of the certificates give the same bytes. push uses the logins of `docker login`,
// and for ghcr.io also $GITHUB_TOKEN.
//
// Inside the package, files depend in one direction: main, list, image, files, release.
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

var errUsage = errors.New("usage: image build DIST | list DIST | push DIST REFERENCE")

func run(out io.Writer, args []string) error {
	if len(args) < 2 || len(args) > 3 || (args[0] == "push") != (len(args) == 3) {
		return errUsage
	}
	dist := args[1]
	switch args[0] {
	case "build":
		return build(out, dist)
	case "list":
		index, err := open(dist)
		if err != nil {
			return err
		}
		return list(out, index)
	case "push":
		index, err := open(dist)
		if err != nil {
			return err
		}
		return push(out, index, args[2])
	}
	return errUsage
}

// build writes an OCI image layout. Its index names one index, which has the images of all platforms.
func build(out io.Writer, dist string) error {
	r, err := readRelease(dist)
	if err != nil {
		return err
	}
	certificates, err := readCertificates()
	if err != nil {
		return err
	}
	index, err := newIndex(r, certificates)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	dir := filepath.Join(dist, "image")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := to.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version})); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "thinkd:%s %s\n", r.version, digest)
	return err
}

// open reads what build wrote.
func open(dist string) (v1.ImageIndex, error) {
	outer, err := layout.ImageIndexFromPath(filepath.Join(dist, "image"))
	if err != nil {
		return nil, err
	}
	m, err := outer.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(m.Manifests) != 1 {
		return nil, fmt.Errorf("%s names %d images: build it again", dist, len(m.Manifests))
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
