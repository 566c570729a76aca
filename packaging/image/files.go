package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// userID is the user and the group that the program runs as. Neither is in the passwd file of a usual system.
const userID = 65532

var account = strconv.Itoa(userID) + ":" + strconv.Itoa(userID)

// A file is an entry of a layer: a directory if its name ends with a slash.
type file struct {
	name string
	mode int64
	user int
	body []byte
}

// common are the files that all platforms and most versions of an image share.
func common(p product, c certificates, texts map[string][]byte) []file {
	return []file{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, body: []byte(p.name + ":x:" + strconv.Itoa(userID) + ":\n")},
		{name: "etc/passwd", mode: 0o644, body: []byte(p.name + ":x:" + account + "::" + p.data() + ":/nonexistent\n")},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, body: c.bundle},
		{name: "etc/" + p.name + "/", mode: 0o755}, // a config can be mounted here
		{name: "tmp/", mode: 0o1777},               // so can a file system in memory
		{name: "usr/", mode: 0o755},
		{name: "usr/bin/", mode: 0o755},
		{name: "usr/share/", mode: 0o755},
		{name: "usr/share/doc/", mode: 0o755},
		{name: "usr/share/doc/" + p.name + "/", mode: 0o755},
		{name: "usr/share/doc/" + p.name + "/LICENSE", mode: 0o644, body: texts["LICENSE"]},
		{name: "usr/share/doc/" + p.name + "/THIRD_PARTY_LICENSES.txt", mode: 0o644, body: texts["THIRD_PARTY_LICENSES.txt"]},
		{name: "var/", mode: 0o755},
		{name: "var/lib/", mode: 0o755},
		{name: "var/lib/" + p.name + "/", mode: 0o700, user: userID},
	}
}

// newLayer packs files. Their time is the epoch, so that a layer depends on its files alone.
func newLayer(files []file) (v1.Layer, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Uid: f.user, Gid: f.user, Size: int64(len(f.body)), ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg}
		if f.name[len(f.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.body); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithMediaType(types.OCILayer))
}
