// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"noderotation.io/noderotation/controller"
	"noderotation.io/noderotation/effects"
	"noderotation.io/noderotation/guards"
	"noderotation.io/noderotation/machine"
	"noderotation.io/noderotation/sim/scripts"
)

func newTableTestCommand() *cobra.Command {
	var directory, output string
	var all bool
	cmd := &cobra.Command{
		Use:   "test [FILE]",
		Short: "Replay the scenario scripts on a table, and show the traces that differ",
		Long: "Replay the scenario scripts on the table in FILE, - for standard input, or on the built-in one, and show where a trace is\n" +
			"not the one in the script: \"-\" stands before what the script has, \"+\" before what came. Of each scenario that is the\n" +
			"first step that differs; what comes after it mostly follows from it, and --all shows that too. A table that breaks a law\n" +
			"is played all the same, and the laws are told.\n\n" +
			"The exit status is 0 if all scenarios come out as written, 1 if one does not, and 2 if they cannot be played." + orRevision,
		Example: "  noderotation table test my-transitions.yaml\n" +
			"  noderotation table test my-transitions.yaml --scenarios sim/scripts/testdata --all",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			table, err := newTableSource(cmd.InOrStdin()).named(cmd.Context(), namedOrBuiltin(args))
			if err != nil {
				return &statusError{Status: statusTrouble, Err: err}
			}
			r, err := replayed(table, directory)
			if err == nil {
				err = tellReplay(cmd.OutOrStdout(), r, output, all)
			}
			switch {
			case err != nil:
				return &statusError{Status: statusTrouble, Err: err}
			case len(r.Differing) > 0:
				return &statusError{Status: statusChanged}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&directory, "scenarios", "", "directory with the scripts, *.txt; default: those that are built in")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	cmd.Flags().BoolVar(&all, "all", false, "show every step that differs, not only the first of each scenario")
	return judging(cmd)
}

// replay is what came of the scenarios on a table.
type replay struct {
	Table string `json:"table"`
	// Problems are the laws that the table breaks.
	Problems []problem `json:"problems"`
	// Scenarios counts those that were played.
	Scenarios int `json:"scenarios"`
	// Differing has those that came out differently.
	Differing []scenario `json:"differing"`
}

// scenario is a script that came out differently.
type scenario struct {
	File     string   `json:"file"`
	Title    string   `json:"title"`
	Sections []string `json:"sections"`
	// Steps whose traces differ, in order.
	Steps []differingStep `json:"steps"`
	// Ends says why it could not be played to its end; empty where it was.
	Ends string `json:"ends,omitempty"`
}

// differingStep is a step with the lines of both traces, marked as scripts.Difference has them.
type differingStep struct {
	Line  int      `json:"line"`
	Text  string   `json:"text"`
	Trace []string `json:"trace"`
}

// replayed plays the scripts of a directory on a table, whether or not it obeys the laws.
func replayed(table *machine.Table, directory string) (replay, error) {
	r := replay{Table: table.Name, Problems: []problem{}, Differing: []scenario{}}
	registry, err := effects.Registry(guards.All())
	if err != nil {
		return r, fmt.Errorf("guards and effects do not fit together: %w", err)
	}
	m, err := machine.Compile(table, registry, nil)
	if err != nil {
		return r, fmt.Errorf("the table cannot be played:\n%w", err)
	}
	laws := controller.Laws()
	r.Problems = problemsOf(m.Model().Check(laws), laws)

	files, name := scripts.Library(), "built-in"
	if directory != "" {
		files, name = os.DirFS(directory), directory
	}
	all, err := scripts.ReadAll(files, name)
	if err != nil {
		return r, err
	}
	r.Scenarios = len(all)
	for _, script := range all {
		if s := played(script, m); len(s.Steps) > 0 || s.Ends != "" {
			r.Differing = append(r.Differing, s)
		}
	}
	return r, nil
}

// played is what differs in one script. That a step cannot be made any more is a difference like any other.
func played(script *scripts.Script, m *controller.Machine) scenario {
	s := scenario{File: script.File, Title: script.Title, Sections: script.Sections, Steps: []differingStep{}}
	ran, err := script.Run(m)
	if ran != nil {
		for _, d := range script.Differences(ran.Document) {
			s.Steps = append(s.Steps, differingStep{d.Line, d.Text, d.Lines})
		}
	}
	if problem := (scripts.Problem{}); errors.As(err, &problem) {
		s.Ends = fmt.Sprintf("line %d: %s", problem.Line, problem.Message)
	} else if err != nil {
		s.Ends = err.Error()
	}
	return s
}

func tellReplay(out io.Writer, r replay, form string, all bool) error {
	switch form {
	case "text":
		_, err := io.WriteString(out, r.text(all))
		return err
	case "json":
		return writeJSON(out, r)
	}
	return fmt.Errorf("--output is %q; set it to text or json", form)
}

// text has the whole in a line, the laws, and then each scenario by itself.
func (r replay) text(all bool) string {
	var b strings.Builder
	if len(r.Differing) == 0 {
		fmt.Fprintf(&b, "All %s come out as written on the table %s.\n", counted(r.Scenarios, "scenario"), r.Table)
	} else {
		fmt.Fprintf(&b, "%d of %s come out differently on the table %s.\n", len(r.Differing), counted(r.Scenarios, "scenario"), r.Table)
	}
	if len(r.Problems) > 0 {
		b.WriteString("The table would be refused; it was played all the same:\n")
		for _, p := range r.Problems {
			b.WriteString("  " + p.text + "\n")
		}
	}
	for _, s := range r.Differing {
		fmt.Fprintf(&b, "\n%s (%s)\n%s\n", s.Title, strings.Join(s.Sections, ", "), s.File)
		s.write(&b, all)
	}
	return b.String()
}

// write writes the steps that differ, or the first of them.
func (s scenario) write(b *strings.Builder, all bool) {
	steps := s.Steps
	if !all && len(steps) > 1 {
		steps = steps[:1]
	}
	for _, step := range steps {
		fmt.Fprintf(b, "  line %d: > %s\n    %s\n", step.Line, step.Text, strings.Join(step.Trace, "\n    "))
	}
	if more := len(s.Steps) - len(steps); more > 0 {
		fmt.Fprintf(b, "  %s after it; --all shows what\n", differ(more))
	}
	if s.Ends != "" {
		fmt.Fprintf(b, "  it ends early, at %s\n", s.Ends)
	}
}

// differ is how many steps differ, in words.
func differ(n int) string {
	if n == 1 {
		return "1 step differs"
	}
	return fmt.Sprintf("%d steps differ", n)
}
