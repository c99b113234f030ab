// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // the JSON log format
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client-go's metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version metric
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokapis "sigs.k8s.io/karpenter/kwok/apis"
	"sigs.k8s.io/karpenter/pkg/apis"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	kwoksignals "sigs.k8s.io/kwok/pkg/utils/signals"
)

func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

func runAPIServer() int { return cli.Run(apiserver.NewAPIServerCommand()) }

func runControllerManager() int { return cli.Run(controllermanager.NewControllerManagerCommand()) }

func runScheduler() int { return cli.Run(scheduler.NewSchedulerCommand()) }

// runKwok reads --config before the command proper does: kwok's stages live in the configuration, not in the flags.
//
// Kubernetes registers flags for the whole process, --version among them, which clash with kwok's own.
func runKwok() int {
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	early := pflag.NewFlagSet("early", pflag.ContinueOnError)
	early.ParseErrorsAllowlist.UnknownFlags = true
	early.Usage = func() {}
	ctx, _ := kwoklog.InitFlags(kwoksignals.SetupSignalContext(), early)
	ctx, err := kwokconfig.InitFlags(ctx, early)
	if err != nil {
		fmt.Fprintf(os.Stderr, "kwok's configuration cannot be read: %v\n", err)
		return 1
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(early)
	if err := command.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "kwok ended: %v\n", err)
		return 1
	}
	return 0
}

// printCRDs writes one YAML stream with every definition that Karpenter and its kwok provider need.
func printCRDs() int {
	for _, crd := range [][]byte{
		apis.NodePoolCRD, apis.NodeClaimCRD, apis.NodeOverlayCRD, apis.CapacityBufferCRD, kwokapis.KWOKNodeClassCRD,
	} {
		fmt.Printf("---\n%s\n", crd)
	}
	return 0
}
