// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Where the trouble asked for is written down, and under which keys.
//
// package cluster writes the same ConfigMap; the names are part of the contract between the two modules.
const (
	TroubleNamespace   = "kube-system"
	TroubleName        = "cluster-trouble"
	KeyShortZones      = "shortage-zones"   // zones separated by commas
	KeyFailingLaunches = "failing-launches" // how many of the next launches fail, wherever they go
)

// Trouble is what the cloud suffers from at one moment.
type Trouble struct {
	ShortZones      []string
	FailingLaunches int
}

// TroubleSource reads trouble from the API server itself, never from a cache that lags behind the test.
type TroubleSource struct {
	reader client.Reader
	writer client.Writer
}

// NewTroubleSource returns a source that reads with reader, which must not be a cache, and writes with writer.
func NewTroubleSource(reader client.Reader, writer client.Writer) *TroubleSource {
	return &TroubleSource{reader: reader, writer: writer}
}

// Read returns the present trouble; a missing ConfigMap is no trouble at all.
func (s *TroubleSource) Read(ctx context.Context) (Trouble, error) {
	written, err := s.get(ctx)
	if apierrors.IsNotFound(err) {
		return Trouble{}, nil
	}
	if err != nil {
		return Trouble{}, err
	}
	return parseTrouble(written.Data)
}

// SpendFailingLaunch takes one off the number of launches that are to fail and reports whether there was one left.
//
// The count lives in the ConfigMap, and the update is conditional on what was read: two launches at once can not spend
// the same failure, and a restart of Karpenter forgets none.
func (s *TroubleSource) SpendFailingLaunch(ctx context.Context) (spent bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		spent = false
		written, err := s.get(ctx)
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		trouble, err := parseTrouble(written.Data)
		if err != nil || trouble.FailingLaunches == 0 {
			return err
		}
		written.Data[KeyFailingLaunches] = strconv.Itoa(trouble.FailingLaunches - 1)
		if err := s.writer.Update(ctx, written); err != nil {
			return err
		}
		spent = true
		return nil
	})
	return spent, err
}

func (s *TroubleSource) get(ctx context.Context) (*corev1.ConfigMap, error) {
	written := &corev1.ConfigMap{}
	err := s.reader.Get(ctx, types.NamespacedName{Namespace: TroubleNamespace, Name: TroubleName}, written)
	return written, err
}

func parseTrouble(data map[string]string) (Trouble, error) {
	var trouble Trouble
	for zone := range strings.SplitSeq(data[KeyShortZones], ",") {
		if zone = strings.TrimSpace(zone); zone != "" {
			trouble.ShortZones = append(trouble.ShortZones, zone)
		}
	}
	if count := strings.TrimSpace(data[KeyFailingLaunches]); count != "" {
		n, err := strconv.ParseUint(count, 10, 31)
		if err != nil {
			return Trouble{}, fmt.Errorf("ConfigMap %s/%s: %s must be a whole number of launches, not %q: correct it or remove it",
				TroubleNamespace, TroubleName, KeyFailingLaunches, count)
		}
		trouble.FailingLaunches = int(n)
	}
	return trouble, nil
}
