// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// help is what the binary says of each of its commands, by the command's words: "table lint". The binary itself is "".
type help map[string]string

// readHelp builds the binary and asks it for its help, and every command of it.
func readHelp() (help, error) {
	directory, err := os.MkdirTemp("", "documents")
	if err != nil {
		return nil, fmt.Errorf("the command cannot be built: %w", err)
	}
	defer func() { _ = os.RemoveAll(directory) }() // it is in the directory for what may be left
	binary := filepath.Join(directory, "noderotation")
	build := exec.Command("go", "build", "-o", binary, "./cmd/noderotation")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("the command cannot be built: %w", err)
	}
	h := help{}
	return h, h.ask(binary, nil)
}

var subcommand = regexp.MustCompile(`(?m)^ {2}([a-z-]+) +[A-Z]`)

// ask asks one command, and those below it. What cobra adds by itself is not ours to tell of.
func (h help) ask(binary string, words []string) error {
	out, err := exec.Command(binary, append(slices.Clone(words), "--help")...).Output()
	if err != nil {
		return fmt.Errorf("noderotation %s cannot be asked for its help: %w", strings.Join(words, " "), err)
	}
	h[strings.Join(words, " ")] = string(out)
	_, list, _ := strings.Cut(string(out), "\nAvailable Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, below := range subcommand.FindAllStringSubmatch(list, -1) {
		if name := below[1]; name != "help" && name != "completion" {
			if err := h.ask(binary, append(slices.Clone(words), name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// flags is the list of a command's flags, as its help has it.
func (h help) flags(command string) (string, error) {
	_, flags, found := strings.Cut(h[command], "\nFlags:\n")
	if !found {
		return "", errors.New("the help of `noderotation " + command + "` lists no flags")
	}
	return strings.TrimRight(flags, "\n"), nil
}

var outputFlag = regexp.MustCompile(`(?m)^ +-o, --output string +(.+?)(?: \(default .*\))?$`)

// output is what the help of a command says of its flag --output; empty without one.
func (h help) output(command string) string {
	if found := outputFlag.FindStringSubmatch(h[command]); found != nil {
		return found[1]
	}
	return ""
}
