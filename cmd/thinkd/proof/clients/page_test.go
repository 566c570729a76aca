package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/cmd/thinkd/proof"
)

// snippets are the examples of a language in docs/clients.md, in the page's order.
type snippets struct{ connect, ask, tool string }

// TestPage runs the examples that docs/clients.md shows side by side, with a default connection each. All three languages must print the same.
func TestPage(t *testing.T) {
	t.Parallel()
	shell := proof.Needs(t, "sh")
	top, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(top, "docs", "clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, block := range regexp.MustCompile("(?s)\n```([a-z]+)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		found[block[1]] = append(found[block[1]], block[2])
	}
	outputs := map[string]string{}
	for language, blocks := range found {
		t.Run(language, func(t *testing.T) {
			if len(blocks) != 3 {
				t.Fatalf("%d examples", len(blocks))
			}
			command := programs[language](t, top, snippets{blocks[0], blocks[1], blocks[2]})
			thinkd := proof.Command(t, nil)
			bin := t.TempDir() // has the thinkd of the tests, since the examples start the one in PATH
			script := fmt.Sprintf("#!%s\nexec '%s' --data '%s' \"$@\"\n", shell, thinkd.Path, proof.DataDir(t))
			if err := os.WriteFile(filepath.Join(bin, "thinkd"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			command.Env = append(append(thinkd.Env, command.Env...), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			var errs strings.Builder
			command.Stderr = &errs
			out, err := command.Output()
			if err != nil {
				t.Fatalf("%v\n%s%s", err, out, errs.String())
			}
			outputs[language] = string(out)
		})
	}
	if t.Failed() {
		return
	}
	if len(outputs) != 3 {
		t.Skipf("needs: all three languages; there are %d", len(outputs))
	}
	for language, got := range outputs {
		if diff := cmp.Diff(outputs["go"], got); diff != "" {
			t.Errorf("%s (-go +%s)\n%s", language, language, diff)
		}
		if answer, ok := strings.CutSuffix(got, "\ndate: 2026-03-01\n"); !ok || answer == "" {
			t.Errorf("%s prints %q", language, got)
		}
	}
}

// lookUp has the model call the tool of the examples.
const lookUp = `Look it up. [[sim: tool=lookup args={"word":"date"} pace=0 text=6]]`

// programs make a program of the examples of a language, with what they leave open.
var programs = map[string]func(t *testing.T, top string, s snippets) *exec.Cmd{
	"js": func(t *testing.T, top string, s snippets) *exec.Cmd {
		node, dir := typescript(t)
		dist, err := filepath.Abs(filepath.Join(dir, "dist"))
		if err != nil {
			t.Fatal(err)
		}
		return exec.Command(node, write(t, "page.mjs", fmt.Sprintf(`
import { connect } from %q;
import { stdio } from %q;
const schema = { type: "object", properties: { word: { type: "string" } }, required: ["word"] };
const find = (word) => word + ": 2026-03-01";
const approve = () => "allow";
{
%s%s
console.log();
client.close();
}
%s
for await (const { method, params } of await session.prompt(%q)) {
	if (method === "tool_end") console.log(params.content[0].text);
}
client.close();
`, filepath.Join(dist, "index.js"), filepath.Join(dist, "stdio.js"), s.connect, s.ask, s.tool, lookUp)))
	},
	"python": func(t *testing.T, top string, s snippets) *exec.Cmd {
		indent := func(text string) string { return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") }
		cmd := exec.Command(proof.Needs(t, "python3"), write(t, "page.py", fmt.Sprintf(`
import asyncio
from thinkd_client import Stdio, Tools, connect
from thinkd_client.types import MessageDeltaEvent, ToolEndEvent

async def find(word): return word + ": 2026-03-01"
async def approve(question): return "allow"
tools = Tools()

async def ask():
%s
%s
    print()
    await client.close()

async def host():
%s
%s
    async for event in await session.prompt(%q):
        if isinstance(event, ToolEndEvent):
            print(event.content[0].text)
    await client.close()

asyncio.run(ask())
asyncio.run(host())
`, indent(s.connect), indent(s.ask), indent(s.connect), indent(s.tool), lookUp)))
		cmd.Env = []string{"PYTHONPATH=" + filepath.Join(top, "clients", "python"), "PYTHONDONTWRITEBYTECODE=1"}
		return cmd
	},
	"go": func(t *testing.T, top string, s snippets) *exec.Cmd {
		main := write(t, "main.go", fmt.Sprintf(`package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	thinkd "github.com/thinkd/thinkd/clients/go"
)

var schema = map[string]any{"type": "object", "properties": map[string]any{"word": map[string]any{"type": "string"}}, "required": []string{"word"}}
var params = thinkd.SessionNewParams{ToolPolicy: &thinkd.ToolPolicy{Names: map[string]thinkd.ToolRule{"lookup": "ask"}}}

func find(_ context.Context, arguments json.RawMessage) (string, error) {
	var call struct{ Word string }
	err := json.Unmarshal(arguments, &call)
	return call.Word + ": 2026-03-01", err
}

func approve(context.Context, thinkd.Confirm) thinkd.ConfirmAction { return thinkd.ConfirmActionAllow }

func ask(ctx context.Context) error {
%s
%s
	fmt.Println()
	return nil
}

func host(ctx context.Context) error {
%s
%s
	if err != nil {
		return err
	}
	turn, err := session.Say(ctx, %q)
	if err != nil {
		return err
	}
	for event, err := range turn.Events(ctx) {
		if err != nil {
			return err
		}
		if end, ok := event.(*thinkd.ToolEndEvent); ok {
			fmt.Println(end.Content[0].Text)
		}
	}
	return nil
}

func main() {
	for _, run := range []func(context.Context) error{ask, host} {
		if err := run(context.Background()); err != nil {
			log.Fatal(err)
		}
	}
}
`, s.connect, s.ask, s.connect, s.tool, lookUp))
		const module = "github.com/thinkd/thinkd/clients/go"
		doc := fmt.Sprintf("module page\n\ngo 1.25\n\nrequire %s v0.0.0\n\nreplace %s => %s\n", module, module, filepath.Join(top, "clients", "go"))
		if err := os.WriteFile(filepath.Join(filepath.Dir(main), "go.mod"), []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
		build := exec.Command("go", "build", "-mod=mod", "-o", "page.exe", ".")
		build.Dir = filepath.Dir(main)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return exec.Command(filepath.Join(build.Dir, "page.exe"))
	},
}

// write stores a program in a folder of its own.
func write(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
