// SPDX-License-Identifier: Apache-2.0

// Command demo shows a fleet being rotated: it starts a real control plane with a real Karpenter on this machine, fills a
// sample fleet, runs the controller and tells every step of every rotation as it happens, until all nodes are new. Then it
// judges what it has recorded. Its exit status is 0 only if the verdict is good. It leaves nothing behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// binaryVariable names the controller's binary where the flag does not.
const binaryVariable = "NODEROTATION_BINARY"

// Exit statuses.
const (
	exitBad         = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// errBad is the outcome of a demonstration whose verdict, already told, is bad.
var errBad = errors.New("the verdict is bad")

func main() {
	// A pipe that nobody reads any more must not kill us before all has been ended: writing to it is an error instead.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run is main with its surroundings handed in; it returns the exit status.
func run(ctx context.Context, args []string, out *os.File, complaints io.Writer) (status int) {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(complaints)
	output := flags.String("o", "text", "text, or json for an object per happening")
	binary := flags.String("controller", defaultBinary(), "the controller's binary; $"+binaryVariable+" if set, else what `make build` built")
	dir := flags.String("dir", "", "empty folder for all logs, which is kept (default: a temporary one)")
	limit := flags.Duration("timeout", 10*time.Minute, "how long the rotations may take")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return exitUsage
	}
	var tell teller
	switch *output {
	case "text":
		tell = inText(out, isTerminal(out) && os.Getenv("NO_COLOR") == "")
	case "json":
		tell = inJSON(out)
	default:
		_, _ = fmt.Fprintf(complaints, "demo: -o is text or json, not %q\n", *output)
		return exitUsage
	}
	d := &demo{fleet: sample(), binary: *binary, dir: *dir, limit: *limit, tell: tell, now: time.Now, complaints: complaints}
	switch err := d.run(ctx); {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		_, _ = fmt.Fprintln(complaints, "demo: interrupted; everything that was started has been ended")
		return exitInterrupted
	case errors.Is(err, errBad):
	default:
		_, _ = fmt.Fprintf(complaints, "demo: %v\n", err)
	}
	if *dir == "" {
		_, _ = fmt.Fprintln(complaints, "demo: to read the logs of all who took part, run it again with -dir FOLDER")
	}
	return exitBad
}

// defaultBinary is where the controller lies unless a flag says otherwise.
func defaultBinary() string {
	if named := os.Getenv(binaryVariable); named != "" {
		return named
	}
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "..", "..", "..", "bin", "noderotation")
}

// isTerminal tells whether a person looks at the file.
func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
