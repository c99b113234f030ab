// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/guards"
	"noderotation.io/noderotation/machine"
)

// The words for a table that is no file.
const (
	builtin       = "builtin"
	standardInput = "-"
)

// orRevision is for the help of the commands that take one table.
const orRevision = "\n\nFILE may also be a revision of git's, such as main or HEAD~1:" + noderotation.TransitionsFile + ", or builtin."

// tableSource finds a table by what a person calls it.
type tableSource struct {
	in io.Reader
	// git runs git in the working directory. The error has what git says.
	git func(ctx context.Context, args ...string) ([]byte, error)
}

func newTableSource(in io.Reader) tableSource { return tableSource{in: in, git: git} }

// named reads a table: "builtin", "-" for standard input, a file, or a revision of git's, "main" or "main:path/to/it".
func (s tableSource) named(ctx context.Context, name string) (*machine.Table, error) {
	switch name {
	case builtin:
		return readTable(builtin, noderotation.Transitions)
	case standardInput:
		data, err := io.ReadAll(s.in)
		if err != nil {
			return nil, fmt.Errorf("the table cannot be read from standard input: %w", err)
		}
		return readTable("standard input", data)
	}
	data, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && meansFile(name):
		return nil, fmt.Errorf("there is no file %s; name a file, %s", name, inPlaceOfAFile)
	case errors.Is(err, fs.ErrNotExist):
		return s.revision(ctx, name)
	case err != nil:
		return nil, fmt.Errorf("the table cannot be read: %w", err)
	}
	return readTable(name, data)
}

// inPlaceOfAFile is what else names a table.
var inPlaceOfAFile = fmt.Sprintf("a revision such as main or HEAD~1:%s, %q or %q", noderotation.TransitionsFile, builtin, standardInput)

// meansFile tells whether a name can only be a file's: a revision may have a slash in it, as release/1.0, but no such beginning
// or end.
func meansFile(name string) bool {
	if strings.Contains(name, ":") {
		return false
	}
	extension := filepath.Ext(name)
	return filepath.IsAbs(name) || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") ||
		extension == ".yaml" || extension == ".yml" || extension == ".json"
}

// revision reads a table as it is in a revision: in transitions.yaml at the root of the repository, unless it says where.
func (s tableSource) revision(ctx context.Context, name string) (*machine.Table, error) {
	spec := name
	if !strings.Contains(spec, ":") {
		spec += ":" + noderotation.TransitionsFile
	}
	data, err := s.git(ctx, "show", "--end-of-options", spec)
	if err != nil {
		return nil, fmt.Errorf("%q is no file, and git has no %s here; name a file, %s: %w", name, spec, inPlaceOfAFile, err)
	}
	return readTable(spec, data)
}

// current reads the table that a person is at work on: transitions.yaml at the root of the repository, or in the working
// directory where that is in none. Where there is no such file it is the built-in one.
func (s tableSource) current(ctx context.Context) (*machine.Table, error) {
	path := noderotation.TransitionsFile
	if root, err := s.git(ctx, "rev-parse", "--show-toplevel"); err == nil {
		path = filepath.Join(strings.TrimRight(string(root), "\r\n"), path)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s.named(ctx, builtin)
	}
	if err != nil {
		return nil, fmt.Errorf("the table cannot be read: %w", err)
	}
	return readTable(noderotation.TransitionsFile, data)
}

// git runs git.
func git(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		return nil, errors.New("git: " + text)
	}
	return out, err
}

// readTable reads a table. Of one that cannot be read wholly it also tells what is wrong with the names in the rest.
func readTable(name string, data []byte) (*machine.Table, error) {
	registry, err := effects.Registry(guards.All())
	if err != nil {
		return nil, fmt.Errorf("guards and effects do not fit together: %w", err)
	}
	return machine.Read(name, data, registry.GuardDecls(), registry.EffectDecls())
}

// modelOf sees a table through the guards and effects that are registered, whether or not it obeys the laws.
func modelOf(table *machine.Table) (*machine.Model, error) {
	registry, err := effects.Registry(guards.All())
	if err != nil {
		return nil, fmt.Errorf("guards and effects do not fit together: %w", err)
	}
	return machine.NewModel(table, registry.GuardDecls(), registry.EffectDecls()), nil
}
