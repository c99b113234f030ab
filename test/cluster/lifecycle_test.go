// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"noderotation.io/noderotation/test/cluster"
)

// startAndHoldVariable makes this test's executable start a cluster instead of running tests.
const startAndHoldVariable = "CLUSTER_TEST_START_AND_HOLD"

var _ = Describe("The life of a cluster", func() {
	It("stands beside another one, and leaves nothing behind when it is stopped", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		other, err := cluster.Start(ctx, cluster.Options{Name: "other", Dir: dir, Log: GinkgoWriter})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(other.Stop)

		processes := other.Processes()
		Expect(slices.Sorted(maps.Keys(processes))).To(Equal([]string{
			"etcd", "karpenter", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok",
		}))
		Expect(namespaces(ctx, shared)).NotTo(ContainElement("only-here"))
		Expect(other.Apply(ctx, []byte("{apiVersion: v1, kind: Namespace, metadata: {name: only-here}}"))).To(Succeed())
		Expect(namespaces(ctx, other)).To(ContainElement("only-here"))
		Expect(namespaces(ctx, shared)).NotTo(ContainElement("only-here"))

		other.Stop()
		for part, id := range processes {
			Expect(alive(id)).To(BeFalse(), part)
		}
		Expect(other.AuditLog()).To(BeAnExistingFile(), "a folder that was given is kept")
		Expect(namespaces(ctx, shared)).To(ContainElement("kube-system"), "the other cluster stands")
	}, SpecTimeout(patience))

	It("ends with the process that started it, even if that is killed", func(ctx SpecContext) {
		starter := exec.CommandContext(ctx, os.Args[0])
		starter.Env = append(os.Environ(), startAndHoldVariable+"="+GinkgoT().TempDir())
		starter.Stderr = GinkgoWriter
		output, err := starter.StdoutPipe()
		Expect(err).NotTo(HaveOccurred())
		Expect(starter.Start()).To(Succeed())

		var processes map[string]int
		Expect(json.NewDecoder(bufio.NewReader(output)).Decode(&processes)).To(Succeed())
		Expect(processes).To(HaveLen(6))
		for part, id := range processes {
			Expect(alive(id)).To(BeTrue(), part)
		}

		Expect(starter.Process.Kill()).To(Succeed())
		_ = starter.Wait()
		for part, id := range processes {
			Eventually(func() bool { return alive(id) }).WithContext(ctx).Should(BeFalse(), part)
		}
	}, SpecTimeout(patience))

	It("goes on without Karpenter, which can be started again", func(ctx SpecContext) {
		pool, workload := cluster.Pool{Name: "resumed"}, cluster.Workload{Name: "resumed", Replicas: 1}
		shared.StopKarpenter()
		Expect(shared.Processes()).NotTo(HaveKey("karpenter"))
		plannedFleet(ctx, pool, workload)
		Expect(claimsOf(ctx, pool.Name)).To(BeEmpty())

		Expect(shared.StartKarpenter(ctx)).To(Succeed())
		Expect(shared.WaitForWorkload(ctx, workload)).To(Succeed())
	}, SpecTimeout(patience))

	It("serves envtest", func(ctx SpecContext) {
		environment := &envtest.Environment{
			BinaryAssetsDirectory: shared.EnvtestAssets(), ControlPlaneStartTimeout: time.Minute, ControlPlaneStopTimeout: time.Minute,
		}
		config, err := environment.Start()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(environment.Stop)
		client, err := kubernetes.NewForConfig(config)
		Expect(err).NotTo(HaveOccurred())
		Expect(client.Discovery().ServerVersion()).To(Equal(version(shared)))
		_, err = client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		_, err = shared.Client().CoreV1().ConfigMaps("default").Get(ctx, "kept", metav1.GetOptions{})
		Expect(err).To(MatchError(apierrors.IsNotFound, "not found"), "it is another cluster")
	}, SpecTimeout(patience))
})

var _ = Describe("Another identity", func() {
	const user = "system:serviceaccount:cluster-test:writer"

	It("may do what RBAC allows it, and stands in the audit log with what it asked for", func(ctx SpecContext) {
		path, err := shared.KubeconfigFor(user, nil)
		Expect(err).NotTo(HaveOccurred())
		config, err := clientcmd.BuildConfigFromFlags("", path)
		Expect(err).NotTo(HaveOccurred())
		writer, err := kubernetes.NewForConfig(config)
		Expect(err).NotTo(HaveOccurred())

		wanted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "written-", Namespace: "default"}}
		_, err = writer.CoreV1().ConfigMaps("default").Create(ctx, wanted, metav1.CreateOptions{})
		Expect(err).To(MatchError(apierrors.IsForbidden, "forbidden"))

		_, err = writer.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		Expect(err).To(MatchError(apierrors.IsForbidden, "forbidden"))

		allowConfigMaps(ctx)
		Eventually(func(ctx context.Context) error { // the authorizer learns of the binding through a watch
			_, err := writer.CoreV1().ConfigMaps("default").Create(ctx, wanted, metav1.CreateOptions{})
			return err
		}).WithContext(ctx).Should(Succeed())

		asked := auditOf(user)
		Expect(asked).To(ContainElements(
			And(HaveField("Verb", "list"), HaveField("ObjectRef.Resource", "configmaps"), HaveField("ResponseStatus.Code", 403)),
			And(HaveField("Verb", "create"), HaveField("ObjectRef.Resource", "configmaps"), HaveField("ResponseStatus.Code", 403)),
			And(HaveField("Verb", "create"), HaveField("ObjectRef.Resource", "configmaps"), HaveField("ResponseStatus.Code", 201)),
		))
		Expect(asked).To(HaveEach(HaveField("UserAgent", Not(BeEmpty()))))
	}, SpecTimeout(patience))
})

// auditRecord is what of an audit log's line matters here.
type auditRecord struct {
	Verb, UserAgent string
	User            struct{ Username string }
	ObjectRef       struct{ Resource string }
	ResponseStatus  struct{ Code int }
}

// auditOf returns the lines of the audit log about one user.
func auditOf(user string) []auditRecord {
	GinkgoHelper()
	file, err := os.Open(shared.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = file.Close() }()
	var records []auditRecord
	for decoder := json.NewDecoder(file); decoder.More(); {
		var record auditRecord
		if err := decoder.Decode(&record); err != nil {
			break // the last line, half written
		}
		if record.User.Username == user {
			records = append(records, record)
		}
	}
	return records
}

func allowConfigMaps(ctx context.Context) {
	GinkgoHelper()
	roles := shared.Client().RbacV1()
	meta := metav1.ObjectMeta{Name: "writer", Namespace: "default"}
	_, err := roles.Roles("default").Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}},
	}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	_, err = roles.RoleBindings("default").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "writer"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "cluster-test", Name: "writer"}},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// version is what the API server of a cluster says it is.
func version(c *cluster.Cluster) *apiversion.Info {
	GinkgoHelper()
	info, err := c.Client().Discovery().ServerVersion()
	Expect(err).NotTo(HaveOccurred())
	return info
}

func namespaces(ctx context.Context, c *cluster.Cluster) []string {
	GinkgoHelper()
	list, err := c.Client().CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, namespace := range list.Items {
		names = append(names, namespace.Name)
	}
	return names
}

// alive reports whether a process of that id exists.
func alive(id int) bool { return syscall.Kill(id, 0) == nil }

// startAndHold starts a cluster, writes its process ids to standard output, and waits to be killed.
func startAndHold() {
	c, err := cluster.Start(context.Background(), cluster.Options{
		Name: "held", Dir: os.Getenv(startAndHoldVariable), Log: os.Stderr,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(c.Processes()); err != nil {
		os.Exit(1)
	}
	select {}
}
