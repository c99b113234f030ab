// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// Provider is a cloud provider whose launches can be made to fail for want of capacity.
//
// Like a real cloud it goes on offering a zone that has run out: Karpenter learns of the shortage by launching, gets an
// insufficient-capacity error, and gives that NodeClaim up.
type Provider struct {
	cloudprovider.CloudProvider
	instanceTypes []*cloudprovider.InstanceType
	registrar     *Registrar
	trouble       *TroubleSource
}

// New puts trouble in front of inner, which must register its Nodes through registrar.
func New(
	inner cloudprovider.CloudProvider, instanceTypes []*cloudprovider.InstanceType, registrar *Registrar, trouble *TroubleSource,
) *Provider {
	return &Provider{CloudProvider: inner, instanceTypes: instanceTypes, registrar: registrar, trouble: trouble}
}

// Create launches outside the zones in shortage, and answers cloudprovider.InsufficientCapacityError if the claim allows
// no such launch or if this launch was asked to fail.
func (p *Provider) Create(ctx context.Context, claim *v1.NodeClaim) (*v1.NodeClaim, error) {
	trouble, err := p.trouble.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the trouble asked for: %w", err)
	}
	if trouble.FailingLaunches > 0 {
		spent, err := p.trouble.SpendFailingLaunch(ctx)
		if err != nil {
			return nil, fmt.Errorf("counting a failing launch: %w", err)
		}
		if spent {
			return nil, cloudprovider.NewInsufficientCapacityError(errors.New("this launch was asked to fail"))
		}
	}
	if len(trouble.ShortZones) == 0 {
		return p.CloudProvider.Create(ctx, claim)
	}
	elsewhere, possible := outsideZones(claim, p.instanceTypes, trouble.ShortZones)
	if !possible {
		return nil, cloudprovider.NewInsufficientCapacityError(fmt.Errorf(
			"no capacity left in %s, and the claim allows no other zone", strings.Join(trouble.ShortZones, ", ")))
	}
	return p.CloudProvider.Create(ctx, elsewhere)
}

// Delete terminates the instance, also one whose Node has not registered yet.
func (p *Provider) Delete(ctx context.Context, claim *v1.NodeClaim) error {
	if err := p.registrar.Terminate(ctx, claim.Status.ProviderID); err != nil {
		return err
	}
	return p.CloudProvider.Delete(ctx, claim)
}

// outsideZones returns a copy of claim that allows only what can be launched outside zones, or false if nothing can.
//
// The kwok provider picks from the claim's instance types and takes for granted that each has an offering, hence only
// those that still have one are left in.
func outsideZones(claim *v1.NodeClaim, types []*cloudprovider.InstanceType, zones []string) (*v1.NodeClaim, bool) {
	narrowed := claim.DeepCopy()
	narrowed.Spec.Requirements = append(narrowed.Spec.Requirements, v1.NodeSelectorRequirementWithMinValues{
		Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpNotIn, Values: zones,
	})
	allowed := scheduling.NewNodeSelectorRequirementsWithMinValues(narrowed.Spec.Requirements...)
	wanted := allowed.Get(corev1.LabelInstanceTypeStable)
	var launchable []string
	for _, candidate := range types {
		if wanted.Has(candidate.Name) && candidate.Offerings.Available().HasCompatible(allowed) {
			launchable = append(launchable, candidate.Name)
		}
	}
	for i, requirement := range narrowed.Spec.Requirements {
		if requirement.Key == corev1.LabelInstanceTypeStable {
			narrowed.Spec.Requirements[i] = v1.NodeSelectorRequirementWithMinValues{
				Key: requirement.Key, Operator: corev1.NodeSelectorOpIn, Values: launchable,
			}
		}
	}
	return narrowed, len(launchable) > 0
}
