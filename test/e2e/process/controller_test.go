// SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"noderotation.io/noderotation/test/e2e/process"
)

// The controller is played by this test's own executable: lineVariable has what it says before it ends without having been
// ready, and timesVariable how often it does so before it serves. What it writes to the file named by diaryVariable counts.
const (
	diaryVariable = "PROCESS_TEST_DIARY"
	lineVariable  = "PROCESS_TEST_LINE"
	timesVariable = "PROCESS_TEST_TIMES"
	// turnVariable has it panic as soon as it has said that it is ready.
	turnVariable = "PROCESS_TEST_TURNS"

	inUse = "unable to start: listen tcp 127.0.0.1:1: bind: address already in use"
)

func TestMain(m *testing.M) {
	if diary := os.Getenv(diaryVariable); diary != "" {
		play(diary)
	}
	os.Exit(m.Run())
}

// play is a controller.
func play(diary string) {
	var probe string
	for _, argument := range os.Args {
		if address, found := strings.CutPrefix(argument, "--health-probe-bind-address="); found {
			probe = address
		}
	}
	written, _ := os.ReadFile(diary)
	if err := os.WriteFile(diary, append(written, probe+"\n"...), 0o600); err != nil {
		panic(err)
	}
	if strings.Count(os.Getenv(timesVariable), "x") > strings.Count(string(written), "\n") {
		fmt.Fprintln(os.Stderr, os.Getenv(lineVariable))
		os.Exit(1)
	}
	server := &http.Server{Addr: probe, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateIdle && os.Getenv(turnVariable) != "" { // it has answered
			go panic("it has turned")
		}
	}}
	server.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	panic(server.ListenAndServe())
}

// played are the options of a controller that is turned away so often, with these words.
func played(t *testing.T, times int, line string, env ...string) (options process.Options, diary string) {
	t.Helper()
	folder := t.TempDir()
	diary = filepath.Join(folder, "diary")
	return process.Options{
		Binary: os.Args[0], Log: filepath.Join(folder, "controller.log"),
		Env: append(env, diaryVariable+"="+diary, lineVariable+"="+line, timesVariable+"="+strings.Repeat("x", times)),
	}, diary
}

// read is a file's text, empty where there is none.
func read(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

func TestAPortThatSomebodyHasTakenIsChangedForAnother(t *testing.T) {
	g := NewWithT(t)
	options, diary := played(t, 2, inUse)
	g.Expect(os.WriteFile(options.Log, []byte("of its predecessor\n"), 0o600)).To(Succeed())
	controller, err := process.Start(t.Context(), options)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(controller.Kill()).To(Succeed())
	addresses := strings.Fields(read(diary))
	g.Expect(addresses).To(HaveLen(3))
	g.Expect(addresses[2]).NotTo(BeElementOf(addresses[0], addresses[1]))
	g.Expect(read(options.Log)).To(Equal("of its predecessor\n"), "the log")
}

func TestAStartIsTriedThriceAndOnlyForItsPorts(t *testing.T) {
	for name, story := range map[string]struct {
		line   string
		starts int
	}{
		"the ports are always taken":         {inUse, 3},
		"it ends for another reason":         {"the table breaks a law", 1},
		"a predecessor's port was taken too": {"", 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			options, diary := played(t, 9, story.line)
			if story.line == "" {
				g.Expect(os.WriteFile(options.Log, []byte(inUse+"\n"), 0o600)).To(Succeed())
			}
			_, err := process.Start(t.Context(), options)
			g.Expect(err).To(MatchError(ContainSubstring("the controller ended before it was ready: exit status 1")))
			g.Expect(strings.Fields(read(diary))).To(HaveLen(story.starts))
		})
	}
}

func TestAnEndOfItsOwnIsNotTakenForOurs(t *testing.T) {
	g := NewWithT(t)
	options, _ := played(t, 0, "", turnVariable+"=yes")
	controller, err := process.Start(t.Context(), options)
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(controller.Ended()).WithTimeout(time.Minute).Should(BeClosed())
	byItself := MatchError(ContainSubstring("the controller ended by itself: exit status 2"))
	g.Expect(controller.Kill()).To(byItself)
	g.Expect(controller.Stop()).To(byItself)
	g.Expect(controller.Died()).To(byItself)
	g.Expect(process.Panics(options.Log)).To(Equal([]string{"panic: it has turned"}))
}

func TestAnEndThatWeAskedForIsNone(t *testing.T) {
	g := NewWithT(t)
	options, _ := played(t, 0, "")
	controller, err := process.Start(t.Context(), options)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(controller.Kill()).To(Succeed())
	g.Expect(controller.Kill()).To(Succeed())
	g.Expect(controller.Stop()).To(Succeed())
	g.Expect(controller.Died()).To(Succeed())
}

func TestPanics(t *testing.T) {
	g := NewWithT(t)
	log := filepath.Join(t.TempDir(), "controller.log")
	g.Expect(os.WriteFile(log, []byte(`{"level":"info","msg":"transition","row":"start"}
{"level":"error","msg":"Reconciler error","error":"panic: index out of range [recovered]"}
{"level":"error","msg":"Reconciler error","error":"the API server panics"}
{"level":"info","msg":"tor
panic: runtime error: invalid memory address or nil pointer dereference
	panic: again
goroutine 1 [running]:
fatal error: concurrent map writes
`), 0o600)).To(Succeed())
	g.Expect(process.Panics(log)).To(Equal([]string{
		"panic: index out of range [recovered]",
		"panic: runtime error: invalid memory address or nil pointer dereference",
		"fatal error: concurrent map writes",
	}))
}
