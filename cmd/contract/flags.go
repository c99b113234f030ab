// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// flagsOfController is what `noderotation controller --help` says of its flags.
func flagsOfController() (string, error) {
	help := exec.Command("go", "run", "./cmd/noderotation", "controller", "--help")
	help.Stderr = os.Stderr
	out, err := help.Output()
	if err != nil {
		return "", fmt.Errorf("the command cannot be asked for its help: %w", err)
	}
	_, flags, found := strings.Cut(string(out), "\nFlags:\n")
	if !found {
		return "", errors.New("the help of `noderotation controller` lists no flags")
	}
	return strings.TrimRight(flags, "\n"), nil
}
