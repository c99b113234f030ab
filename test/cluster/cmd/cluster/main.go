// SPDX-License-Identifier: Apache-2.0

// cluster builds the control plane for tests and demonstrations, or keeps one running until it is interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"noderotation.io/noderotation/test/cluster"
)

const usage = `usage: cluster COMMAND

  build         compile the control plane and print the path of the executable
  assets        do so and print the folder to set KUBEBUILDER_ASSETS to
  up [-dir D]   start a cluster, print the path of its kubeconfig, and keep it until Ctrl-C
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run carries out one command: what it yields goes to standard output, what it is doing to standard error.
func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no command given\n%s", usage)
	}
	switch args[0] {
	case "build":
		return printResult(cluster.Build(ctx, os.Stderr))
	case "assets":
		return printResult(cluster.EnvtestAssets(ctx, os.Stderr))
	case "up":
		return up(ctx, args[1:])
	default:
		return fmt.Errorf("no command %q\n%s", args[0], usage)
	}
}

func up(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	dir := flags.String("dir", "", "folder for logs, keys and data, which is kept (default: a temporary one)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := cluster.Start(ctx, cluster.Options{Dir: *dir, Log: os.Stderr})
	if err != nil {
		return err
	}
	defer c.Stop()
	fmt.Println(c.Kubeconfig())
	<-ctx.Done()
	return nil
}

func printResult(result string, err error) error {
	if err != nil {
		return err
	}
	fmt.Println(result)
	return nil
}
