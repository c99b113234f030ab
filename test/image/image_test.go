// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The variables say which binary is judged, which version it was linked with, and for which architecture.
const (
	binaryVariable       = "NODEROTATION_BINARY"
	versionVariable      = "NODEROTATION_VERSION"
	architectureVariable = "NODEROTATION_ARCH"
)

// user is whom the Dockerfile has the binary run as.
const user = 65532

func variable(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: run `make test-image`", name)
	}
	return value
}

func TestTheBinaryIsStatic(t *testing.T) {
	binary, err := elf.Open(variable(t, binaryVariable))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = binary.Close() }()
	for _, segment := range binary.Progs {
		if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
			t.Errorf("it has a segment %s: it needs a dynamic linker, which the image does not have", segment.Type)
		}
	}
}

// The machine that builds the image need not be of the kind that runs it.
func TestTheBinaryIsForTheNodesArchitecture(t *testing.T) {
	built, err := buildinfo.ReadFile(variable(t, binaryVariable))
	if err != nil {
		t.Fatal(err)
	}
	is := map[string]string{}
	for _, setting := range built.Settings {
		is[setting.Key] = setting.Value
	}
	if want := variable(t, architectureVariable); is["GOOS"] != "linux" || is["GOARCH"] != want {
		t.Errorf("it is for %s/%s, not for linux/%s", is["GOOS"], is["GOARCH"], want)
	}
}

func TestItRunsInAnEmptyRootAndKnowsItsVersion(t *testing.T) {
	said := alone(t, nil, "version")
	if want := "noderotation " + variable(t, versionVariable) + " ("; !strings.HasPrefix(said, want) {
		t.Errorf("it says %q, which does not begin with %q", said, want)
	}
}

// A window in Berlin opens 28 minutes past one hour UTC in winter and another in summer: only one who knows the zone
// can tell.
func TestItResolvesATimeZoneInAnEmptyRoot(t *testing.T) {
	fleet, err := os.ReadFile(filepath.Join("..", "..", "examples", "dst-night", "fleet.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	said := alone(t, fleet, "simulate", "-")
	if !strings.Contains(said, "Europe/Berlin\n") {
		t.Errorf("no window opened in Berlin:\n%s", said)
	}
	if strings.Contains(said, "Sun 2026-03-29 02:15") {
		t.Errorf("a window opened in the hour that the clock skips:\n%s", said)
	}
}

// alone runs the binary as the image's user in a root that holds nothing but it, without an environment, and returns what
// it says.
func alone(t *testing.T, input []byte, arguments ...string) string {
	t.Helper()
	if its := variable(t, architectureVariable); its != runtime.GOARCH {
		t.Skipf("this machine, which is %s, cannot run a binary for %s", runtime.GOARCH, its)
	}
	root := t.TempDir()
	content, err := os.ReadFile(variable(t, binaryVariable))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "noderotation"), content, 0o555); err != nil {
		t.Fatal(err)
	}
	for folder := root; strings.HasPrefix(folder, os.TempDir()+string(filepath.Separator)); folder = filepath.Dir(folder) {
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("/noderotation", arguments...)
	command.Dir, command.Env, command.Stdin = "/", []string{}, bytes.NewReader(input)
	command.SysProcAttr = confinedTo(root)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("it cannot be run in an empty root; %s: %v\n%s", privilege(), err, output)
	}
	return string(output)
}
