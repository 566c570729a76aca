package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// An editor runs `thinkd acp --login` in a terminal: a key is stored, without being shown, beside one that is there.
func TestLoginOfEditors(t *testing.T) {
	t.Parallel()
	const key = "sk-of-the-test"
	data := proof.DataDir(t)
	p := runIn(t, data, "80x30", append(noKeys(), "OPENAI_API_KEY=sk-other"), "acp", "--login")
	p.holds(`(?s)^thinkd can use:\n  openai  a key in the environment\n\nType the name of a provider.*^  anthropic, .*^provider:$`)
	p.say("anthropic")
	p.holds(`^key for anthropic:`)
	p.say(key)
	p.holds(`^anthropic: ready$`)
	p.ends()
	if text := p.text(); strings.Contains(text, key) {
		t.Errorf("the terminal shows the key:\n%s", lastLines(text))
	}
	if stored, err := os.ReadFile(filepath.Join(data, proof.KeysFileName)); err != nil || !strings.Contains(string(stored), key) {
		t.Errorf("the key is not stored: %v", err)
	}
}
