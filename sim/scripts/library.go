// SPDX-License-Identifier: Apache-2.0

package scripts

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

//go:embed testdata/*.txt
var testdata embed.FS

// Library has the scripts that the product is held to.
func Library() fs.FS {
	library, err := fs.Sub(testdata, "testdata")
	if err != nil {
		panic(err) // the directory is in the binary
	}
	return library
}

// ReadAll reads every script of a directory, *.txt in order of their names; dir stands before the names in messages.
// The error joins what is wrong with each of them, and is one of there being none.
func ReadAll(files fs.FS, dir string) ([]*Script, error) {
	found, err := fs.Glob(files, "*.txt")
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no scenario script in %s: scripts are files whose names end in .txt", dir)
	}
	var all []*Script
	var wrong []error
	for _, name := range found {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		script, err := Parse(path.Join(dir, name), string(text))
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		all = append(all, script)
	}
	return all, errors.Join(wrong...)
}
