package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"runtime/debug"
	"strings"
)

// The members of a CycloneDX 1.6 document that are used here (https://cyclonedx.org/docs/1.6/json/). serialNumber and the time of the
// document are optional and left out, so that the same binary gives the same document.
type (
	bom struct {
		Format     string     `json:"bomFormat"`
		Spec       string     `json:"specVersion"`
		Version    int        `json:"version"`
		Metadata   metadata   `json:"metadata"`
		Components []material `json:"components"`
	}
	metadata struct {
		Component material `json:"component"`
	}
	material struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		Package    string     `json:"purl,omitempty"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Licenses   []license  `json:"licenses,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	license struct {
		Expression string `json:"expression"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

// sbom writes the bill of materials of a binary: the modules that the go command stored in it, Go, and what its page bundles.
func sbom(out io.Writer, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	file, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	known, err := components()
	if err != nil {
		return err
	}
	about := make(map[string]component)
	for _, c := range known {
		about[c.name] = c
	}
	sum := sha256.Sum256(file)
	name := path.Base(info.Path)
	program := material{Type: "application", Ref: name, Name: name, Version: info.Main.Version,
		Package: goPackage(info.Main), Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}}, Licenses: []license{{"MIT"}}}
	for _, s := range info.Settings {
		if strings.HasPrefix(s.Key, "vcs.") || s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" {
			program.Properties = append(program.Properties, property{"go:" + s.Key, s.Value})
		}
	}
	b := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{program}}
	b.Components = append(b.Components, material{Type: "platform", Ref: "go", Name: "Go", Version: strings.TrimPrefix(info.GoVersion, "go"),
		Package: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"), Licenses: []license{{about["Go"].license}}})
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c, ok := about[m.Path]
		if !ok {
			return fmt.Errorf("%s: the binary has %s, which this work tree does not: build both from one commit", binary, m.Path)
		}
		b.Components = append(b.Components, material{Type: "library", Ref: goPackage(*m), Name: m.Path, Version: m.Version, Package: goPackage(*m),
			Licenses: []license{{c.license}}, Properties: []property{{"go:sum", m.Sum}}})
	}
	for _, name := range bundled(name) {
		c, id := about[name], "pkg:npm/"+name+"@"+about[name].version
		b.Components = append(b.Components, material{Type: "library", Ref: id, Name: name, Version: c.version, Package: id, Licenses: []license{{c.license}}})
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(b)
}

// bundled are the packages of the page, if a program has the page.
func bundled(program string) []string {
	if program == "thinkd" {
		return pagePackages
	}
	return nil
}

// goPackage is the package URL of a module (https://github.com/package-url/purl-spec).
func goPackage(m debug.Module) string {
	return "pkg:golang/" + strings.ToLower(m.Path) + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
}
