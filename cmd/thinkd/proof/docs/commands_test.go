package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// elsewhere are the commands that this test does not run, by their beginning, with what runs them or why nothing does.
var elsewhere = []struct{ begin, why string }{
	{"go test ", "TestDocsNameTests checks the names; .ci runs them"},
	{"ALONE=1 go test ", "TestDocsNameTests checks the names; .ci runs them"},
	{"curl -fsSL https://github.com/thinkd/thinkd/releases/", "needs the internet; cmd/thinkd/proof/install runs the script"},
	{"CGO_ENABLED=0 go build -o thinkd ./cmd/thinkd", ".ci/run builds the program"},
	{"go install github.com/thinkd/thinkd/cmd/thinkd@", "needs the internet"},
	{"sudo ", "needs root"},
	{"git tag ", "makes a release"},
	{"goreleaser release ", "makes a release; .ci/nightly makes a snapshot"},
	{"go run .ci/graph.go", ".ci/run runs it"},
	{"go run ./bench", "the tests of bench run its quick check; .ci/nightly runs all"},
	{".ci/benchcompare", ".ci/nightly runs it"},
	{"go tool pprof ", "reads what a benchmark wrote"},
	{"go tool trace ", "reads what a benchmark wrote"},
	{"thinkd remote ", "needs another machine; cmd/thinkd/proof/serve runs it"},
	{"thinkd prompt --remote ", "needs another machine; cmd/thinkd/proof/serve runs it"},
	{"thinkd chat --remote ", "needs another machine; cmd/thinkd/proof/serve runs it"},
	{"wscat ", "another program; cmd/thinkd/proof/serve runs a foreign client"},
	{"ssh ", "needs another machine"},
	{"thinkd stdio", "cmd/thinkd/proof/doors runs it"},
	{"thinkd serve", "cmd/thinkd/proof/serve runs it"},
	{"OTEL_TRACES_SAMPLER=", "cmd/thinkd/proof/serve runs it"},
	{"docker ", "needs Docker; cmd/thinkd/proof/install runs the image without it"},
	{"THINKD_HOST=", "needs Docker; cmd/thinkd/proof/install checks the config in compose.yaml"},
	{"thinkd-store ", "cmd/thinkd-store and session/jet/archive test it"},
	{"thinkd service ", "cmd/thinkd/proof/scripts runs it, with a stand-in for systemctl"},
}

// input is what a command reads.
var input = map[string]string{"thinkd auth set anthropic": "sk-of-the-test\n"}

// Each command that the pages show in a block is run here, or is in the list above.
func TestCommands(t *testing.T) {
	used := make(map[string]bool)
	ran := 0
	for page, lines := range pages(t) {
		for _, c := range commands(lines) {
			if usage.MatchString(c.text) {
				checkUsage(t, page, c)
				continue
			}
			found := false
			for _, e := range elsewhere {
				if strings.HasPrefix(c.text, e.begin) {
					used[e.begin], found = true, true
				}
			}
			if !found {
				ran++
				runCommand(t, page, c)
			}
		}
	}
	for _, e := range elsewhere {
		if !used[e.begin] {
			t.Errorf("no page has a command that begins with %q: remove it from the list", e.begin)
		}
	}
	if ran < 2 {
		t.Errorf("%d commands were run", ran)
	}
}

// commands are the lines of a page's shell blocks that a person types: those behind a dollar sign, and in a block without one all.
func commands(lines []line) []line {
	var list, block []line
	end := func() {
		typed := block[:0:0]
		for _, l := range block {
			if text, ok := strings.CutPrefix(l.text, "$ "); ok {
				typed = append(typed, line{number: l.number, text: text})
			}
		}
		if len(typed) == 0 {
			typed = block
		}
		list, block = append(list, typed...), nil
	}
	for _, l := range append(lines, line{}) {
		text, indented := strings.CutPrefix(l.text, "    ")
		switch {
		case l.fence == "sh" || l.fence == "bash" || l.fence == "console":
			block = append(block, l)
		case l.fence == "-" && indented && strings.TrimSpace(text) != "":
			block = append(block, line{number: l.number, text: text})
		default:
			end()
		}
	}
	return list
}

// usage is a line of the list of commands: a command, two spaces or more, and what it does; or several commands with bars between them.
var usage = regexp.MustCompile(`^thinkd [^"]*?(  +\S|[a-z]\|[a-z])`)

// checkUsage asks the program for the help of a listed command, which must have the flags that the line names.
func checkUsage(t *testing.T, page string, c line) {
	t.Helper()
	command, about, _ := strings.Cut(c.text, "  ")
	var words []string
	for _, word := range strings.Fields(command)[1:] {
		if regexp.MustCompile(`^[a-z|]+$`).MatchString(word) {
			words = append(words, word)
		}
	}
	last := words[len(words)-1]
	for _, alternative := range strings.Split(last, "|") {
		args := append(append([]string{}, words[:len(words)-1]...), alternative, "--help")
		out, err := proof.Command(t, nil, args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "thinkd "+strings.Join(args[:len(args)-1], " ")) {
			t.Errorf("%s:%d: thinkd %s: %v\n%s", page, c.number, strings.Join(args, " "), err, out)
		}
		for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(about, -1) {
			if !strings.Contains(string(out), flag) {
				t.Errorf("%s:%d: thinkd %s has no flag %s", page, c.number, alternative, flag)
			}
		}
	}
}

// runCommand runs a command in an empty home, where only the simulator can answer.
func runCommand(t *testing.T, page string, c line) {
	t.Helper()
	home := proof.DataDir(t)
	program := proof.Command(t, nil, "version")
	cmd := exec.Command("sh", "-c", c.text)
	cmd.Env = append(program.Env, "HOME="+home, "XDG_DATA_HOME="+filepath.Join(home, "data"), "XDG_CONFIG_HOME="+filepath.Join(home, "config"),
		"PATH="+filepath.Dir(program.Path)+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stdin = strings.NewReader(input[c.text])
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s:%d: %s: %v\n%s", page, c.number, c.text, err, out)
	}
	if err := proof.Quit(filepath.Join(home, "data", "thinkd")); err != nil {
		t.Error(err)
	}
}
