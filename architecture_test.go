// SPDX-License-Identifier: Apache-2.0

package noderotation_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "noderotation.io/noderotation"

// listed is a package as `go list` tells it: its imports are those of its product code, without tests.
type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Error      *struct{ Err string }
}

// house has every package of the module, and everything that they import in turn, by import path.
type house map[string]listed

// surveyed reads the module's packages. Nothing is compiled.
func surveyed(t *testing.T) house {
	t.Helper()
	out, err := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Standard,Imports,Error", "./...").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	packages := house{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Error != nil {
			t.Fatalf("%s: %s", p.ImportPath, p.Error.Err)
		}
		packages[p.ImportPath] = p
	}
}

// room is the room of a package of ours: "" for the module's root, "api" for api/v1alpha1. The second result is false
// for a package that is not ours.
func room(importPath string) (string, bool) {
	if importPath == module {
		return "", true
	}
	inside, ours := strings.CutPrefix(importPath, module+"/")
	first, _, _ := strings.Cut(inside, "/")
	return first, ours
}

// rooms are the packages of a room. The test fails where there is none: an arrow that nothing can break holds nothing.
func (h house) rooms(t *testing.T, name string) []listed {
	t.Helper()
	var found []listed
	for path, p := range h {
		if r, ours := room(path); ours && r == name {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		t.Fatalf("there is no package in %s/", name)
	}
	return found
}

// way is a chain of imports from a package to the first one that is banned, or nil.
func (h house) way(from string, banned func(string) bool) []string {
	seen := map[string]bool{}
	var search func(string) []string
	search = func(path string) []string {
		if seen[path] {
			return nil
		}
		seen[path] = true
		for _, next := range h[path].Imports {
			if banned(next) {
				return []string{path, next}
			}
			if rest := search(next); rest != nil {
				return append([]string{path}, rest...)
			}
		}
		return nil
	}
	return search(from)
}

// under tells whether an import path is one of the modules, or lies in one.
func under(path string, modules ...string) bool {
	return slices.ContainsFunc(modules, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") })
}

func TestWhoMayImportWhom(t *testing.T) {
	h := surveyed(t)

	t.Run("each room imports only those that it may", func(t *testing.T) {
		for name, allowed := range map[string][]string{
			"":         {},
			"api":      {"api"},
			"machine":  {"machine"},
			"window":   {},
			"rotation": {"api", "window"},
			"guards":   {"machine", "rotation"},
			"effects":  {"machine", "rotation"},
			"laws":     {"machine", "rotation"},
		} {
			for _, p := range h.rooms(t, name) {
				for _, imported := range p.Imports {
					if r, ours := room(imported); ours && !slices.Contains(allowed, r) {
						t.Errorf("%s imports %s; it may import %q of ours", p.ImportPath, imported, allowed)
					}
				}
			}
		}
	})

	t.Run("the engine stands on nothing of ours, and what looks at tables stands on the engine alone", func(t *testing.T) {
		for _, p := range h.rooms(t, "machine") {
			for _, imported := range p.Imports {
				if _, ours := room(imported); ours && (p.ImportPath == module+"/machine" || imported != module+"/machine") {
					t.Errorf("%s imports %s", p.ImportPath, imported)
				}
			}
		}
	})

	t.Run("machine and window compile without any Kubernetes module", func(t *testing.T) {
		for _, name := range []string{"machine", "window"} {
			for _, p := range h.rooms(t, name) {
				if way := h.way(p.ImportPath, func(path string) bool { return under(path, "k8s.io", "sigs.k8s.io") }); way != nil {
					t.Errorf("Kubernetes comes in by %s", strings.Join(way, " → "))
				}
			}
		}
	})

	t.Run("the core compiles without controller-runtime, client-go and Karpenter's Go types", func(t *testing.T) {
		for _, name := range []string{"", "api", "machine", "window", "rotation", "guards", "effects", "laws"} {
			for _, p := range h.rooms(t, name) {
				shell := func(path string) bool {
					return under(path, "sigs.k8s.io/controller-runtime", "k8s.io/client-go", "sigs.k8s.io/karpenter")
				}
				if way := h.way(p.ImportPath, shell); way != nil {
					t.Errorf("the shell comes in by %s", strings.Join(way, " → "))
				}
			}
		}
	})

	t.Run("api registers its types with apimachinery alone", func(t *testing.T) {
		for _, p := range h.rooms(t, "api") {
			for _, imported := range p.Imports {
				if !h[imported].Standard && !under(imported, module+"/api", "k8s.io/apimachinery", "k8s.io/utils") {
					t.Errorf("%s imports %s", p.ImportPath, imported)
				}
			}
		}
	})

	t.Run("nothing imports controller but cmd and sim", func(t *testing.T) {
		h.rooms(t, "controller")
		for path, p := range h {
			importer, ours := room(path)
			if !ours || slices.Contains([]string{"controller", "cmd", "sim", "test"}, importer) {
				continue
			}
			for _, imported := range p.Imports {
				if r, _ := room(imported); r == "controller" {
					t.Errorf("%s imports %s", path, imported)
				}
			}
		}
	})

	t.Run("nothing that ships imports the tests' vocabulary", func(t *testing.T) {
		for path, p := range h {
			if _, ours := room(path); ours && slices.Contains(p.Imports, module+"/internal/fleet") {
				t.Errorf("%s imports internal/fleet, which is for tests only", path)
			}
		}
	})

	t.Run("the module's root embeds the table and does nothing else", func(t *testing.T) {
		if imports := h[module].Imports; !slices.Equal(imports, []string{"embed"}) {
			t.Errorf("it imports %q", imports)
		}
	})
}

// sources are the Go files of the repository, its other modules included, by their paths.
func sources(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin"):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		found[filepath.ToSlash(path)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestEveryGoFileSaysItsLicence(t *testing.T) {
	for path, text := range sources(t) {
		generated := strings.Contains(text, "\n// Code generated by ") || strings.HasPrefix(text, "// Code generated by ")
		if !generated && !strings.HasPrefix(text, "// SPDX-License-Identifier: Apache-2.0\n\n") {
			t.Errorf("%s does not begin with its SPDX line and an empty one", path)
		}
	}
}

// clockwork is what of package time asks the machine for the time, or waits for it.
var clockwork = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// Time is a Clock handed in (architecture, One pass): only cmd, which hands it in, and the harness of real clusters look
// at the machine's own.
func TestNothingAsksTheMachineForTheTime(t *testing.T) {
	looked := 0
	for path, text := range sources(t) {
		if strings.HasSuffix(path, "_test.go") || under(path, "cmd", "test", "tools") {
			continue
		}
		looked++
		for _, use := range asksForTime(t, path, text) {
			t.Errorf("%s: take the time from the clock that is handed in", use)
		}
	}
	if looked < 20 {
		t.Errorf("only %d files were looked at", looked)
	}
}

func TestAskingTheMachineForTheTimeIsFound(t *testing.T) {
	uses := asksForTime(t, "x.go", `package x
import clock "time"
var now = clock.Now
func f() { clock.Sleep(clock.Second) }`)
	if !slices.Equal(uses, []string{"x.go:3:11: time.Now", "x.go:4:12: time.Sleep"}) {
		t.Errorf("found %q", uses)
	}
}

// asksForTime finds where a file refers to the clockwork of package time, under whatever name it is imported.
func asksForTime(t *testing.T, path, text string) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	for _, imported := range file.Imports {
		if imported.Path.Value == `"time"` {
			name = "time"
			if imported.Name != nil {
				name = imported.Name.Name
			}
		}
	}
	var uses []string
	ast.Inspect(file, func(n ast.Node) bool {
		selector, is := n.(*ast.SelectorExpr)
		if !is {
			return true
		}
		if of, plain := selector.X.(*ast.Ident); plain && name != "" && of.Name == name && slices.Contains(clockwork, selector.Sel.Name) {
			uses = append(uses, files.Position(selector.Pos()).String()+": time."+selector.Sel.Name)
		}
		return true
	})
	return uses
}
