package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// list prints how each platform's container runs, and its files.
func list(out io.Writer, index v1.ImageIndex) error {
	m, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, d := range m.Manifests {
		image, err := index.Image(d.Digest)
		if err != nil {
			return err
		}
		if err := listImage(out, d, image); err != nil {
			return err
		}
	}
	return nil
}

func listImage(out io.Writer, d v1.Descriptor, image v1.Image) error {
	file, err := image.ConfigFile()
	if err != nil {
		return err
	}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	size := int64(0)
	for _, l := range layers {
		n, err := l.Size()
		if err != nil {
			return err
		}
		size += n
	}
	c := file.Config
	fmt.Fprintf(out, "%s %s, %d layers, %.1f MB\n", d.Platform, d.Digest, len(layers), float64(size)/1e6)
	health := "none"
	if c.Healthcheck != nil {
		health = strings.Join(c.Healthcheck.Test[1:], " ")
	}
	fmt.Fprintf(out, "runs %s as %s, health check %s\n", strings.Join(append(c.Entrypoint, c.Cmd...), " "), c.User, health)
	for _, l := range layers {
		if err := listLayer(out, l); err != nil {
			return err
		}
	}
	return nil
}

func listLayer(out io.Writer, l v1.Layer) error {
	packed, err := l.Uncompressed()
	if err != nil {
		return err
	}
	in := tar.NewReader(packed)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return packed.Close()
		}
		if err != nil {
			return errors.Join(err, packed.Close())
		}
		fmt.Fprintf(out, "%v %5d:%-5d %10d /%s\n", h.FileInfo().Mode(), h.Uid, h.Gid, h.Size, h.Name)
	}
}
