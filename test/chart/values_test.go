// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"noderotation.io/noderotation/test/chart/render"
	"noderotation.io/noderotation/test/chart/values"
)

var _ = Describe("The values", func() {
	DescribeTable("are refused where one is wrong", func(ctx SpecContext, setting, complaint string) {
		_, err := render.Template(ctx, named, setting)
		Expect(err).To(MatchError(ContainSubstring(complaint)))
	},
		Entry("a misspelt key", "--set=replica=3", "'replica' not allowed"),
		Entry("a misspelt key deeper down", "--set=metrics.serviceMonitor.enable=true", "'enable' not allowed"),
		Entry("a misspelt key of a policy", "--set-json=rotationPolicies=[{\"name\":\"a\",\"specs\":{}}]", "'specs' not allowed"),
		Entry("a number where a switch is", "--set=crds.keep=3", "want boolean"),
		Entry("a tag for a digest", "--set=image.digest=v1.2.3", "does not match pattern"),
		Entry("a placeholder that would preempt workloads", "--set=placeholder.priorityClass.value=0", "maximum"),
		Entry("metrics where the probes are", "--set=metrics.port=8081", "/metrics/port"),
		Entry("a budget that lets no drain pass", "--set-string=podDisruptionBudget.maxUnavailable=0%", "does not match pattern"),
		Entry("a budget that lets none pass in two digits", "--set-string=podDisruptionBudget.maxUnavailable=00%", "does not match pattern"),
		Entry("a budget of more than all", "--set-string=podDisruptionBudget.maxUnavailable=101%", "does not match pattern"),
		Entry("an interval that Prometheus cannot read", "--set=metrics.serviceMonitor.interval=1.5m", "does not match pattern"),
		Entry("a timeout whose units stand in another order", "--set=metrics.serviceMonitor.scrapeTimeout=1s1m", "does not match pattern"),
		Entry("a name that no Service may have", "--set-string=fullnameOverride=1e3", "does not match pattern"),
		Entry("a name that no object may have", "--set=nameOverride=Rotation", "does not match pattern"),
		Entry("an account that cannot be", "--set=serviceAccount.name=The_Rotator", "does not match pattern"),
		Entry("no image", "--set=image.repository=", "image.repository is empty: say where the controller's image is"),
		Entry("no account at all", "--set=serviceAccount.create=false", "serviceAccount.create is false: name the ServiceAccount"),
	)

	DescribeTable("are taken where they are right", func(ctx SpecContext, setting string) {
		rendered(ctx, named, setting)
	},
		Entry("a part of the Pods", "--set-string=podDisruptionBudget.maxUnavailable=5%"),
		Entry("all Pods", "--set-string=podDisruptionBudget.maxUnavailable=100%"),
		Entry("a number of Pods", "--set=podDisruptionBudget.maxUnavailable=2"),
		Entry("an interval of two units", "--set=metrics.serviceMonitor.interval=1m30s"),
		Entry("a lease of a part of a minute", "--set=controller.leaderElection.leaseDuration=1.5m"),
		Entry("no name of one's own", "--set=fullnameOverride="),
	)

	It("have a schema that is sealed wherever values.yaml has keys of its own", func() {
		var defaults map[string]any
		Expect(yaml.UnmarshalStrict(read("values.yaml"), &defaults)).To(Succeed())
		var schema map[string]any
		Expect(json.Unmarshal(read("values.schema.json"), &schema)).To(Succeed())
		expectSealed("", schema, defaults)
	})

	It("are all in the README, as `make generate` writes it", func() {
		all, err := values.Read(read("values.yaml"))
		Expect(err).NotTo(HaveOccurred())
		readme := string(read("README.md"))
		Expect(values.Insert(readme, values.Table(all))).To(Equal(readme))
	})
})

// expectSealed holds that an object of the schema allows its properties and no others, and that these are the keys of the
// defaults; so on below every mapping that is not free-form.
func expectSealed(path string, schema, defaults map[string]any) {
	GinkgoHelper()
	properties, _ := schema["properties"].(map[string]any)
	if properties == nil {
		return // a map that is the operator's own: labels, affinity, …
	}
	Expect(schema["additionalProperties"]).To(BeFalse(), "%s is not sealed", path)
	known := slices.DeleteFunc(slices.Sorted(maps.Keys(properties)), func(key string) bool {
		return path == "" && key == "global" || path == ".resources" && key == "claims"
	})
	Expect(known).To(Equal(slices.Sorted(maps.Keys(defaults))), "the keys of %s", path)
	for key, below := range defaults {
		if nested, ok := below.(map[string]any); ok {
			one, ok := properties[key].(map[string]any)
			Expect(ok).To(BeTrue(), fmt.Sprintf("%s.%s has no schema", path, key))
			expectSealed(path+"."+key, one, nested)
		}
	}
}
