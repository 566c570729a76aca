package structure

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Package is a package of the module.
type Package struct {
	Path    string   // below the module: "session/bolt"
	Imports []string // the packages of the module that it imports, in the same form
	Files   []File
	Uses    Uses

	Exported, Private int // names at the top of the package: types, functions, variables and constants
}

// A File counts the lines of a file that are not blank.
type File struct {
	Name     string
	Lines    int
	Comments int // those with nothing but a comment
}

// listed is what the go command says about a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, Imports        []string
	DepOnly                 bool
	Module                  *struct{ Path string }
}

// Load returns the packages that match the patterns of the go command, which runs in dir. Packages without files on this
// system are left out.
func Load(dir string, patterns ...string) ([]*Package, error) {
	arguments := []string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Imports,DepOnly,Module"}
	list := exec.Command("go", append(arguments, patterns...)...)
	list.Dir = dir
	list.Env = append(os.Environ(), "CGO_ENABLED=0") // what go vet and a release compile, so that nothing is compiled for this alone
	out, err := list.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go list: %w: %s", err, failed.Stderr)
	} else if err != nil {
		return nil, err
	}
	exported := make(map[string]string) // where the compiler has left what a package exports
	var matched []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exported[l.ImportPath] = l.Export
		if !l.DepOnly && len(l.GoFiles) > 0 {
			matched = append(matched, l)
		}
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exported[path]) }
	set := token.NewFileSet()
	shared := importer.ForCompiler(set, "gc", open) // it keeps what it has read: most packages import the same ones
	var all []*Package
	for _, l := range matched {
		p, err := l.load(set, shared)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.ImportPath, err)
		}
		all = append(all, p)
	}
	return all, nil
}

func (l listed) load(set *token.FileSet, imports types.Importer) (*Package, error) {
	p := &Package{Path: strings.TrimPrefix(l.ImportPath, l.Module.Path+"/")}
	for _, name := range l.Imports {
		if ours, ok := strings.CutPrefix(name, l.Module.Path+"/"); ok {
			p.Imports = append(p.Imports, ours)
		}
	}
	var files []*ast.File
	for _, name := range l.GoFiles {
		text, err := os.ReadFile(filepath.Join(l.Dir, name))
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		p.Files = append(p.Files, count(set, f, string(text)))
	}
	config := types.Config{Importer: imports}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	checked, err := config.Check(l.ImportPath, set, files, info)
	if err != nil {
		return nil, err
	}
	for _, name := range checked.Scope().Names() {
		if token.IsExported(name) {
			p.Exported++
		} else {
			p.Private++
		}
	}
	p.Uses = uses(set, checked, info)
	return p, nil
}

func count(set *token.FileSet, f *ast.File, text string) File {
	lines := strings.Split(text, "\n")
	c := File{Name: set.Position(f.Package).Filename}
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			c.Lines++
		}
	}
	for _, group := range f.Comments {
		for _, comment := range group.List {
			from, to := set.Position(comment.Pos()), set.Position(comment.End())
			for n := from.Line; n <= to.Line; n++ {
				before := lines[n-1]
				if n == from.Line {
					before = before[:from.Column-1]
				}
				if alone := n > from.Line || strings.TrimSpace(before) == ""; alone && strings.TrimSpace(lines[n-1]) != "" {
					c.Comments++
				}
			}
		}
	}
	return c
}

func uses(set *token.FileSet, checked *types.Package, info *types.Info) Uses {
	all := make(Uses)
	for used, object := range info.Uses {
		field, isField := object.(*types.Var)
		method, isMethod := object.(*types.Func)
		shared := object.Parent() == checked.Scope() || isField && field.IsField() || isMethod && method.Signature().Recv() != nil
		from, to := set.Position(used.Pos()).Filename, set.Position(object.Pos()).Filename
		if object.Pkg() != checked || !shared || from == to {
			continue
		}
		if all[from] == nil {
			all[from] = make(map[string]string)
		}
		all[from][to] = object.Name()
	}
	return all
}
