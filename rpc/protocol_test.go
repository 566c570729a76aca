package rpc

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/agent/feed"
	"github.com/thinkd/thinkd/rpc/conn"
	"github.com/thinkd/thinkd/rpc/failure"
)

// section is what stands under a heading of protocol.md.
type section struct {
	line int
	text string
}

// readProtocol is protocol.md by its headings: "Methods" has the text under it up to the next of its rank,
// "Methods/ping" that of a heading inside it.
func readProtocol(t *testing.T) map[string]section {
	t.Helper()
	text, err := os.ReadFile("../protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]section{}
	var major, minor string
	for i, line := range strings.Split(string(text), "\n") {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			major, minor = name, ""
		} else if name, ok := strings.CutPrefix(line, "### "); ok {
			minor = major + "/" + name
			if _, twice := sections[minor]; twice {
				t.Errorf("protocol.md:%d: a second heading %s", i+1, name)
			}
		}
		for _, name := range []string{major, minor} {
			if s, ok := sections[name]; name != "" {
				if !ok {
					s.line = i + 1
				}
				s.text += line + "\n"
				sections[name] = s
			}
		}
	}
	return sections
}

// under lists the headings inside one.
func under(sections map[string]section, major string) (names []string) {
	for name := range sections {
		if inner, ok := strings.CutPrefix(name, major+"/"); ok {
			names = append(names, inner)
		}
	}
	slices.Sort(names)
	return names
}

// same compares what the page says with what the build does, in both directions.
func same(t *testing.T, what string, page, build []string) {
	t.Helper()
	page, build = slices.Sorted(slices.Values(page)), slices.Sorted(slices.Values(build))
	for _, name := range build {
		if !slices.Contains(page, name) {
			t.Errorf("protocol.md does not have the %s %q: describe it there", what, name)
		}
	}
	for _, name := range page {
		if !slices.Contains(build, name) {
			t.Errorf("protocol.md describes the %s %q, which this build does not have: take it out", what, name)
		}
	}
}

func TestProtocolHeadings(t *testing.T) {
	sections := readProtocol(t)
	var methods, notifications []string
	for _, m := range nativeMethods() {
		methods = append(methods, m.Name)
	}
	for _, e := range feed.Events() {
		notifications = append(notifications, e.Method())
	}
	same(t, "method", under(sections, "Methods"), methods)
	same(t, "notification", under(sections, "Notifications"), append(notifications, "stale", "auth_update", "ask_delta", "list_update"))
}

func TestProtocolErrors(t *testing.T) {
	text := readProtocol(t)["Errors"].text
	page := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (-?\d+) \| (\w+) \|`).FindAllStringSubmatch(text, -1) {
		page[row[1]] = row[2]
	}
	build := map[string]string{}
	for _, code := range conn.Codes() {
		build[strconv.Itoa(int(code))] = code.Kind()
	}
	if diff := cmp.Diff(build, page); diff != "" {
		t.Errorf("the table of errors in protocol.md is not that of conn/error.go: make it so (-error.go +protocol.md)\n%s", diff)
	}
	for _, e := range failure.Fixed() {
		if e.Kind != "" && !strings.Contains(text, "`"+e.Kind+"`") {
			t.Errorf("protocol.md does not have the kind %s under Errors: say in its code's row when it comes", e.Kind)
		}
	}
	data := newSchemas(t).components["Error"].(map[string]any)["properties"].(map[string]any)["data"].(map[string]any)
	for member := range data["properties"].(map[string]any) {
		if !strings.Contains(text, "`"+member+"`") && !strings.Contains(text, "`data."+member+"`") {
			t.Errorf("protocol.md, Errors: says nothing of the member %s of data: describe it", member)
		}
	}
	_, list, _ := strings.Cut(text, "Kinds of a provider's failure:")
	same(t, "kind of a provider's failure", quoted(list), constants(t, "../provider", "Kind"))
}

func TestProtocolWords(t *testing.T) {
	sections := readProtocol(t)
	notices := slices.Concat(constants(t, "../agent", "notice*"), constants(t, "../provider", "NoticeKind"))
	notices = slices.DeleteFunc(notices, func(kind string) bool { return kind == "thinking_converted" }) // a notification of its own
	_, list, _ := strings.Cut(sections["Notifications/notice"].text, "Kinds:")
	list, _, _ = strings.Cut(list, "```")
	same(t, "kind of notice", quoted(list), slices.Compact(slices.Sorted(slices.Values(notices))))

	// Every word of these lists is in that section. Left out are words of later versions, which nothing writes yet.
	for _, tc := range []struct {
		section, dir, of string
		later            []string
	}{
		{"Words", "../provider", "Level", nil},
		{"Words", "../provider", "Policy", nil},
		{"Words", "../provider", "Display", nil},
		{"Words/Reasoning", "../provider", "Source", nil},
		{"Words/Reasoning", "../provider", "Reason", nil},
		{"Words/Block", "../provider", "ThinkingKind", nil},
		{"Words/Session", "../session", "Status", nil},
		{"Words/Session", "../agent/watch", "Need", nil},
		{"Words/Message", "../session", "Incomplete", nil},
		{"Words/Message", "../provider", "Role", nil},
		{"Methods/models/list", "../provider", "ControlKind", nil},
		{"Methods/models/list", "../provider", "RowSource", nil},
		{"Methods/models/list", "../provider", "FactState", nil},
		{"Methods/models/list", "../provider", "LifecycleState", nil},
		{"Methods/session/prompt", "../agent/feed", "Disposition", nil},
		{"Notifications/prompt", "../agent/feed", "Disposition", nil},
		{"Methods/session/new", "../session/tool", "Effect", nil},
		{"Methods/session/new", "../session/tool", "Rule", nil},
		{"Notifications/tool_start", "../session/tool", "Kind", nil},
		{"Notifications/confirm", "../session", "Action", nil},
		{"Notifications/confirm_resolved", "../agent/feed", "By", nil},
		{"Notifications/notice", "../agent/feed", "Severity", nil},
		{"Notifications/turn_end", "../session", "StopReason", nil},
		{"Notifications/turn_end", "../provider", "StopReason", []string{"tool_use", "pause"}}, // message_end has these
		{"Notifications/message_end", "../provider", "StopReason", []string{"end_turn", "max_tokens", "refusal"}},
	} {
		for _, word := range constants(t, tc.dir, tc.of) {
			if !slices.Contains(tc.later, word) && !strings.Contains(sections[tc.section].text, "`"+word+"`") {
				t.Errorf("protocol.md, %s: says nothing of `%s` (%s in %s): describe it", tc.section, word, tc.of, tc.dir)
			}
		}
	}
}

// quoted are the first words in backticks of a text, up to its first blank line.
func quoted(text string) (list []string) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	for _, m := range regexp.MustCompile("`([a-z_0-9]+)`").FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// constants lists the values of a package's string constants of a type, or with "prefix*" those whose names begin so.
func constants(t *testing.T, dir, of string) (values []string) {
	t.Helper()
	prefix, byName := strings.CutSuffix(of, "*")
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) == 0 {
				return true
			}
			typed, _ := spec.Type.(*ast.Ident)
			if byName && !strings.HasPrefix(spec.Names[0].Name, prefix) || !byName && (typed == nil || typed.Name != of) {
				return true
			}
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if value, err := strconv.Unquote(lit.Value); err == nil && value != "" {
					values = append(values, value)
				}
			}
			return true
		})
	}
	if len(values) == 0 {
		t.Fatalf("%s has no constants %s: tell this test where they are now", dir, of)
	}
	return values
}

// Each example is what the build takes and gives: a line with → is a method's params, one with ← a result or a
// notification's params, one without is of the type that its heading names.
func TestProtocolExamples(t *testing.T) {
	sections, s := readProtocol(t), newSchemas(t)
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		major, minor, inner := strings.Cut(name, "/")
		if !inner {
			continue
		}
		for _, line := range examplesIn(sections[name].text) {
			at := fmt.Sprintf("protocol.md, %s", name)
			schema, text := any(nil), strings.TrimLeft(line, "→← ")
			switch {
			case major == "Words":
				schema = s.components[minor]
			case major == "Methods" && strings.HasPrefix(line, "→"):
				schema = s.params[minor]
			case major == "Methods" && strings.HasPrefix(line, "←"):
				schema = s.results[minor]
			case major == "Notifications" && strings.HasPrefix(line, "←"):
				schema = s.updates[minor]
			}
			if schema == nil {
				t.Errorf("%s: nothing is known that this could be an example of; begin a line with → or ←: %.80s", at, line)
				continue
			}
			if why := s.judge(schema, text); why != "" {
				t.Errorf("%s: mend the example: %s\n%s", at, why, line)
			}
		}
	}
}

// examplesIn are the lines of the json blocks.
func examplesIn(text string) (lines []string) {
	for _, block := range strings.Split(text, "```json\n")[1:] {
		body, _, _ := strings.Cut(block, "```")
		for line := range strings.Lines(body) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// Every member is described where its method or notification is: by an example or in words.
func TestProtocolMembers(t *testing.T) {
	sections, s := readProtocol(t), newSchemas(t)
	check := func(name string, schema any) {
		rule, _ := schema.(map[string]any)
		properties, _ := rule["properties"].(map[string]any)
		text := sections[name].text
		for member := range properties {
			if strings.HasPrefix(name, "Notifications/") && slices.Contains([]string{"first_seq", "turn_id"}, member) {
				continue // said once for all of them
			}
			if strings.HasPrefix(name, "Methods/") && slices.Contains([]string{"ignored", "did_you_mean"}, member) {
				continue // the same
			}
			if !strings.Contains(text, `"`+member+`":`) && !strings.Contains(text, "`"+member+"`") {
				t.Errorf("protocol.md, %s: says nothing of the member %s: describe it, or put it into the example", name, member)
			}
		}
	}
	for name, schema := range s.params {
		check("Methods/"+name, schema)
		check("Methods/"+name, s.results[name])
	}
	for name, schema := range s.updates {
		check("Notifications/"+name, schema)
	}
	for _, name := range under(sections, "Words") {
		check("Words/"+name, s.components[name])
	}
	for _, name := range []string{"Session", "Message", "Block", "Reasoning", "Usage"} {
		if sections["Words/"+name].text == "" {
			t.Errorf("protocol.md has no heading ### %s under ## Words: describe the type there", name)
		}
	}
}
