package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// oneWay are packages in which the files depend on each other in one direction: what a file uses stands in files that do not
// use it. A package that has got there is added here.
var oneWay = []string{
	"session", "session/blob", "session/bolt", "session/bolt/page", "session/mem", "session/storetest", "session/tool",
	"agent/tool/guard", "provider/durable", "provider/login", "provider/providertest", "provider/thinktag", "registry/drift",
}

func TestFilesDependOneWay(t *testing.T) {
	const root, module = "../..", "github.com/thinkd/thinkd/"
	arguments := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, name := range oneWay {
		arguments = append(arguments, module+name)
	}
	out, err := exec.Command("go", arguments...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exported := make(map[string]string) // where the compiler has left what a package exports
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			exported[fields[0]] = fields[1]
		}
	}
	for _, name := range oneWay {
		uses, err := fileUses(filepath.Join(root, name), exported)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if cycle := cycleOf(uses); cycle != nil {
			t.Errorf("%s: files depend on each other in a circle: %s. Move what the lower one needs down", name, strings.Join(cycle, "; "))
		}
	}
}

// fileUses is what the files of a package use of each other: by file that uses and file that has it, one of the names.
func fileUses(dir string, exported map[string]string) (map[string]map[string]string, error) {
	p, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(set, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	config := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exported[path]) })}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	checked, err := config.Check(dir, set, files, info)
	if err != nil {
		return nil, err
	}
	uses := make(map[string]map[string]string)
	for used, object := range info.Uses {
		field, isField := object.(*types.Var)
		method, isMethod := object.(*types.Func)
		shared := object.Parent() == checked.Scope() || isField && field.IsField() || isMethod && method.Signature().Recv() != nil
		from, to := filepath.Base(set.Position(used.Pos()).Filename), filepath.Base(set.Position(object.Pos()).Filename)
		if object.Pkg() != checked || !shared || from == to {
			continue
		}
		if uses[from] == nil {
			uses[from] = make(map[string]string)
		}
		uses[from][to] = object.Name()
	}
	return uses, nil
}

// cycleOf is one way from a file back to itself, nil if there is none.
func cycleOf(uses map[string]map[string]string) []string {
	done := make(map[string]bool)
	var way []string
	var visit func(file string) []string
	visit = func(file string) []string {
		if i := slices.Index(way, file); i >= 0 {
			var cycle []string
			for ; i < len(way); i++ {
				to := file
				if i+1 < len(way) {
					to = way[i+1]
				}
				cycle = append(cycle, fmt.Sprintf("%s uses %s of %s", way[i], uses[way[i]][to], to))
			}
			return cycle
		}
		if done[file] {
			return nil
		}
		done[file] = true
		way = append(way, file)
		defer func() { way = way[:len(way)-1] }()
		for _, to := range slices.Sorted(maps.Keys(uses[file])) {
			if cycle := visit(to); cycle != nil {
				return cycle
			}
		}
		return nil
	}
	for _, file := range slices.Sorted(maps.Keys(uses)) {
		if cycle := visit(file); cycle != nil {
			return cycle
		}
	}
	return nil
}

func TestCycleOf(t *testing.T) {
	uses := map[string]map[string]string{"a": {"b": "x"}, "b": {"c": "y"}, "d": {"a": "w"}}
	if cycle := cycleOf(uses); cycle != nil {
		t.Errorf("%q of files without a circle", cycle)
	}
	uses["c"] = map[string]string{"a": "z"}
	if got, want := strings.Join(cycleOf(uses), "; "), "a uses x of b; b uses y of c; c uses z of a"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
