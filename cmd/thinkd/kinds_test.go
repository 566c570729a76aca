package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sources are the files of a package, without its tests, by path.
func sources(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	files := make(map[string]*ast.File)
	paths, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = file
	}
	return files
}

// functions calls f with each function of a package.
func functions(t *testing.T, dir string, f func(path string, fn *ast.FuncDecl)) {
	for path, file := range sources(t, dir) {
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				f(path, fn)
			}
		}
	}
}

// having are the types of a package that have a method with a result.
func having(t *testing.T, dir, method, result string) (names []string) {
	functions(t, dir, func(_ string, fn *ast.FuncDecl) {
		if fn.Name.Name == method && fn.Recv != nil && len(fn.Type.Params.List) == 0 && typeName(fn.Type.Results.List[0].Type) == result {
			names = append(names, typeName(fn.Recv.List[0].Type))
		}
	})
	slices.Sort(names)
	if len(names) < 5 {
		t.Fatalf("package %s has %v with the method %s", dir, names, method)
	}
	return names
}

// typeName is a type's name, whatever its package.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.StarExpr:
		return typeName(e.X)
	}
	return ""
}

// nodesOf calls f with each node of a function.
func nodesOf(t *testing.T, dir, name string, f func(ast.Node)) {
	found := false
	functions(t, dir, func(_ string, fn *ast.FuncDecl) {
		if fn.Name.Name != name {
			return
		}
		found = true
		ast.Inspect(fn, func(n ast.Node) bool { f(n); return true })
	})
	if !found {
		t.Fatalf("package %s has no function %s", dir, name)
	}
}

// cases are the types that a type switch names; whole: it has a default.
func cases(s *ast.TypeSwitchStmt) (names []string, whole bool) {
	for _, clause := range s.Body.List {
		list := clause.(*ast.CaseClause).List
		whole = whole || list == nil
		for _, e := range list {
			names = append(names, typeName(e))
		}
	}
	return names, whole
}

func lacks(t *testing.T, what string, all, has []string) {
	t.Helper()
	for _, name := range all {
		if !slices.Contains(has, name) {
			t.Errorf("%s lacks %s", what, name)
		}
	}
}

// TestKindsOfEntries holds the entries of a log against what reads them: one that cannot be read would be found after a restart.
func TestKindsOfEntries(t *testing.T) {
	bodies := having(t, "session", "kind", "string")
	var read, applied []string
	for _, file := range sources(t, "session") {
		ast.Inspect(file, func(n ast.Node) bool {
			if e, ok := n.(*ast.IndexExpr); ok && typeName(e.X) == "readBody" {
				read = append(read, typeName(e.Index))
			}
			if e, ok := n.(*ast.KeyValueExpr); ok { // a body with a reader of its own
				if body, ok := strings.CutPrefix(typeName(e.Value), "read"); ok && slices.Contains(bodies, body) {
					read = append(read, body)
				}
			}
			return true
		})
	}
	lacks(t, "session.bodies", bodies, read)
	nodesOf(t, "session", "apply", func(n ast.Node) {
		if s, ok := n.(*ast.TypeSwitchStmt); ok {
			names, _ := cases(s) // its default is an error
			applied = append(applied, names...)
		}
	})
	lacks(t, "View.apply", bodies, applied)
}

// TestKindsOfEvents: what Events does not list, nobody describes and no test encodes.
func TestKindsOfEvents(t *testing.T) {
	var listed []string
	nodesOf(t, "agent/feed", "Events", func(n ast.Node) {
		if e, ok := n.(*ast.CompositeLit); ok {
			listed = append(listed, typeName(e.Type))
		}
	})
	lacks(t, "feed.Events", having(t, "agent/feed", "Method", "string"), listed)
}

// leftOut are the kinds of block that a function's switch leaves out on purpose.
var leftOut = map[string][]string{
	"agent/transcript/passage.go:writeSaid":     {"Opaque", "Thinking"},
	"agent/transcript/text.go:Characters":       {"Media", "Opaque", "Thinking"},
	"agent/reply.go:speaks":                     {"Opaque", "Thinking", "ToolResult"},
	"agent/stream.go:seal":                      {"Media", "Opaque", "ToolResult"},
	"provider/chat/history.go:assistant":        {"Opaque", "ServerTool", "Thinking", "ToolResult"},
	"provider/message.go:StateOf":               {"Media", "ToolResult"},
	"provider/message.go:WithoutState":          {"Media", "ToolResult"},
	"provider/providertest/check.go:checkBlock": {"Media", "Text", "ToolResult"},
	"rpc/acp/replay.go:replayReply":             {"Media", "Opaque", "ToolResult"},
	"rpc/history.go:writeMarkdown":              {"Opaque"},
	"rpc/wire/types.go:Cut":                     {"Opaque"},
}

// TestKindsOfBlocks: a switch on three kinds of block or more names each, has a default, or leaves kinds out on purpose.
func TestKindsOfBlocks(t *testing.T) {
	blocks := having(t, "provider", "wire", "wireBlock")
	var read []string
	nodesOf(t, "provider", "block", func(n ast.Node) {
		if e, ok := n.(*ast.CompositeLit); ok {
			read = append(read, typeName(e.Type))
		}
	})
	lacks(t, "provider.UnmarshalBlock", blocks, read)

	dirs := make(map[string]bool)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || d.Name() == "sim" || d.Name() == ".git") {
			return fs.SkipDir // the simulator has blocks of its own
		}
		if strings.HasSuffix(path, ".go") {
			dirs[strings.TrimPrefix(filepath.Dir(path), "../../")] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		functions(t, dir, func(path string, fn *ast.FuncDecl) {
			ast.Inspect(fn, func(n ast.Node) bool {
				s, ok := n.(*ast.TypeSwitchStmt)
				if !ok {
					return true
				}
				names, whole := cases(s)
				known := 0
				for _, name := range names {
					if slices.Contains(blocks, name) {
						known++
					}
				}
				if known < 3 || whole { // two are picked out of all
					return true
				}
				seen++
				where := strings.TrimPrefix(path, "../../") + ":" + fn.Name.Name
				lacks(t, where, blocks, slices.Concat(names, leftOut[where]))
				return true
			})
		})
	}
	if seen < 5 {
		t.Errorf("there are %d switches", seen)
	}
}
