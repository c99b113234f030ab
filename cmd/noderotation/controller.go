// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"noderotation.io/noderotation"
	"noderotation.io/noderotation/controller"
)

// The namespace that a Pod runs in, where the flag does not say.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// controllerFlags are the flags of `noderotation controller`.
type controllerFlags struct {
	kubeconfig  string
	transitions string
	logFormat   string
	logLevel    string
	options     controller.Options
}

func newControllerCommand() *cobra.Command {
	flags := &controllerFlags{}
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the controller",
		Long: "Run the controller: it checks that the cluster has what it needs, waits to lead, removes what an earlier\n" +
			"process may have left behind, and then rotates nodes as the RotationPolicies and the table say.\n\n" +
			"With --dry-run it logs what it would do with the cluster as it is, one line for each action and again only\n" +
			"when that changes, and writes nothing but its own lease, noderotation-dry-run. It may run beside a controller\n" +
			"that acts. It does not imagine what would come of its actions: a rotation that nobody starts is one that\n" +
			"would start, for as long as that is so. It tells no Events, keeps no status, sweeps nothing, and serves none\n" +
			"of the rotations' metrics.",
		Example: "  # What would a controller do here, under a table of mine?\n" +
			"  noderotation controller --dry-run --transitions mine.yaml --log-format console",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd.Context()) },
	}
	flags.bind(cmd.Flags())
	return cmd
}

func (f *controllerFlags) bind(set *pflag.FlagSet) {
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig to use; default: the Pod's service account, else $KUBECONFIG, else the user's own")
	set.StringVar(&f.transitions, "transitions", "", "file with the transition table to use in place of the built-in one; one that breaks a law is refused")
	set.StringVar(&f.logFormat, "log-format", "json", "json or console")
	set.StringVar(&f.logLevel, "log-level", "info", "debug, info or error")
	set.StringVar(&f.options.Settings.Namespace, "namespace", "", "namespace of the placeholder Pods and the lease; default: the Pod's own, else noderotation-system")
	set.StringVar(&f.options.Settings.PauseImage, "pause-image", "registry.k8s.io/pause:3.10", "image of the placeholder Pods")
	set.StringSliceVar(&f.options.Settings.PullSecrets, "pause-image-pull-secret", nil, "Secret in the controller's namespace that the placeholder's image is pulled with; may be given more than once")
	set.StringVar(&f.options.Settings.PriorityClass, "placeholder-priority-class", "noderotation-placeholder", "PriorityClass of the placeholder Pods: of negative value, never preempting; empty for none")
	set.StringVar(&f.options.MetricsAddress, "metrics-bind-address", ":8080", "address of the metrics; 0 turns them off")
	set.StringVar(&f.options.ProbeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 turns them off")
	set.BoolVar(&f.options.DryRun, "dry-run", false, "log what would be done with the cluster as it is, and write nothing but a lease of its own")
	set.IntVar(&f.options.Passes, "concurrent-passes", 4, "NodePools that are worked on side by side")
	set.BoolVar(&f.options.LeaderElection, "leader-elect", true, "act only while holding the lease; turn off only where a single process runs")
	set.DurationVar(&f.options.LeaseDuration, "leader-elect-lease-duration", controller.DefaultLeaseDuration, "how long a leader that is gone is waited for")
	set.DurationVar(&f.options.RenewDeadline, "leader-elect-renew-deadline", controller.DefaultRenewDeadline, "how long a leader tries to renew before it gives up")
	set.DurationVar(&f.options.RetryPeriod, "leader-elect-retry-period", controller.DefaultRetryPeriod, "how long to wait between tries")
}

func (f *controllerFlags) run(ctx context.Context) error {
	if err := f.check(); err != nil {
		return err
	}
	log, err := f.logger()
	if err != nil {
		return err
	}
	ctrl.SetLogger(log)
	klog.SetLogger(log.WithName("client"))
	if f.options.Machine, err = f.table(); err != nil {
		return err
	}
	config, err := f.config()
	if err != nil {
		return err
	}
	f.options.Settings.Namespace = f.namespace()
	f.options.Clock, f.options.Log = clock.RealClock{}, log
	log.Info("starting", "version", versionOf(), "namespace", f.options.Settings.Namespace, "transitions", f.tableName(), "dryRun", f.options.DryRun)
	return untilStopped(controller.Run(ctx, config, f.options))
}

func (f *controllerFlags) check() error {
	var problems []error
	if f.options.Passes < 1 {
		problems = append(problems, fmt.Errorf("--concurrent-passes is %d; set it to 1 or more", f.options.Passes))
	}
	if f.options.Settings.PauseImage == "" {
		problems = append(problems, errors.New("--pause-image is empty; name an image that your nodes can pull"))
	}
	return errors.Join(problems...)
}

func (f *controllerFlags) tableName() string {
	if f.transitions == "" {
		return "built-in"
	}
	return f.transitions
}

// table loads the table in force. A table that breaks a law is refused with all that is wrong.
func (f *controllerFlags) table() (*controller.Machine, error) {
	name, data := noderotation.TransitionsFile, noderotation.Transitions
	if f.transitions != "" {
		content, err := os.ReadFile(f.transitions)
		if err != nil {
			return nil, fmt.Errorf("--transitions: the table cannot be read: %w", err)
		}
		name, data = f.transitions, content
	}
	table, err := controller.LoadTable(name, data)
	if err != nil {
		return nil, fmt.Errorf("the transition table is refused:\n%w", err)
	}
	return table, nil
}

func (f *controllerFlags) config() (*rest.Config, error) {
	config, err := restConfig(f.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("no cluster to talk to: run in a Pod, or name a kubeconfig with --kubeconfig or $KUBECONFIG: %w", err)
	}
	return config, nil
}

// restConfig leads to the cluster of a kubeconfig; of the default one, or of the Pod's service account, where none is named.
func restConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.UserAgent = "noderotation/" + versionOf()
	config.QPS, config.Burst = 50, 100
	return config, nil
}

func (f *controllerFlags) namespace() string {
	if f.options.Settings.Namespace != "" {
		return f.options.Settings.Namespace
	}
	if content, err := os.ReadFile(namespaceFile); err == nil {
		return strings.TrimSpace(string(content))
	}
	return "noderotation-system"
}

func (f *controllerFlags) logger() (logr.Logger, error) {
	var level zapcore.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return logr.Logger{}, fmt.Errorf("--log-level is %q; set it to debug, info or error", f.logLevel)
	}
	options := []zap.Opts{zap.Level(level), zap.StacktraceLevel(zapcore.PanicLevel)}
	switch f.logFormat {
	case "json":
		options = append(options, zap.JSONEncoder(func(c *zapcore.EncoderConfig) { c.EncodeTime = zapcore.RFC3339NanoTimeEncoder }))
	case "console":
		options = append(options, zap.ConsoleEncoder(func(c *zapcore.EncoderConfig) { c.EncodeTime = zapcore.ISO8601TimeEncoder }))
	default:
		return logr.Logger{}, fmt.Errorf("--log-format is %q; set it to json or console", f.logFormat)
	}
	return zap.New(options...), nil
}
