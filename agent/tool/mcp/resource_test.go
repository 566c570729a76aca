package mcp

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/thinkd/thinkd/agent/tool/toolhost"
	"github.com/thinkd/thinkd/session/tool"
)

// addResources adds resources to the test's own server: a text, data, and many that are only listed.
func addResources(server *mcp.Server) {
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		part := &mcp.ResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: "notes of " + r.Params.URI}
		if strings.HasSuffix(r.Params.URI, "picture") {
			part = &mcp.ResourceContents{URI: r.Params.URI, MIMEType: "image/png", Blob: []byte{1, 2, 3}}
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{part}}, nil
	}
	server.AddResource(&mcp.Resource{URI: "note://one", Name: "one", MIMEType: "text/plain", Description: "The first\nnote."}, read)
	server.AddResource(&mcp.Resource{URI: "note://picture", Name: "picture"}, read)
	for i := range maxResources {
		server.AddResource(&mcp.Resource{URI: fmt.Sprint("zero://", i), Name: "zero"}, read)
	}
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "day://{date}", Name: "day"}, read)
}

func withResources(t *testing.T, s toolhost.Server) *Host {
	t.Helper()
	s.Name, s.Command, s.Env = "own", []string{os.Args[0]}, map[string]string{"THINKD_TEST_SERVER": "1", "THINKD_TEST_RESOURCES": "1"}
	h, _ := open(t, s)
	return h
}

// A model lists and reads the resources of a server with two tools.
func TestResources(t *testing.T) {
	h := withResources(t, toolhost.Server{})
	tools, err := h.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"own__list_resources", "own__read_resource"} {
		i := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Name == name })
		if i < 0 || tools[i].Effect != tool.Other || tools[i].Source != h.Name() {
			t.Errorf("%s is not among %+v, or is trusted", name, tools)
		}
	}
	for _, c := range []struct{ name, input, want string }{
		{"own__list_resources", `{}`, "note://one one text/plain The first note.\nnote://picture picture\n"},
		{"own__list_resources", `{}`, fmt.Sprintf("… only the first %d are listed\nTemplates:\nday://{date} day", maxResources)},
		{"own__read_resource", `{"uri":"note://one"}`, "[note://one]\nnotes of note://one"},
		{"own__read_resource", `{"uri":"day://2026-11-23"}`, "notes of day://2026-11-23"},
		{"own__read_resource", `{"uri":"note://picture"}`, "<image/png "},
	} {
		if said, failed := run(t, h, c.name, c.input); failed || !strings.Contains(said, c.want) {
			t.Errorf("%s %s: %q, want %q", c.name, c.input, said, c.want)
		}
	}
	if said, failed := run(t, h, "own__read_resource", `{"uri":"other://one"}`); !failed || said == "" {
		t.Errorf("an unknown resource: %q, %v", said, failed)
	}
}

// The operator's list of tools and trust in hints hold for them as for the server's own tools.
func TestResourcesAreTools(t *testing.T) {
	h := withResources(t, toolhost.Server{Tools: []string{"read_resource"}, TrustHints: true})
	tools, err := h.Tools(t.Context())
	if err != nil || len(tools) != 1 || tools[0].Name != "own__read_resource" || tools[0].Effect != tool.Read {
		t.Errorf("%+v, %v", tools, err)
	}
	plain, _ := own(t)
	if tools, err = plain.Tools(t.Context()); err != nil || slices.ContainsFunc(tools, func(t tool.Tool) bool { return strings.HasSuffix(t.Name, "_resource") }) {
		t.Errorf("a server without resources has %+v, %v", tools, err)
	}
}
