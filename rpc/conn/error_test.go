package conn

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The protocol's list of codes, as clients have it. A code that is in error.go alone, or here alone, fails.
var codes = map[string]struct {
	number Code
	kind   string
}{
	"CodeParse":          {-32700, "parse_error"},
	"CodeInvalidRequest": {-32600, "invalid_request"},
	"CodeMethodNotFound": {-32601, "method_not_found"},
	"CodeInvalidParams":  {-32602, "invalid_params"},
	"CodeInternal":       {-32603, "internal"},
	"CodeCancelled":      {-32800, "cancelled"},
	"CodeNotFound":       {1001, "not_found"},
	"CodeBusy":           {1002, "busy"},
	"CodeNoModel":        {1003, "no_model"},
	"CodeProvider":       {1004, "provider"},
	"CodeStale":          {1005, "stale"},
	"CodeClosing":        {1006, "closing"},
	"CodeTooLarge":       {1007, "too_large"},
	"CodeUnauthorized":   {1008, "unauthorized"},
	"CodeQuota":          {1011, "quota"},
	"CodeForbidden":      {1012, "forbidden"},
	"CodeOverloaded":     {1009, "overloaded"},
	"CodeLevel":          {1010, "level_not_supported"},
}

func TestCodes(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "error.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == 1 && strings.HasPrefix(spec.Names[0].Name, "Code") {
			switch v := spec.Values[0].(type) {
			case *ast.BasicLit:
				declared[spec.Names[0].Name] = v.Value
			case *ast.UnaryExpr:
				declared[spec.Names[0].Name] = v.Op.String() + v.X.(*ast.BasicLit).Value
			}
		}
		return true
	})
	want := map[string]string{}
	for name, c := range codes {
		want[name] = fmt.Sprint(int(c.number))
		if kinds[c.number] != c.kind {
			t.Errorf("%s has kind %q, want %q", name, kinds[c.number], c.kind)
		}
	}
	if diff := cmp.Diff(want, declared); diff != "" {
		t.Errorf("the codes in error.go differ from the protocol's (-protocol +error.go)\n%s", diff)
	}
	if len(kinds) != len(codes) {
		t.Errorf("%d codes have a kind, want %d", len(kinds), len(codes))
	}
}
