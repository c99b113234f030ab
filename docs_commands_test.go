// SPDX-License-Identifier: Apache-2.0

package noderotation_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// commands has the flags of every command of the binary, by its words: "table lint". The binary itself is "".
type commands map[string][]string

var (
	subcommand = regexp.MustCompile(`(?m)^ {2}([a-z-]+) +[A-Z]`)
	flagName   = regexp.MustCompile(`(?m)^ +(?:-[a-zA-Z], | {4})(--[a-z-]+)`)
	bareFlag   = regexp.MustCompile(`^--[a-z][a-z-]*`)
	makeTarget = regexp.MustCompile(`^make ([a-z][a-z0-9-]*)`)
	separator  = regexp.MustCompile(`&&|\|\||[|;]`)
)

// theCommands asks the binary for its help, and every command of it.
func theCommands(t *testing.T) commands {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "noderotation")
	if out, err := exec.Command("go", "build", "-o", binary, "./cmd/noderotation").CombinedOutput(); err != nil {
		t.Fatalf("go build ./cmd/noderotation: %v\n%s", err, out)
	}
	all := commands{}
	all.ask(t, binary, nil)
	return all
}

func (c commands) ask(t *testing.T, binary string, words []string) {
	t.Helper()
	out, err := exec.Command(binary, append(slices.Clone(words), "--help")...).Output()
	if err != nil {
		t.Fatalf("noderotation %s --help: %v", strings.Join(words, " "), err)
	}
	help := string(out)
	c[strings.Join(words, " ")] = []string{"--help"}
	for _, flag := range flagName.FindAllStringSubmatch(help, -1) {
		c[strings.Join(words, " ")] = append(c[strings.Join(words, " ")], flag[1])
	}
	_, list, _ := strings.Cut(help, "\nAvailable Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, sub := range subcommand.FindAllStringSubmatch(list, -1) {
		if sub[1] != "help" {
			c.ask(t, binary, append(slices.Clone(words), sub[1]))
		}
	}
}

// problem says what is wrong with a command line of ours; empty where nothing is.
func (c commands) problem(arguments []string) string {
	var words []string
	for _, argument := range arguments {
		deeper := strings.Join(append(slices.Clone(words), argument), " ")
		if _, known := c[deeper]; !known {
			break
		}
		words = append(words, argument)
	}
	path := strings.Join(words, " ")
	rest := arguments[len(words):]
	if c.hasCommands(path) && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && rest[0] != "…" {
		return strings.TrimSpace(path+" "+rest[0]) + " is no command"
	}
	for _, argument := range rest {
		flag, _, _ := strings.Cut(argument, "=")
		if strings.HasPrefix(flag, "--") && !slices.Contains(c[path], flag) {
			return path + " has no flag " + flag
		}
	}
	return ""
}

func (c commands) hasCommands(path string) bool {
	for other := range c {
		if other != path && strings.HasPrefix(other, strings.TrimPrefix(path+" ", " ")) {
			return true
		}
	}
	return false
}

func (c commands) anyHas(flag string) bool {
	for _, flags := range c {
		if slices.Contains(flags, flag) {
			return true
		}
	}
	return false
}

// ours are the arguments of each command line in the code that calls our binary, as itself or as a plugin of kubectl.
func ours(code string) [][]string {
	code, _, _ = strings.Cut(code, " #")
	var lines [][]string
	for _, line := range separator.Split(code, -1) {
		words := strings.Fields(line)
		switch {
		case len(words) > 0 && slices.Contains([]string{"noderotation", "bin/noderotation", "kubectl-rotation"}, words[0]):
			lines = append(lines, words[1:])
		case len(words) > 1 && words[0] == "kubectl" && words[1] == "rotation":
			lines = append(lines, words[2:])
		}
	}
	return lines
}

func TestTheDocumentsShowCommandsThatExist(t *testing.T) {
	all := theCommands(t)
	for _, p := range told(t) {
		for _, code := range p.code {
			for _, line := range ours(code) {
				if problem := all.problem(line); problem != "" {
					t.Errorf("%s shows %q: %s", p.path, code, problem)
				}
			}
			if flag := bareFlag.FindString(code); flag != "" && !all.anyHas(flag) && !slices.Contains(othersFlags, flag) {
				t.Errorf("%s names the flag %s, which no command of ours has", p.path, flag)
			}
		}
	}
}

func TestTheDocumentsShowMakeTargetsThatExist(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range told(t) {
		for _, code := range p.code {
			if target := makeTarget.FindStringSubmatch(code); len(target) > 1 && !strings.Contains("\n"+string(makefile), "\n"+target[1]+":") {
				t.Errorf("%s shows make %s, which is no target", p.path, target[1])
			}
		}
	}
}

func TestCommandLinesAreJudged(t *testing.T) {
	all := commands{"": {"--help"}, "table": {"--help"}, "table lint": {"--help", "--strict"}, "status": {"--output"}}
	for line, want := range map[string]string{
		"noderotation":                          "",
		"noderotation --help":                   "",
		"noderotation status api --output=json": "",
		"noderotation table lint F --strict":    "",
		"noderotation table lint F --lax":       "table lint has no flag --lax",
		"noderotation table mint F":             "table mint is no command",
		"noderotation stats":                    "stats is no command",
		"kubectl rotation status --all":         "status has no flag --all",
		"echo && noderotation stats # no":       "stats is no command",
	} {
		var got string
		for _, arguments := range ours(line) {
			got += all.problem(arguments)
		}
		if got != want {
			t.Errorf("%q: %q, not %q", line, got, want)
		}
	}
}
