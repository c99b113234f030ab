// SPDX-License-Identifier: Apache-2.0

// clusterbin is a whole control plane, kwok and Karpenter in one executable.
//
// The part that runs is chosen by the name the executable is called by (a link named kube-apiserver runs the API server,
// which is how envtest finds it) or, failing that, by the first argument. `clusterbin crds` prints the custom resource
// definitions that the built-in Karpenter and its kwok provider expect, so that they can never be of another version.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// parts maps the name of a part to its main function, which finds its own name and arguments in os.Args.
var parts = map[string]func() int{
	"crds":                    printCRDs,
	"etcd":                    runEtcd,
	"karpenter":               runKarpenter,
	"kube-apiserver":          runAPIServer,
	"kube-controller-manager": runControllerManager,
	"kube-scheduler":          runScheduler,
	"kwok":                    runKwok,
}

func main() {
	os.Args[0] = filepath.Base(os.Args[0])
	if _, known := parts[os.Args[0]]; !known && len(os.Args) > 1 {
		os.Args = os.Args[1:]
	}
	run, known := parts[os.Args[0]]
	if !known {
		names := slices.Sorted(maps.Keys(parts))
		fmt.Fprintf(os.Stderr, "clusterbin has no part named %q: name one of %s as the first argument\n",
			os.Args[0], strings.Join(names, ", "))
		os.Exit(2)
	}
	endWithStarter()
	os.Exit(run())
}
