package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
	"github.com/thinkd/thinkd/provider/sim"
)

// noKeys is an environment without keys and without local servers.
func noKeys() []string {
	env := append([]string{}, proof.NobodyHere...)
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasSuffix(name, "_API_KEY") || strings.HasSuffix(name, "_TOKEN") {
			env = append(env, name+"=")
		}
	}
	return env
}

// The first minute without a key: thinkd says so, and the simulator answers under its name.
func TestWelcomeWithoutKey(t *testing.T) {
	t.Parallel()
	p := runIn(t, proof.DataDir(t), "80x30", noKeys())
	p.holds(`(?s)^thinkd \S+$.*^thinkd found no API key, no login and no local model server\.$.*^  anthropic, openai, .*chatgpt \(login\).*^provider:$`)
	p.say("somebody")
	p.holds(`^There is no provider "somebody" in the list\.$`)
	p.press("Enter")
	p.shows(idleFoot)
	p.say("Which date is later? [[sim: thinking=0 text=20 pace=0]]")
	p.holds(`^· the answers come from the built-in simulator, not from a model$`)
	p.rests()
	p.press("C-d")
	p.ends()
}

// A key is stored without being shown, and the chat begins with its provider.
func TestWelcomeStoresKey(t *testing.T) {
	t.Parallel()
	const key = "sk-of-the-test"
	data, address := proof.DataDir(t), proof.Serve(t, sim.New(sim.Config{Key: key}))
	p := runIn(t, data, "80x30", append(noKeys(), "ANTHROPIC_BASE_URL="+address))
	p.holds(`^provider:$`)
	p.say("anthropic")
	p.holds(`^key for anthropic:`)
	p.press("Enter") // somebody who has none at hand
	p.holds(`(?s)^no key on standard input.*Choose again\.$.*^provider:$`)
	p.say("Anthropic")
	p.holds(`(?s)Choose again.*^key for anthropic:`)
	p.say(key)
	p.holds(`(?s)^anthropic: ready$.*^thinkd can use:\n  anthropic  a stored key$`)
	p.shows(`^anthropic/claude-\S+ · thinking \w+ · `)
	p.say("Hello. [[sim: thinking=0 text=10 pace=0]]")
	p.holds(`(?s)^> Hello\..*pace=0\]\]\n\n[A-Z]`)
	if text := p.text(); strings.Contains(text, key) {
		t.Errorf("the terminal shows the key:\n%s", lastLines(text))
	}
	if stored, err := os.ReadFile(filepath.Join(data, proof.KeysFileName)); err != nil || !strings.Contains(string(stored), key) {
		t.Errorf("the key is not stored: %v", err)
	}
}

// Keys and servers that are there are named, and nothing is asked.
func TestWelcomeFindsKeys(t *testing.T) {
	t.Parallel()
	data := proof.DataDir(t)
	env := append(noKeys(), "OPENAI_API_KEY=sk-of-the-test", "OLLAMA_HOST="+proof.Serve(t, sim.New(sim.Config{})))
	// A server counts as there if it answers in 200 ms: the daemon has asked it before.
	proof.Open(t, data, env).Ready()
	for list := ""; !strings.Contains(list, "ollama/"); {
		out, err := proof.Command(t, env, "--data", data, "models", "--provider", "ollama").Output()
		if err != nil {
			t.Fatal(err)
		}
		list = string(out)
	}
	p := runIn(t, data, "80x30", env)
	p.holds(`(?s)^thinkd can use:\n  openai +a key in the environment\n  ollama +a server without a key, \d+ models?$`)
	p.shows(`^openai/gpt-\S+ · thinking \w+ · `)
	if text := p.text(); strings.Contains(text, "provider:") {
		t.Errorf("a question was asked:\n%s", lastLines(text))
	}
}

// Control-D and an interrupt leave before anything is stored.
func TestWelcomeLeaves(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"C-d": `^\[status 0\]$`, "C-c": `\[status 130\]$`} {
		p := runIn(t, proof.DataDir(t), "80x30", noKeys())
		p.holds(`^provider:$`)
		p.press(key)
		p.holds(want)
	}
}
