// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// buildKey returns a name for what a build of source would yield: its Go version, platform, sources and the checksums of
// every module it takes from.
func buildKey(source string) (string, error) {
	digest := sha256.New()
	_, _ = fmt.Fprintln(digest, runtime.Version(), runtime.GOOS, runtime.GOARCH, versionVariables, loopbackOnly)
	err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !entersBuild(entry.Name()) {
			return err
		}
		return addFile(digest, source, path)
	})
	if err != nil {
		return "", fmt.Errorf("the sources of the control plane cannot be read: %w", err)
	}
	return hex.EncodeToString(digest.Sum(nil))[:16], nil
}

func entersBuild(file string) bool {
	return file == "go.mod" || file == "go.sum" || filepath.Ext(file) == ".go"
}

func addFile(digest hash.Hash, source, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(source, path)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(digest, "%s %d\n", filepath.ToSlash(name), len(content))
	_, _ = digest.Write(content)
	return nil
}
