package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// allowed says which packages of ours a package may import. A package that is missing here may import none.
var allowed = map[string][]string{
	"provider":              {"provider/mediatype", "provider/ownjson"},
	"provider/picture":      {"provider/mediatype"},
	"registry":              {"provider", "provider/durable"},
	"registry/drift":        {"provider", "registry"},
	"registry/options":      {"provider", "registry"},
	"provider/providertest": {"provider", "provider/sim", "provider/sse"},
	"provider/messages":     {"provider", "provider/aws", "provider/exchange", "provider/mediatype", "provider/refusal", "provider/replay", "provider/schema"},
	"provider/responses":    {"provider", "provider/exchange", "provider/refusal", "provider/replay", "provider/schema"},
	"provider/chat":         {"provider", "provider/exchange", "provider/mediatype", "provider/refusal", "provider/replay", "provider/schema", "provider/thinktag"},
	"provider/gemini":       {"provider", "provider/exchange", "provider/refusal", "provider/replay", "provider/schema"},
	"provider/exchange":     {"provider", "provider/ownjson", "provider/quota", "provider/refusal", "provider/sse", "provider/transport"},
	"provider/cohere":       {"provider", "provider/exchange", "provider/refusal", "provider/replay", "provider/schema"},
	"provider/converse":     {"provider", "provider/aws", "provider/exchange", "provider/refusal", "provider/replay", "provider/schema"},
	"provider/aws":          {"provider", "provider/exchange", "provider/sse"},
	"provider/transport":    {"provider"},
	"provider/refusal":      {"provider"},
	"provider/replay":       {"provider", "provider/mediatype"},
	"provider/login":        {"provider", "provider/durable", "provider/exchange", "provider/loopback", "provider/refusal"},
	"provider/identity":     {"provider", "provider/login", "provider/refusal"},
	"provider/schema":       {"provider"},
	"provider/vault":        {"provider", "provider/durable"},
	"provider/vendors": {"provider", "provider/aws", "provider/chat", "provider/cohere", "provider/converse", "provider/durable", "provider/exchange", "provider/gemini", "provider/identity", "provider/login", "provider/messages",
		"provider/ollama", "provider/quota", "provider/responses", "provider/sim", "provider/sim/faces", "provider/transport", "registry"},
	"provider/ollama":     {"provider", "provider/exchange", "provider/refusal", "provider/replay", "provider/schema", "provider/thinktag"},
	"agent/tool/approval": {"provider", "session/tool"},
	"agent/tool/toolhost": {"agent/tool/approval", "provider", "session/tool"},
	"agent/tool/guard":    {"agent/tool/approval"},
	"agent/tool/sandbox":  {"agent/tool/guard"},
	"agent/recall":        {"provider"},
	"agent/instructions":  {"session"},
	"agent/todo":          {"provider", "session", "session/tool"},
	"agent/tool/builtin":  {"agent/recall", "agent/tool/approval", "agent/tool/gitignore", "agent/tool/guard", "agent/tool/process", "agent/tool/sandbox", "provider", "session/tool"},
	"agent/tool/mcphttp":  {},
	"agent/tool/mcplogin": {"agent/tool/mcphttp", "provider", "provider/login", "provider/loopback"},
	"agent/tool/mcp":      {"agent/tool/approval", "agent/tool/arguments", "agent/tool/mcphttp", "agent/tool/mcplogin", "agent/tool/process", "agent/tool/toolhost", "provider", "session/tool"},
	"session/tool":        {"provider"},
	"session":             {"provider", "provider/ownjson", "session/tool"},
	"session/share":       {"provider/durable", "session"},
	"session/search":      {"provider", "session"},
	"session/mem":         {"provider", "session"},
	"session/jet":         {"provider", "provider/durable", "session", "session/lease"},
	"session/jet/jettest": {"provider/testgo", "session/jet", "session/jet/ports"},
	"session/jet/archive": {"provider/durable", "session", "session/jet"},
	"session/bolt":        {"provider", "provider/durable", "session", "session/bolt/page", "session/tool"},
	"session/blob":        {"provider", "provider/durable", "session"},
	"session/ephemeral":   {"provider", "session", "session/mem"},
	"session/storetest":   {"provider", "provider/testgo", "session", "session/tool"},
	"agent/feed":          {"agent/tool/approval", "provider", "session", "session/tool"},
	"agent/feed/feedtest": {"agent/feed"},
	"agent/relay":         {"provider"},
	"agent/media":         {"provider", "provider/mediatype", "provider/picture"},
	"agent/budget":        {"provider"},
	"agent/egress":        {"provider"},
	"agent/privacy":       {"provider", "session"},
	"agent/retention":     {"session"},
	"agent/fallback":      {"provider", "session"},
	"agent/gate":          {"agent/budget", "provider", "session"},
	"agent/transcript":    {"agent/media", "provider", "session", "session/tool"},
	"agent/loaded":        {"session"},
	"agent/watch":         {"provider", "session"},
	"agent/room":          {"provider", "session"},
	"agent/stored":        {"agent/room", "provider", "session"},
	"agent/queue":         {"agent/feed", "agent/room", "provider", "session"},
	"agent/report":        {"provider", "session"},
	"agent/park":          {"provider", "session"},
	"agent/summary":       {"agent/budget", "agent/transcript", "provider"},
	"agent/structured":    {"agent/tool/arguments", "provider"},
	"agent/quote":         {"provider"},
	"agent/forecast":      {"agent/budget", "agent/media", "agent/quote", "agent/transcript", "provider", "session"},
	"agent/suspect":       {"agent/transcript", "provider", "provider/refusal", "session"},
	"agent/aside":         {"agent/budget", "provider", "provider/durable", "session"},
	"agent": {"agent/aside", "agent/budget", "agent/egress", "agent/fallback", "agent/fault", "agent/feed", "agent/forecast", "agent/gate",
		"agent/loaded", "agent/media", "agent/park", "agent/privacy", "agent/queue", "agent/quote", "agent/recall", "agent/relay", "agent/report", "agent/room", "agent/stored",
		"agent/structured", "agent/summary", "agent/suspect", "agent/todo", "agent/tool/approval", "agent/tool/arguments", "agent/tool/toolhost", "agent/transcript",
		"agent/watch", "provider", "provider/refusal", "registry", "registry/options", "session", "session/search", "session/tool"},
	"rpc":             {"agent", "agent/egress", "agent/feed", "agent/room", "agent/tool/toolhost", "agent/watch", "provider", "provider/quota", "registry", "rpc/acp", "rpc/audit", "rpc/auth", "rpc/conn", "rpc/dispatch", "rpc/door", "rpc/failure", "rpc/method", "rpc/service", "rpc/wire", "session", "session/search", "session/share", "session/tool"},
	"rpc/acp":         {"agent", "agent/feed", "agent/tool/approval", "agent/tool/toolhost", "provider", "rpc/acp/blocks", "rpc/acp/command", "rpc/acp/option", "rpc/acp/permit", "rpc/conn", "rpc/dispatch", "rpc/door", "rpc/failure", "rpc/method", "rpc/service", "rpc/wire", "session", "session/tool"},
	"rpc/acp/command": {"agent/tool/toolhost"},
	"rpc/acp/option":  {"agent", "provider", "registry/options", "rpc/conn", "rpc/wire", "session", "session/tool"},
	"rpc/acp/permit":  {"agent", "agent/feed", "agent/tool/approval", "provider", "rpc/acp/blocks", "session"},
	"rpc/acp/blocks":  {"provider", "provider/mediatype", "rpc/conn", "rpc/door", "rpc/wire"},
	"rpc/service":     {"agent", "agent/egress", "agent/tool/arguments", "agent/tool/toolhost", "agent/watch", "provider", "provider/quota", "registry", "rpc/conn", "rpc/failure", "rpc/method", "rpc/wire", "session", "session/search", "session/share", "session/tool"},
	"rpc/wire":        {"agent", "agent/feed", "agent/privacy", "agent/tool/approval", "agent/watch", "provider", "registry", "rpc/conn", "rpc/failure", "rpc/method", "session", "session/tool"},
	"rpc/dispatch":    {"rpc/auth", "rpc/conn", "rpc/failure", "rpc/method", "session"},
	"rpc/failure":     {"agent", "agent/aside", "agent/feed", "agent/media", "agent/room", "agent/stored", "agent/transcript", "provider", "registry", "rpc/conn", "session", "agent/gate"},
	"rpc/method":      {"provider", "rpc/conn", "session"},
	"rpc/conntest":    {"provider/testgo"},
	"rpc/audit":       {"provider/durable", "rpc/conn", "rpc/dispatch", "rpc/door", "session"},
	"rpc/auth":        {"provider", "provider/durable", "rpc/conn", "rpc/method", "session"},
	"rpc/oidc":        {"provider", "rpc/auth", "rpc/conn", "rpc/method", "session"},
	"rpc/network":     {"provider", "provider/durable", "rpc/auth", "rpc/conn", "rpc/method", "session"},
	"rpc/door":        {"rpc/conn"},

	"rpc/cluster/heartbeat": {"rpc/cluster/presence", "session", "session/jet", "session/lease"},
	"rpc/cluster/model":     {"session", "session/lease"},
	"rpc/cluster/link":      {"rpc/auth", "rpc/conn", "rpc/dispatch", "rpc/door", "rpc/method", "session"},
	"rpc/cluster/lists":     {"agent/watch", "session", "session/jet", "session/lease"},
	"rpc/cluster/node":      {"agent/watch", "provider/durable", "rpc/cluster/heartbeat", "rpc/cluster/lists", "session", "session/jet", "session/lease"},
	"rpc/cluster/trail":     {"provider/durable", "rpc/audit", "session", "session/jet"},

	"provider/sim":           {"provider/sim/portable", "provider/sim/schema", "provider/sim/strict"},
	"provider/sim/schema":    {"provider/sim/strict"},
	"provider/sim/portable":  {"provider/sim/strict"},
	"provider/sim/messages":  {"provider/sim", "provider/sim/aws", "provider/sim/gcloud", "provider/sim/portable", "provider/sim/strict"},
	"provider/sim/responses": {"provider/sim", "provider/sim/portable", "provider/sim/strict"},
	"provider/sim/chat":      {"provider/sim", "provider/sim/gcloud", "provider/sim/portable", "provider/sim/strict"},
	"provider/sim/gemini":    {"provider/sim", "provider/sim/gcloud", "provider/sim/portable", "provider/sim/strict"},
	"provider/sim/ollama":    {"provider/sim", "provider/sim/portable", "provider/sim/strict"},
	"provider/sim/aws":       {"provider/sim"},
	"provider/sim/cohere":    {"provider/sim", "provider/sim/portable", "provider/sim/strict"},
	"provider/sim/converse":  {"provider/sim", "provider/sim/aws", "provider/sim/strict"},
	"provider/sim/clouds":    {"provider/sim/aws"},
	"provider/sim/gcloud":    {"provider/sim"},
	"provider/sim/faces":     {"provider/sim/chat", "provider/sim/cohere", "provider/sim/converse", "provider/sim/gemini", "provider/sim/messages", "provider/sim/ollama", "provider/sim/responses"},

	"clients/generate": {"rpc"},

	"cmd/thinkd/config": {"agent", "agent/budget", "agent/egress", "agent/retention", "agent/tool/guard", "agent/tool/sandbox", "agent/tool/toolhost", "cmd/thinkd/telemetry", "provider", "provider/aws", "provider/chat", "provider/exchange", "provider/identity", "provider/transport", "provider/vendors", "registry", "rpc/conn", "session", "session/tool", "rpc/auth", "rpc/oidc", "agent/gate"},
	"cmd/thinkd/daemon": {"agent", "agent/aside", "agent/instructions", "agent/recall", "agent/retention", "agent/tool/builtin", "agent/tool/guard", "agent/tool/mcp", "agent/tool/mcphttp", "agent/tool/mcplogin", "agent/tool/process", "agent/tool/sandbox", "agent/tool/toolhost",
		"cmd/thinkd/config", "cmd/thinkd/daemon/systemd", "cmd/thinkd/network", "cmd/thinkd/printable", "cmd/thinkd/telemetry", "provider", "provider/durable", "provider/login",
		"provider/vault", "provider/vendors", "registry", "rpc", "rpc/acp", "rpc/cluster/heartbeat", "rpc/cluster/link", "rpc/cluster/node", "rpc/cluster/trail", "rpc/conn", "rpc/door", "rpc/method", "rpc/service", "session", "session/blob", "session/bolt", "session/ephemeral", "session/share", "cmd/thinkd/users", "cmd/thinkd/usersocket", "agent/gate", "rpc/audit", "rpc/auth", "rpc/dispatch"},
	"cmd/thinkd/doctor":         {"agent/tool/approval", "agent/tool/guard", "agent/tool/sandbox", "cmd/thinkd/config", "cmd/thinkd/daemon", "cmd/thinkd/printable", "provider", "provider/login", "provider/vendors", "rpc", "rpc/door", "session/bolt"},
	"cmd/thinkd/completion":     {"cmd/thinkd/daemon", "cmd/thinkd/printable"},
	"cmd/thinkd/files":          {"agent/tool/approval", "agent/tool/gitignore", "agent/tool/guard", "provider", "provider/mediatype"},
	"cmd/thinkd/conformance":    {},
	"cmd/thinkd/models":         {"provider", "registry"},
	"cmd/thinkd/fellback":       {"rpc/conn"},
	"cmd/thinkd/parked":         {"cmd/thinkd/costs", "rpc/conn"},
	"cmd/thinkd/costs":          {"cmd/thinkd/printable", "provider"},
	"cmd/thinkd/welcome":        {"rpc/door"},
	"cmd/thinkd/watch":          {"cmd/thinkd/fellback", "cmd/thinkd/parked", "cmd/thinkd/printable", "provider", "rpc/conn", "rpc/door", "session"},
	"cmd/thinkd/network":        {"cmd/thinkd/config", "provider", "provider/durable", "provider/vault", "rpc", "rpc/auth", "rpc/network", "rpc/oidc", "session", "web"},
	"cmd/thinkd/remote":         {"provider/durable", "rpc/conn", "rpc/door"},
	"cmd/thinkd/users":          {"agent", "cmd/thinkd/config", "rpc/auth", "rpc/door", "session", "session/blob", "session/bolt"},
	"cmd/thinkd/usersocket":     {"rpc/auth", "rpc/conn", "rpc/method", "session"},
	"cmd/thinkd/service":        {"provider/durable"},
	"packaging/documents":       {"cmd/thinkd/service"},
	"cmd/thinkd/telemetry":      {"agent/report", "cmd/thinkd/telemetry/otlp", "cmd/thinkd/telemetry/scrape", "provider", "session"},
	"cmd/thinkd/telemetry/otlp": {"provider"},
	"cmd/thinkd/chat":           {"agent/tool/approval", "cmd/thinkd/chat/clipboard", "cmd/thinkd/chat/markdown", "cmd/thinkd/chat/menu", "cmd/thinkd/costs", "cmd/thinkd/fellback", "cmd/thinkd/files", "cmd/thinkd/parked", "cmd/thinkd/printable", "provider", "rpc/conn", "rpc/door", "session"},
	"cmd/thinkd/chat/menu":      {"cmd/thinkd/printable"},
	"cmd/thinkd-store/demo":     {"provider/durable", "session/jet/ports"},
	"cmd/thinkd-store":          {"cmd/thinkd-store/demo", "cmd/thinkd/buildinfo", "cmd/thinkd/daemon/systemd", "cmd/thinkd/printable", "provider/durable", "session/jet", "session/jet/archive"},
	"cmd/thinkd/chat/markdown":  {"cmd/thinkd/chat/highlight", "cmd/thinkd/printable"},

	"bench/cluster": {"session", "session/jet", "session/jet/ports"},
	"bench":         {"provider/sim", "provider/sim/faces", "session", "session/bolt"}, // it makes stores; all else it sees from outside
}

// onlyIn says where a library may be imported.
var onlyIn = map[string][]string{
	"github.com/coder/websocket":             {"rpc/conn"},
	"github.com/sourcegraph/jsonrpc2":        {"rpc/conn"},
	"go.etcd.io/bbolt":                       {"session/bolt"},
	"github.com/nats-io/nats.go":             {"cmd/thinkd-store", "rpc/cluster/heartbeat", "rpc/cluster/lists", "rpc/cluster/node", "session/jet", "session/jet/archive", "session/jet/jettest"},
	"github.com/nats-io/nats-server":         {"cmd/thinkd-store", "session/jet/jettest"}, // a program of its own, and tests
	"github.com/google/jsonschema-go":        {"agent/tool/arguments", "rpc", "rpc/method", "rpc/wire"},
	"mvdan.cc/sh":                            {"agent/tool/approval"},
	"github.com/landlock-lsm/go-landlock":    {"agent/tool/sandbox"},
	"github.com/santhosh-tekuri/jsonschema":  {"rpc/acptest"}, // of tests alone: it compiles its own schemas at the start of a program, in 3 ms
	"github.com/spf13/cobra":                 {"cmd/thinkd"},
	"github.com/modelcontextprotocol/go-sdk": {"agent/tool/mcp", "agent/tool/mcplogin"},
	"golang.org/x/oauth2":                    {"agent/tool/mcplogin", "cmd/thinkd/remote", "provider/identity", "provider/login", "rpc/oidc"},
	"golang.org/x/image":                     {"provider/picture"},
	"github.com/aws":                         {"provider/aws"},
	"github.com/coreos/go-oidc":              {"cmd/thinkd/remote", "rpc/oidc"},
	"github.com/zitadel/oidc":                {}, // of tests alone
	"go.opentelemetry.io/otel":               {"cmd/thinkd/telemetry", "cmd/thinkd/telemetry/otlp", "cmd/thinkd/telemetry/scrape"},
	"go.opentelemetry.io/otel/exporters":     {},                                     // they link gRPC, or Prometheus' client
	"go.opentelemetry.io/proto":              {"cmd/thinkd/telemetry/otlp/otlptest"}, // of tests alone: Protocol Buffers take half a ms at the start of a program
	"google.golang.org/protobuf":             {"cmd/thinkd/telemetry/otlp/otlptest"},
	"github.com/prometheus":                  {}, // it makes collectors and reads definitions at the start of a program, in half a ms
	"charm.land/":                            {"cmd/thinkd/chat"},
	"text/template":                          {}, // it keeps the linker from removing unused methods: 3 MB
	"html/template":                          {},
	"charm.land/bubbles":                     {}, // its input and what that needs look for programs, and run one, at the start of every command
}

// forTests are packages for tests: no other imports them, except in its own tests.
func forTests(name string) bool {
	return name == "cmd/thinkd/proof" || strings.HasPrefix(name, "cmd/thinkd/proof/") || name == "provider/testgo" || name == "provider/sim/simtest" || name == "provider/sim/logins" || name == "provider/sim/clouds" || name == "session/storetest" || name == "session/jet/jettest" || name == "agent/feed/feedtest" || name == "rpc/conntest" || name == "rpc/cluster/model"
}

func TestImportDirections(t *testing.T) {
	const module = "github.com/thinkd/thinkd/"
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		list := strings.Fields(line)
		from := strings.TrimPrefix(list[0], module)
		seen++
		if strings.HasPrefix(from, "cmd/thinkd/proof") {
			continue
		}
		for _, imported := range list[1:] {
			if to, ours := strings.CutPrefix(imported, module); ours {
				if forTests(to) && !forTests(from) {
					t.Errorf("%s imports %s, which is for tests", from, to)
				}
				if from != "cmd/thinkd" && !slices.Contains(allowed[from], to) { // the program wires everything
					t.Errorf("%s imports %s. An arrow that hurts shows a type in the wrong package: move the type, or, if the arrow is right, add it to allowed", from, to)
				}
			}
			for library, where := range onlyIn {
				if strings.HasPrefix(imported, library) && !slices.Contains(where, from) {
					t.Errorf("%s imports %s, which belongs into %v alone", from, imported, where)
				}
			}
		}
	}
	if seen < 8 {
		t.Errorf("go list told of %d packages only", seen)
	}
}

// docs/architecture.md has a line for each package, and for no other.
func TestArchitectureNamesPackages(t *testing.T) {
	const module = "github.com/thinkd/thinkd/"
	out, err := exec.Command("go", "list", module+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	page, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	described := make(map[string]bool)
	for _, line := range regexp.MustCompile("(?m)^\\| `([a-z/0-9-]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		described[line[1]] = true
	}
	for line := range strings.Lines(string(out)) {
		name := strings.TrimPrefix(strings.TrimSpace(line), module)
		if !strings.HasPrefix(name, "cmd/thinkd/proof") && !described[name] {
			t.Errorf("docs/architecture.md has no line for %s: add one to its table of packages", name)
		}
		delete(described, name)
	}
	for name := range described {
		t.Errorf("docs/architecture.md describes %s, which is no package", name)
	}
}
