// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Grant is one verb on one resource, everywhere or in one namespace.
type Grant struct {
	Namespace string // empty: everywhere
	Group     string
	Resource  string // with its subresource: "rotationpolicies/status"
	Verb      string
}

// String is the grant in the words of RBAC.
func (g Grant) String() string {
	where := "everywhere"
	if g.Namespace != "" {
		where = "in " + g.Namespace
	}
	return fmt.Sprintf("%s %s.%s %s", g.Verb, g.Resource, g.Group, where)
}

// Granted lists what the roles among the manifests grant, verb by verb.
func Granted(manifests []byte) ([]Grant, error) {
	var all []Grant
	for documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifests))); ; {
		one, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the roles cannot be read: %w", err)
		}
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := yaml.Unmarshal(one, &role); err != nil {
			return nil, fmt.Errorf("the roles cannot be read: %w", err)
		}
		if role.Kind == "ClusterRole" || role.Kind == "Role" {
			all = append(all, grantsOf(role)...)
		}
	}
}

func grantsOf(role rbacv1.ClusterRole) []Grant {
	var all []Grant
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, Grant{role.Namespace, group, resource, verb})
				}
			}
		}
	}
	return all
}

// Needs is the grant that the request needs at least, in the request's own namespace.
func (r Record) Needs() Grant {
	resource := r.ObjectRef.Resource
	if r.ObjectRef.Subresource != "" {
		resource += "/" + r.ObjectRef.Subresource
	}
	return Grant{r.ObjectRef.Namespace, r.ObjectRef.APIGroup, resource, r.Verb}
}

// Unused returns the grants that none of the needs has used. A grant that holds everywhere is used anywhere.
func Unused(granted, needed []Grant) []Grant {
	return slices.DeleteFunc(slices.Clone(granted), func(grant Grant) bool {
		return slices.ContainsFunc(needed, func(need Grant) bool {
			if grant.Namespace == "" {
				need.Namespace = ""
			}
			return need == grant
		})
	})
}
