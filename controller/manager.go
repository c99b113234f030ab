// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"noderotation.io/noderotation/api/v1alpha1"
	"noderotation.io/noderotation/rotation"
)

// The names of the lease that the leader holds, and of that of a controller that only rehearses beside it.
const (
	LeaseName          = "noderotation"
	RehearsalLeaseName = "noderotation-dry-run"
)

// The timing of the election unless an installation chooses another, and the term that comes of it: enough for the requests
// of any pass to an API server that is slow to answer.
const (
	DefaultLeaseDuration = 25 * time.Second
	DefaultRenewDeadline = 10 * time.Second
	DefaultRetryPeriod   = 2 * time.Second
	DefaultTerm          = DefaultLeaseDuration - DefaultRenewDeadline - DefaultRetryPeriod - DefaultRenewDeadline/2
)

// Options are the installation's choices.
type Options struct {
	// Settings of the placeholder; its namespace also holds the lease.
	Settings rotation.Settings
	// Machine runs the table.
	Machine *Machine
	// LeaderElection is off only for a single process, such as one on a developer's machine.
	LeaderElection bool
	// LeaseDuration, RenewDeadline and RetryPeriod time the election.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// MetricsAddress and ProbeAddress to listen on; "0" turns one off.
	MetricsAddress, ProbeAddress string
	// Passes is how many NodePools are worked on side by side.
	Passes int
	// DryRun logs what would be done, and writes nothing but a lease of its own: no sweep, no Event, no status, and no
	// series of rotations, which would stand beside those of the controller that does it.
	DryRun bool
	// Clock tells the time of every decision.
	Clock clock.WithTicker
	Log   logr.Logger
}

// term is how long a process still leads for sure at any moment at which it has not noticed that it does not. Another process
// may lead once LeaseDuration has passed since the lease was last written. Client-go's elector hears of that within the
// request's timeout, tries again RetryPeriod later, and gives up once it has failed for RenewDeadline.
func (o *Options) term() time.Duration {
	return o.LeaseDuration - o.requestTimeout() - o.RetryPeriod - o.RenewDeadline
}

// requestTimeout is how long the manager's elector waits for an answer.
func (o *Options) requestTimeout() time.Duration { return max(o.RenewDeadline/2, time.Second) }

// checkTerm refuses a timing that leaves a pass no time to write.
func (o *Options) checkTerm() error {
	if !o.LeaderElection || o.term() > 0 {
		return nil
	}
	return fmt.Errorf("a lease of %s is too short for a leader that renews it every %s, waits %s for an answer and tries for %s: a pass may write "+
		"only while no other process can lead, which is for what is left of the lease; let it last longer than %s",
		o.LeaseDuration, o.RetryPeriod, o.requestTimeout(), o.RenewDeadline, o.requestTimeout()+o.RetryPeriod+o.RenewDeadline)
}

// Run is the controller: it checks the cluster, waits to lead, sweeps, and reconciles until ctx ends. It returns nil on an
// ordinary end.
func Run(ctx context.Context, config *rest.Config, o Options) error {
	if err := o.checkTerm(); err != nil {
		return err
	}
	if err := Preflight(ctx, config, o.Settings.Namespace, o.LeaderElection); err != nil {
		return err
	}
	scheme, err := NewScheme()
	if err != nil {
		return err
	}
	options := manager.Options{
		Scheme:                        scheme,
		Logger:                        quietEnd(ctx, o.Log),
		Cache:                         CacheOptions(),
		LeaderElection:                o.LeaderElection,
		LeaderElectionID:              LeaseName,
		LeaderElectionNamespace:       o.Settings.Namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.LeaseDuration,
		RenewDeadline:                 &o.RenewDeadline,
		RetryPeriod:                   &o.RetryPeriod,
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress:        o.ProbeAddress,
	}
	if o.DryRun {
		if options.LeaderElectionResourceLockInterface, err = rehearsalLock(config, &o); err != nil {
			return err
		}
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return fmt.Errorf("the manager cannot be set up: %w", err)
	}
	if err := assemble(ctx, mgr, o); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("the manager ended: %w", err)
	}
	return nil
}

// assemble puts the parts of the controller together on the manager.
func assemble(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if err := startInformers(ctx, mgr); err != nil {
		return err
	}
	shelved, err := shelve(ctx, mgr.GetCache())
	if err != nil {
		return err
	}
	policies := NewPolicies(shelved)
	reconciler := &Reconciler{
		Reader:  &Reader{Cache: shelved, Policies: policies, Settings: o.Settings},
		Machine: o.Machine, Own: NewOwnWrites(), Gate: NewGate(), Clock: o.Clock,
	}
	equip := acts
	if o.DryRun {
		equip = rehearses
	}
	if err := equip(mgr, shelved, reconciler, o); err != nil {
		return err
	}
	if err := reconciler.SetupWithManager(mgr, o.Passes); err != nil {
		return fmt.Errorf("the rotation controller cannot be set up: %w", err)
	}
	return addProbes(mgr)
}

// acts gives the reconciler the hands to carry decisions out, and has the startup sweep made and the policies' status
// kept.
func acts(mgr ctrl.Manager, shelved *shelvedCache, r *Reconciler, o Options) error {
	server, err := client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), Cache: &client.CacheOptions{Reader: shelved},
	})
	if err != nil {
		return fmt.Errorf("the client cannot be set up: %w", err)
	}
	series, err := NewMetrics(metrics.Registry, o.Machine.Table().RowIDs()...)
	if err != nil {
		return err
	}
	r.Announcer = NewAnnouncer(mgr.GetEventRecorder(LeaseName), series)
	r.Applier = &Applier{Client: server, Own: r.Own, Teller: r.Announcer, Clock: o.Clock}
	if o.LeaderElection {
		r.Applier.Term = o.term()
		r.Applier.Pulse = &Pulse{Clock: o.Clock, Limit: o.term()}
		if err := mgr.Add(r.Applier.Pulse); err != nil {
			return fmt.Errorf("the leader's pulse cannot be set up: %w", err)
		}
	}
	r.Sweep = &Sweep{Cache: shelved, Live: mgr.GetAPIReader(), Applier: r.Applier, Clock: o.Clock, Settings: o.Settings}
	r.Board = NewBoard()
	status := &RotationPolicyStatusReconciler{Client: server, Policies: r.Reader.Policies, Board: r.Board, Clock: o.Clock}
	if err := status.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("the policy status controller cannot be set up: %w", err)
	}
	if err := mgr.Add(startupSweep{r.Sweep, r.Gate, o.Log}); err != nil {
		return fmt.Errorf("the startup sweep cannot be set up: %w", err)
	}
	return nil
}

// rehearses gives the reconciler no hands. Its announcer logs what lasts; nobody scrapes its series.
func rehearses(_ ctrl.Manager, _ *shelvedCache, r *Reconciler, _ Options) error {
	series, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		return err
	}
	r.Announcer = NewAnnouncer(unheard{}, series)
	r.Rehearsal = NewRehearsal()
	r.Gate.Open()
	return nil
}

// startInformers has every kind watched from the start: a pass must not wait for a cache, and the readiness probe
// speaks for all of them.
func startInformers(ctx context.Context, mgr ctrl.Manager) error {
	for _, object := range []client.Object{
		&karpenterv1.NodePool{}, &karpenterv1.NodeClaim{}, &corev1.Node{}, &corev1.Pod{},
		&policyv1.PodDisruptionBudget{}, &v1alpha1.RotationPolicy{},
	} {
		if _, err := mgr.GetCache().GetInformer(ctx, object); err != nil {
			return fmt.Errorf("%T cannot be watched: %w", object, err)
		}
	}
	return nil
}

// addProbes answers /healthz while the process lives and /readyz once every cache is filled.
func addProbes(mgr ctrl.Manager) error {
	return errors.Join(mgr.AddHealthzCheck("alive", healthz.Ping), mgr.AddReadyzCheck("caches", cachesFilled(mgr.GetCache().WaitForCacheSync)))
}

// cachesFilled is a probe that waits a second for the caches at most: the kubelet asks again.
func cachesFilled(wait func(context.Context) bool) healthz.Checker {
	return func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), time.Second)
		defer cancel()
		if !wait(ctx) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}
}

// startupSweep runs once, when this process has become the leader, and lets the passes through when it is done. The
// manager starts it with the caches filled.
type startupSweep struct {
	sweep *Sweep
	gate  *Gate
	log   logr.Logger
}

// Start sweeps and opens the gate.
func (s startupSweep) Start(ctx context.Context) error {
	ctx = logr.NewContext(ctx, s.log.WithName("sweep"))
	if err := s.sweep.Everything(ctx); err != nil {
		return err
	}
	s.gate.Open()
	return nil
}

// NeedLeaderElection keeps a follower from sweeping under the leader's feet.
func (startupSweep) NeedLeaderElection() bool { return true }
