package main

import (
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof/structure"
)

// oneWay are packages in which the files depend on each other in one direction: what a file uses stands in files that do not
// use it. A package that has got there is added here.
var oneWay = []string{
	"session", "session/blob", "session/bolt", "session/bolt/page", "session/mem", "session/storetest", "session/tool",
	"agent", "agent/aside", "agent/budget", "agent/feed", "agent/relay", "agent/transcript",
	"agent/tool/approval", "agent/tool/arguments", "agent/tool/guard", "agent/tool/process", "agent/tool/toolhost", "cmd/thinkd/proof/structure", "provider", "provider/chat", "provider/durable", "provider/exchange", "provider/gemini", "provider/login", "provider/messages", "provider/ollama", "provider/providertest", "provider/refusal", "provider/replay", "provider/responses", "provider/schema", "provider/thinktag", "registry", "registry/drift",
	"cmd/thinkd/chat", "cmd/thinkd/config", "cmd/thinkd/daemon", "cmd/thinkd/network", "cmd/thinkd/telemetry", "cmd/thinkd/telemetry/otlp", "cmd/thinkd/telemetry/scrape", "provider/vendors",
	"provider/sim", "provider/sim/chat", "provider/sim/gemini", "provider/sim/logins", "provider/sim/messages", "provider/sim/ollama", "provider/sim/portable", "provider/sim/responses", "provider/sim/simtest", "provider/sim/strict",
	"bench", "rpc/conn", "rpc/door", "rpc/failure", "rpc/method", "rpc/network", "rpc/wire",
}

func TestFilesDependOneWay(t *testing.T) {
	var names []string
	for _, name := range oneWay {
		names = append(names, "./"+name)
	}
	packages, err := structure.Load("../..", names...)
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) != len(oneWay) {
		t.Errorf("the go command lists %d packages of %d", len(packages), len(oneWay))
	}
	for _, p := range packages {
		if cycle := p.Uses.Cycle(); cycle != nil {
			t.Errorf("%s: files depend on each other in a circle: %s. Move what the lower one needs down", p.Path, strings.Join(cycle, "; "))
		}
	}
}
