// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"noderotation.io/noderotation/cmd/noderotation/inspect"
	"noderotation.io/noderotation/controller"
)

// clusterFlags say which cluster a person asks, as kubectl's do, and how the answer is written.
type clusterFlags struct {
	kubeconfig, context string
	namespace           string
	transitions         string
	output              string
}

func (f *clusterFlags) bind(set *pflag.FlagSet) {
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig to use; default: $KUBECONFIG, else the user's own")
	set.StringVar(&f.context, "context", "", "context of the kubeconfig; default: its current one")
	set.StringVarP(&f.output, "output", "o", "", "table, wide, json or yaml (default \"table\")")
}

// bindTable adds the flags of a command that decides by the table.
func (f *clusterFlags) bindTable(set *pflag.FlagSet) {
	set.StringVar(&f.transitions, "transitions", "", "file with the transition table to decide by, where the controller runs another than the built-in one")
	set.StringVarP(&f.namespace, "namespace", "n", "noderotation-system", "namespace of the controller, to name the placeholder that a row would create")
}

// client talks to the cluster with the person's own rights.
func (f *clusterFlags) client() (client.Client, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context}).ClientConfig()
	if err != nil {
		if problem := missingKubeconfig(f.kubeconfig); problem != nil {
			return nil, fmt.Errorf("no cluster to ask: %w", problem)
		}
		return nil, fmt.Errorf("no cluster to ask: name a kubeconfig with --kubeconfig or $KUBECONFIG, and a context of it with --context: %w", err)
	}
	config.UserAgent = "noderotation/" + versionOf()
	config.QPS, config.Burst = 50, 100
	scheme, err := controller.NewScheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", config.Host, inspect.Explain("get", err))
	}
	return c, nil
}

// missingKubeconfig is what is wrong where no flag names a kubeconfig and $KUBECONFIG names none that is there: client-go passes
// over those, and then says only that it has none.
func missingKubeconfig(flag string) error {
	named := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	if flag != "" || named == "" {
		return nil
	}
	for _, file := range filepath.SplitList(named) {
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return fmt.Errorf("$KUBECONFIG names %s, which does not exist; set it to a kubeconfig, or name one with --kubeconfig", named)
}

// oneName has a command take one name of what it is about.
func oneName(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return fmt.Errorf("%s is named: write one, such as %s api", what, cmd.CommandPath())
		case 1:
			return nil
		default:
			return fmt.Errorf("%d names are given, and one is asked about at a time: %s", len(args), strings.Join(args, ", "))
		}
	}
}

// inspector looks at the cluster by the table in force, now.
func (f *clusterFlags) inspector() (*inspect.Inspector, client.Client, error) {
	table := controllerFlags{transitions: f.transitions}
	machine, err := table.table()
	if err != nil {
		return nil, nil, err
	}
	c, err := f.client()
	if err != nil {
		return nil, nil, err
	}
	name := "built-in table of noderotation " + versionOf()
	if f.transitions != "" {
		name = "table " + f.transitions
	}
	return &inspect.Inspector{Server: c, Machine: machine, Table: name, Namespace: f.namespace, Now: clock.RealClock{}.Now().Truncate(time.Second)}, c, nil
}

// answer has the inspector answer a question, and writes what it tells.
func answer[A inspect.Answer](cmd *cobra.Command, f *clusterFlags, ask func(context.Context, *inspect.Inspector) (A, error)) error {
	format, err := inspect.ParseFormat(f.output)
	if err != nil {
		return err
	}
	inspector, _, err := f.inspector()
	if err != nil {
		return err
	}
	told, err := ask(cmd.Context(), inspector)
	if err != nil {
		return inspect.Explain("list", err)
	}
	return inspect.Write(cmd.OutOrStdout(), told, format)
}

// completionPatience is how long a person waits for the names that a cluster suggests.
const completionPatience = 3 * time.Second

// complete suggests names from the cluster: those of NodePools, or of all that can be asked about. At most so many are
// taken; 0 for any number.
func (f *clusterFlags) complete(poolsOnly bool, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		c, err := f.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		ctx, stop := context.WithTimeout(cmd.Context(), completionPatience)
		defer stop()
		return (&inspect.Inspector{Server: c}).Names(ctx, poolsOnly), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlags suggests the values of the flags that every command has.
func (f *clusterFlags) completeFlags(cmd *cobra.Command) {
	formats := cobra.FixedCompletions(inspect.Formats(), cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc("output", formats); err != nil {
		panic(err)
	}
	contexts := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = f.kubeconfig
		config, err := rules.Load()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for name := range config.Contexts {
			names = append(names, name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	if err := cmd.RegisterFlagCompletionFunc("context", contexts); err != nil {
		panic(err)
	}
}
