package testgo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Tests start goroutines with Go, or pass Guard to what starts them. Random tests call Check.
func TestUse(t *testing.T) {
	const root = "../.."
	others := map[string]bool{ // processes of their own, in which no test runs
		"session/bolt/process_unix_test.go":     true,
		"cmd/thinkd/proof/inside/heap_linux.go": true,
	}
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, filepath.FromSlash(root+"/")))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "testdata" || name == "provider/testgo"):
			return fs.SkipDir
		case others[name] || !strings.HasSuffix(name, "_test.go") && !(strings.HasPrefix(name, "cmd/thinkd/proof/") && strings.HasSuffix(name, ".go")):
			return nil
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: start the goroutine with testgo.Go", set.Position(n.Pos()))
			case *ast.CallExpr:
				called, ok := n.Fun.(*ast.SelectorExpr)
				if ok && called.Sel.Name == "Go" && len(n.Args) == 1 {
					if _, ok := n.Args[0].(*ast.FuncLit); ok {
						t.Errorf("%s: wrap the function in testgo.Guard", set.Position(n.Pos()))
					}
				}
				if !ok || !strings.HasSuffix(called.Sel.Name, "Check") {
					return true
				}
				if from, ok := called.X.(*ast.Ident); ok && from.Name == "rapid" {
					t.Errorf("%s: check with testgo.Check", set.Position(n.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%d files were read: %v", files, err)
	}
}
