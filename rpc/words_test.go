package rpc

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The Words of a type are its constants. A word that is missing there is missing in the protocol's schema.
func TestWordsAreComplete(t *testing.T) {
	types := 0
	for _, dir := range []string{"../provider", "../session", "../session/tool", "../agent", "../agent/feed", "../agent/tool/approval", "../registry", "."} {
		names, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		constants, words := map[string][]string{}, map[string][]string{} // by type: names of constants
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ValueSpec:
					if of, name, ok := constantOf(n); ok {
						constants[of] = append(constants[of], name)
					}
				case *ast.FuncDecl:
					if n.Name.Name == "Words" && n.Recv != nil {
						of := n.Recv.List[0].Type.(*ast.Ident).Name
						words[of] = argumentsOf(n.Body)
					}
				}
				return true
			})
		}
		for of, list := range words {
			types++
			if of == "Level" {
				continue // its list is in a variable
			}
			want := constants[of]
			slices.Sort(want)
			slices.Sort(list)
			if diff := cmp.Diff(want, list); diff != "" || len(list) == 0 {
				t.Errorf("%s: the Words of %s are not its constants (-constants +words)\n%s", dir, of, diff)
			}
		}
	}
	if types < 20 {
		t.Errorf("only %d types have Words", types)
	}
}

// constantOf is the type and the name of a typed constant that is not empty, given with a type or as a conversion.
func constantOf(n *ast.ValueSpec) (of, name string, ok bool) {
	if len(n.Values) != 1 || len(n.Names) != 1 {
		return "", "", false
	}
	switch value := n.Values[0].(type) {
	case *ast.BasicLit:
		id, typed := n.Type.(*ast.Ident)
		if text, err := strconv.Unquote(value.Value); !typed || err != nil || text == "" {
			return "", "", false
		}
		return id.Name, n.Names[0].Name, true
	case *ast.CallExpr:
		id, typed := value.Fun.(*ast.Ident)
		if !typed {
			return "", "", false
		}
		return id.Name, n.Names[0].Name, true
	}
	return "", "", false
}

// argumentsOf is the names in the call that a function returns.
func argumentsOf(body *ast.BlockStmt) (names []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			for _, a := range call.Args {
				if id, ok := a.(*ast.Ident); ok {
					names = append(names, id.Name)
				}
			}
		}
		return true
	})
	return names
}
