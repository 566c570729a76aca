package main

import (
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// newIndex makes an image for each platform.
func newIndex(r release, c certificates) (v1.ImageIndex, error) {
	base, err := newLayer(common(c, r.texts))
	if err != nil {
		return nil, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range platforms {
		image, err := newImage(r, c, platform, base)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: platform}}})
	}
	return mutate.Annotations(index, annotations(r, c)).(v1.ImageIndex), nil
}

func newImage(r release, c certificates, platform string, base v1.Layer) (v1.Image, error) {
	program, err := newLayer([]file{{name: programPath[1:], mode: 0o755, body: r.programs[platform]}})
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: r.time.UTC()}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image,
		mutate.Addendum{Layer: base, History: v1.History{Created: created, CreatedBy: "packaging/image: certificates, user and directories"}},
		mutate.Addendum{Layer: program, History: v1.History{Created: created, CreatedBy: "packaging/image: " + programPath}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", platform, created
	config.Config = settings(annotations(r, c))
	return mutate.ConfigFile(image, config)
}

// settings say how a container runs. `thinkd serve` listens on the container's own loopback: an address that others can reach needs a
// certificate or a proxy, which a config file must declare.
func settings(labels map[string]string) v1.Config {
	return v1.Config{
		User:       account,
		WorkingDir: dataDir,
		Env:        []string{"PATH=/usr/bin", "HOME=" + dataDir, "XDG_CONFIG_HOME=/etc", "XDG_DATA_HOME=/var/lib"},
		Entrypoint: []string{programPath},
		Cmd:        []string{"serve"},
		Volumes:    map[string]struct{}{dataDir: {}},
		Labels:     labels,
		// OCI has no health check. Docker reads this one; for others, it is in packaging/compose.yaml and docs/install.md.
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", programPath, "status"}, Interval: 30 * time.Second, Timeout: 5 * time.Second, StartPeriod: 10 * time.Second, Retries: 3},
	}
}

func annotations(r release, c certificates) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "thinkd",
		"org.opencontainers.image.description": "A daemon that keeps conversations with reasoning models",
		"org.opencontainers.image.source":      "https://github.com/thinkd/thinkd",
		"org.opencontainers.image.licenses":    "MIT",
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.revision":    r.commit,
		"io.github.thinkd.ca-certificates":     c.version,
	}
}
