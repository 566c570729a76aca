package main

import (
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// newIndex makes an image for each platform.
func newIndex(p product, r release, c certificates) (v1.ImageIndex, error) {
	base, err := newLayer(common(p, c, r.texts))
	if err != nil {
		return nil, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range platforms {
		image, err := newImage(p, r, c, platform, base)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: platform}}})
	}
	return mutate.Annotations(index, annotations(p, r, c)).(v1.ImageIndex), nil
}

func newImage(p product, r release, c certificates, platform string, base v1.Layer) (v1.Image, error) {
	program, err := newLayer([]file{{name: p.program()[1:], mode: 0o755, body: r.programs[platform]}})
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: r.time.UTC()}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image,
		mutate.Addendum{Layer: base, History: v1.History{Created: created, CreatedBy: "packaging/image: certificates, user and directories"}},
		mutate.Addendum{Layer: program, History: v1.History{Created: created, CreatedBy: "packaging/image: " + p.program()}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", platform, created
	config.Config = settings(p, annotations(p, r, c))
	return mutate.ConfigFile(image, config)
}

// settings say how a container runs.
func settings(p product, labels map[string]string) v1.Config {
	config := v1.Config{
		User:       account,
		WorkingDir: p.data(),
		Env:        []string{"PATH=/usr/bin", "HOME=" + p.data(), "XDG_CONFIG_HOME=/etc", "XDG_DATA_HOME=/var/lib"},
		Entrypoint: []string{p.program()},
		Cmd:        p.command,
		Volumes:    map[string]struct{}{p.data(): {}},
		Labels:     labels,
	}
	if p.health != nil { // OCI has no health check. Docker reads this one; for others, it is in packaging/compose.yaml and docs/install.md.
		config.Healthcheck = &v1.HealthConfig{Test: append([]string{"CMD", p.program()}, p.health...), Interval: healthEvery, Timeout: healthTime,
			StartPeriod: healthStart, Retries: healthTries}
	}
	return config
}

func annotations(p product, r release, c certificates) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       p.name,
		"org.opencontainers.image.description": p.description,
		"org.opencontainers.image.source":      "https://github.com/thinkd/thinkd",
		"org.opencontainers.image.licenses":    "MIT",
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.revision":    r.commit,
		"io.github.thinkd.ca-certificates":     c.version,
	}
}
