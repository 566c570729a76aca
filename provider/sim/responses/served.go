package responses

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/thinkd/thinkd/provider/sim/strict"
)

// servedKinds are the kinds of the items of tools that the vendor runs, by the name that scripts have for the tool.
var servedKinds = map[string]string{"web_search": "web_search_call", "code_execution": "code_interpreter_call"}

func servedKind(name string) string {
	if kind := servedKinds[name]; kind != "" {
		return kind
	}
	return "web_search_call"
}

func isServed(kind string) bool { return kind == "web_search_call" || kind == "code_interpreter_call" }

// ownID matches the ids of items. The groups are: the answer, the number of the item in it, the number of the reasoning that led to it,
// "s" if the item before it is of a tool that the vendor ran, and the seal of such an item. So the server does not have to remember which
// items belong together.
var ownID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z]+_([0-9a-f]{24})([0-9]{2})(?:p|r([0-9]{2}))(s?)(?:x([0-9a-f]{16}))?$`)
})

// readServedTool checks a tool that the vendor runs. It reports whether the tool is one. [docs: tools-web-search, tools-code-interpreter;
// SDK: WebSearchTool, Tool.CodeInterpreter]
func (c *call) readServedTool(t *strict.Object, kind string) (bool, error) {
	name := ""
	switch kind {
	case "web_search":
		name = "web_search"
		t.Word("search_context_size", false, "low", "medium", "high")
		t.Flag("external_web_access")
		t.Take("user_location")
		if v := t.Take("filters"); v != nil {
			f := strict.NewObject(t.At("filters"), v)
			for _, domain := range f.List("allowed_domains") {
				if s, ok := domain.(string); !ok || s == "" || strings.Contains(s, "/") {
					return true, unfit(f.At("allowed_domains"), "invalid_value", "Invalid domain in '%s': expected a domain without a scheme.", f.At("allowed_domains"))
				}
			}
			if err := f.Done(); err != nil {
				return true, err
			}
		}
	case "code_interpreter":
		name = "code_execution"
		if box, ok := t.Need("container").(map[string]any); ok {
			f := strict.NewObject(t.At("container"), box)
			f.Word("type", true, "auto")
			f.List("file_ids")
			f.Word("memory_limit", false, "1g", "4g", "16g", "64g")
			f.Take("network_policy")
			if err := f.Done(); err != nil {
				return true, err
			}
		}
	default:
		return false, nil
	}
	if err := t.Done(); err != nil {
		return true, err
	}
	if c.door.copilot || c.model.open || slices.Contains(c.ask.Served, name) {
		return true, unfit(t.Path, "", "Hosted tool '%s' is not supported with %s.", kind, c.name)
	}
	c.ask.Served = append(c.ask.Served, name)
	return true, nil
}

// readServed checks an item of a tool that the vendor ran. Its id says what the item was.
func (c *call) readServed(f *strict.Object, path string, i item) error {
	if i.id == "" {
		return unfit(path+".id", "missing_required_parameter", "Missing required parameter: '%s.id'.", path)
	}
	if i.kind == "web_search_call" {
		a := strict.NewObject(path+".action", f.Need("action"))
		a.Word("type", true, "search", "open_page", "find_in_page")
		for _, name := range []string{"query", "queries", "url", "pattern", "sources"} {
			a.Take(name)
		}
		if err := a.Done(); err != nil {
			return err
		}
	} else {
		f.Need("code")
		f.Text("container_id", true)
		f.Take("outputs")
	}
	if f.Err != nil {
		return f.Err
	}
	found := ownID().FindStringSubmatch(i.id)
	if found == nil || found[5] == "" {
		return unresolved(i.id)
	}
	if base := strings.TrimSuffix(i.id, "x"+found[5]); found[5] != c.servedSeal(base, i.m) {
		return unfit(path, "invalid_value", "Item '%s' of type '%s' does not match the item that was generated.", i.id, i.kind)
	}
	return nil
}

// servedSeal binds an item to its id and to the account. What the request did not ask for is not part of it.
func (c *call) servedSeal(base string, m map[string]any) string {
	return strict.DigestOf(base + "\x00" + c.door.name + " " + c.account + "\x00" + string(strict.AppendCanonical(nil, strict.Without(m, "id"))))[:16]
}

// afterServed checks that the item of a tool which an item followed in its answer still stands before it. Real servers see that by the
// reasoning; this rule sees it in answers without reasoning as well.
func (c *call) afterServed(n int) error {
	found := ownID().FindStringSubmatch(c.items[n].id)
	if found == nil || found[4] == "" {
		return nil
	}
	if n > 0 {
		before := ownID().FindStringSubmatch(c.items[n-1].id)
		number, _ := strconv.Atoi(found[2])
		if before != nil && before[1] == found[1] && before[2] == fmt.Sprintf("%02d", number-1) {
			return nil
		}
	}
	return unfit("input", "", "Item '%s' of type '%s' was provided without the item of the tool that it followed.", c.items[n].id, c.items[n].kind)
}
