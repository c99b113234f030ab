// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"noderotation.io/noderotation/sim/simulate"
	"noderotation.io/noderotation/sim/simulate/report"
)

// simulateFlags are the flags of `noderotation simulate`.
type simulateFlags struct {
	controllerFlags

	span, start string
	seed        uint64
	fromCluster bool
	output      string
	report      string
	trouble     troubleFlags
}

func newSimulateCommand() *cobra.Command {
	flags := &simulateFlags{}
	cmd := &cobra.Command{
		Use:   "simulate [FILE or DIRECTORY]...",
		Short: "Try policies on a simulated fleet: what would become of every node",
		Long: "Try policies on a simulated fleet. The input is YAML: RotationPolicies and NodePools with their NodeClaims, Nodes,\n" +
			"Pods and PodDisruptionBudgets as kubectl prints them, or a short `kind: Fleet`; and, if you like, a\n" +
			"`kind: Trouble` and a `kind: Simulation`. See examples/. - reads standard input. The exit status is 1 when a node\n" +
			"expired or a finding is fatal.\n\n" +
			"With --from-cluster, what a file has stands in for the cluster's object of the same kind and name: so a change is\n" +
			"tried on the cluster as it is. Each is named on standard error.",
		Example: "  noderotation simulate examples/healthy\n" +
			"  noderotation simulate --from-cluster --for 60d --report report.html\n" +
			"  noderotation simulate examples/healthy --shortage 4d17h+2h --outage 11d16h+6h",
		RunE: func(cmd *cobra.Command, args []string) error { return flags.simulate(cmd, args) },
	}
	flags.bindSimulation(cmd.Flags())
	return cmd
}

func (f *simulateFlags) bindSimulation(set *pflag.FlagSet) {
	set.StringVar(&f.span, "for", "", "how long to simulate, such as 60d; default: the input's Simulation, else 30d")
	set.StringVar(&f.start, "start", "", "when to begin, as 2026-01-09T00:00:00Z; default: the input's Simulation, else now")
	set.Uint64Var(&f.seed, "seed", 0, "seed of every chance; default: the input's Simulation, else 1")
	set.BoolVar(&f.fromCluster, "from-cluster", false, "read policies, pools, claims, Nodes, Pods and budgets from the current kubeconfig's cluster")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of --from-cluster; default: $KUBECONFIG, else the user's own")
	set.StringVar(&f.transitions, "transitions", "", "file with the transition table to use in place of the built-in one")
	set.StringVarP(&f.output, "output", "o", "", "json for a result that programs can read")
	set.StringVar(&f.report, "report", "", "write an HTML page about the run to this file")
	f.trouble.bind(set)
}

// unsafeError says that the run was good and the fleet is not.
type unsafeError struct{ verdict simulate.Verdict }

func (e *unsafeError) Error() string {
	switch {
	case e.verdict.Expired == 1:
		return "a node expired"
	case e.verdict.Expired > 1:
		return fmt.Sprintf("%d nodes expired", e.verdict.Expired)
	default:
		return "a finding is fatal"
	}
}

func (f *simulateFlags) simulate(cmd *cobra.Command, args []string) error {
	if f.output != "" && f.output != "json" {
		return fmt.Errorf("--output is %q; set it to json, or leave it out", f.output)
	}
	machine, err := f.table()
	if err != nil {
		return err
	}
	in, err := f.input(cmd, args)
	if err != nil {
		return err
	}
	options, err := f.optionsOf(in, clock.RealClock{}.Now())
	if err != nil {
		return err
	}
	options.Machine, options.Trace = machine, f.report != "" || f.output == "json"
	bar := newProgress(cmd.ErrOrStderr(), clock.RealClock{})
	options.Progress = bar.show
	result, err := simulate.Run(cmd.Context(), in, options)
	bar.clear()
	if err != nil {
		return err
	}
	if err := f.tell(cmd.OutOrStdout(), result); err != nil {
		return err
	}
	if result.Verdict.Bad() {
		return &unsafeError{result.Verdict}
	}
	return nil
}

// tell writes the result in the form that was asked for.
func (f *simulateFlags) tell(out io.Writer, result *simulate.Result) error {
	if f.report != "" {
		file, err := os.Create(f.report)
		if err != nil {
			return fmt.Errorf("--report: the page cannot be written: %w", err)
		}
		if err := errors.Join(report.Write(file, result), file.Close()); err != nil {
			return fmt.Errorf("--report: the page cannot be written: %w", err)
		}
	}
	if f.output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(result)
	}
	return simulate.Timeline{Out: out, Color: os.Getenv("NO_COLOR") == "" && terminal(out)}.Write(result)
}

// optionsOf settles how the run goes: a flag goes before the input's Simulation.
func (f *simulateFlags) optionsOf(in *simulate.Input, now time.Time) (simulate.Options, error) {
	s := in.Simulation
	o := simulate.Options{Start: now, For: 30 * 24 * time.Hour, Seed: s.Seed}
	if s.For != nil {
		o.For = time.Duration(*s.For)
	}
	if !s.Start.At.IsZero() {
		o.Start = s.Start.At
	}
	if f.start != "" {
		start, err := time.Parse(time.RFC3339, f.start)
		if err != nil {
			return o, fmt.Errorf("--start is %q; write a time such as 2026-01-09T00:00:00Z", f.start)
		}
		o.Start = start
	}
	if f.span != "" {
		span, err := simulate.ParseSpan(f.span)
		if err != nil {
			return o, fmt.Errorf("--for: %w", err)
		}
		if span == 0 {
			return o, fmt.Errorf("--for is %s; write how long to simulate, such as 60d", f.span)
		}
		o.For = time.Duration(span)
	}
	if f.seed != 0 {
		o.Seed = f.seed
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	return o, nil
}

// input reads all that was named.
func (f *simulateFlags) input(cmd *cobra.Command, args []string) (*simulate.Input, error) {
	in := &simulate.Input{}
	if len(args) == 0 && !f.fromCluster {
		return nil, errors.New("nothing to simulate: name files or directories with manifests, such as examples/healthy, or use --from-cluster")
	}
	if f.fromCluster {
		if err := f.readCluster(cmd.Context(), in); err != nil {
			return nil, err
		}
	}
	var problems []error
	for _, arg := range args {
		problems = append(problems, read(in, arg, cmd.InOrStdin()))
	}
	trouble, err := f.trouble.trouble()
	problems = append(problems, err)
	if trouble != nil {
		in.Troubles = append(in.Troubles, trouble)
	}
	for _, told := range slices.Concat(in.StandIn(), in.LeaveOut()) {
		cmd.PrintErrln(told)
	}
	return in, errors.Join(problems...)
}

// read takes a file in, every YAML file of a directory, or standard input.
func read(in *simulate.Input, name string, stdin io.Reader) error {
	if name == "-" {
		data, err := io.ReadAll(stdin)
		if err != nil {
			return fmt.Errorf("standard input cannot be read: %w", err)
		}
		return in.Read("standard input", data)
	}
	info, err := os.Stat(name)
	if err != nil {
		return fmt.Errorf("the input cannot be read: %w", err)
	}
	files := []string{name}
	if info.IsDir() {
		if files, err = manifests(name); err != nil {
			return err
		}
	}
	var problems []error
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			problems = append(problems, fmt.Errorf("the input cannot be read: %w", err))
			continue
		}
		problems = append(problems, in.Read(file, data))
	}
	return errors.Join(problems...)
}

func manifests(directory string) ([]string, error) {
	var files []string
	for _, pattern := range []string{"*.yaml", "*.yml", "*.json"} {
		found, err := filepath.Glob(filepath.Join(directory, pattern))
		if err != nil {
			return nil, fmt.Errorf("the directory %s cannot be read: %w", directory, err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the directory %s has no .yaml, .yml or .json file", directory)
	}
	slices.Sort(files)
	return files, nil
}
