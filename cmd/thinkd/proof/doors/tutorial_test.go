package doors

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// TestTutorial plays the tutorial of protocol.md against the built-in simulator, line by line. Lines with → are sent. A line with ← is
// the next message that matches it; messages in between are those that the tutorial leaves out. In such a line … stands for any text, and
// a name such as S1 for the value that it has from then on.
func TestTutorial(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tutorial, _ := strings.Cut(string(text), "\n## Tutorial\n")
	tutorial, _, _ = strings.Cut(tutorial, "\n## ")
	data := proof.DataDir(t)
	var client *proof.Framed
	values := map[string]string{}
	sent, read := 0, 0
	for line := range strings.Lines(tutorial) {
		line = strings.TrimSpace(line)
		if line == "$ thinkd stdio" {
			if client != nil {
				hangUp(t, client)
			}
			client = proof.StartFramed(t, proof.Command(t, nil, "--data", data, "stdio"), false)
		}
		if request, ok := strings.CutPrefix(line, "→ "); ok {
			client.Send(unknown.ReplaceAllStringFunc(request, func(name string) string { return valueOf(t, values, name) }))
			sent++
		}
		if message, ok := strings.CutPrefix(line, "← "); ok {
			readUntil(t, client, message, values)
			read++
		}
	}
	hangUp(t, client)
	if sent < 8 || read < 15 {
		t.Errorf("the tutorial has %d requests and %d messages of the daemon", sent, read)
	}
}

// hangUp is Ctrl+D in the middle of a turn: the client ends well, whatever the daemon sends meanwhile.
func hangUp(t *testing.T, client *proof.Framed) {
	t.Helper()
	client.Out.Close()
	if _, err := io.Copy(io.Discard, client.In); err != nil {
		t.Error(err)
	}
	if err := client.Cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, client.Stderr.String())
	}
}

// unknown is a name that the tutorial writes in place of a value: in quotes, or N for a number.
var unknown = regexp.MustCompile(`"(?:S1|T1|C1|K1)"|\bN\b`)

func valueOf(t *testing.T, values map[string]string, name string) string {
	t.Helper()
	if values[name] == "" {
		t.Fatalf("the tutorial uses %s before the daemon has sent it", name)
	}
	return values[name]
}

// readUntil reads up to the message that the tutorial shows, and takes the values of new names from it.
func readUntil(t *testing.T, client *proof.Framed, message string, values map[string]string) {
	t.Helper()
	pattern, names, from := "", []string{}, 0
	for _, at := range append(unknown.FindAllStringIndex(message, -1), []int{len(message), len(message)}) {
		pattern += strings.ReplaceAll(regexp.QuoteMeta(message[from:at[0]]), "…", ".*")
		name := message[at[0]:at[1]]
		switch from = at[1]; {
		case name == "":
		case values[name] != "" && name != "N": // each N is the newest number
			pattern += regexp.QuoteMeta(values[name])
		case name == "N":
			pattern, names = pattern+`(\d+)`, append(names, name)
		default:
			pattern, names = pattern+`("[^"]+")`, append(names, name)
		}
	}
	want := regexp.MustCompile("^" + pattern + "$")
	for {
		got := strings.TrimSpace(string(client.Read().Raw))
		match := want.FindStringSubmatch(got)
		if match != nil {
			for i, name := range names {
				values[name] = match[i+1]
			}
			return
		}
		if strings.Contains(got, `"error"`) || strings.Contains(got, `"turn_end"`) {
			t.Fatalf("before the daemon has sent\n%s\nit sends\n%s", message, got)
		}
	}
}
