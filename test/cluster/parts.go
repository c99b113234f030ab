// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	_ "embed" // the API server's audit policy and kwok's stages
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
)

// The parts of a cluster, by the names the executable knows them under.
const (
	partEtcd              = "etcd"
	partAPIServer         = "kube-apiserver"
	partScheduler         = "kube-scheduler"
	partControllerManager = "kube-controller-manager"
	partKwok              = "kwok"
	partKarpenter         = "karpenter"
)

// controllers are those of kube-controller-manager that a fleet of kwok Nodes needs. Without the node-lifecycle
// controller nobody takes the not-ready taint off a Node; without the disruption controller no PDB allows anything.
// That of admission policies says in their status what does not fit the types that they judge.
const controllers = "deployment-controller,replicaset-controller,statefulset-controller,daemonset-controller," +
	"job-controller,disruption-controller,node-lifecycle-controller,taint-eviction-controller," +
	"pod-garbage-collector-controller,garbage-collector-controller,namespace-controller,serviceaccount-controller," +
	"validatingadmissionpolicy-status-controller"

var (
	//go:embed manifests/audit-policy.yaml
	auditPolicy []byte
	//go:embed manifests/kwok.yaml
	kwokStages []byte
)

// ports are the TCP ports on 127.0.0.1 that a cluster listens on.
type ports struct {
	etcd, apiServer, karpenterMetrics, karpenterHealth int
}

// freePorts returns ports nobody listens on. All are held at once, so that they differ, and let go together; somebody may
// take one before we do, which Start notices.
func freePorts() (free ports, err error) {
	var held []net.Listener
	defer func() {
		for _, listener := range held {
			_ = listener.Close()
		}
	}()
	for _, port := range []*int{&free.etcd, &free.apiServer, &free.karpenterMetrics, &free.karpenterHealth} {
		listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return ports{}, fmt.Errorf("no free port on 127.0.0.1: %w", err)
		}
		held = append(held, listener)
		address, err := netip.ParseAddrPort(listener.Addr().String())
		if err != nil {
			return ports{}, fmt.Errorf("a listener on 127.0.0.1 does not tell its port: %w", err)
		}
		*port = int(address.Port())
	}
	return free, nil
}

func localURL(scheme string, port int) string { return fmt.Sprintf("%s://127.0.0.1:%d", scheme, port) }

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *Cluster) etcdArgs() []string {
	clients := localURL("http", c.ports.etcd)
	return []string{
		"--data-dir=" + c.path("etcd"),
		"--listen-client-urls=" + clients,
		"--advertise-client-urls=" + clients,
		"--listen-peer-urls=http://127.0.0.1:0",
		"--unsafe-no-fsync", // nothing in here outlives the processes
		"--log-level=warn",
	}
}

func (c *Cluster) apiServerArgs() []string {
	return []string{
		"--etcd-servers=" + localURL("http", c.ports.etcd),
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.ports.apiServer),
		"--tls-cert-file=" + c.path("server.crt"),
		"--tls-private-key-file=" + c.path("server.key"),
		"--client-ca-file=" + c.path("ca.crt"),
		"--endpoint-reconciler-type=none", // nobody reaches this server through a Service
		"--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + c.path("service-account.key"),
		"--service-account-key-file=" + c.path("service-account.key"),
		// No Pod really runs, so none needs the token that this would have to mount into it.
		"--disable-admission-plugins=ServiceAccount",
		"--audit-policy-file=" + c.path("audit-policy.yaml"),
		"--audit-log-path=" + c.AuditLog(),
		"--audit-log-mode=blocking-strict", // an answered write is in the log, and one that is not in it failed
		"--audit-log-maxsize=100000",       // one file, never rotated
		"--profiling=false",
	}
}

func (c *Cluster) schedulerArgs() []string {
	return []string{
		"--kubeconfig=" + c.path(partScheduler+".kubeconfig"),
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=500", "--kube-api-burst=500",
		"--profiling=false",
	}
}

func (c *Cluster) controllerManagerArgs() []string {
	return []string{
		"--kubeconfig=" + c.path(partControllerManager+".kubeconfig"),
		"--controllers=" + controllers,
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=500", "--kube-api-burst=500",
		"--node-monitor-period=1s",
		"--profiling=false",
	}
}

func (c *Cluster) kwokArgs() []string {
	return []string{
		"--kubeconfig=" + c.path(partKwok+".kubeconfig"),
		"--config=" + c.path("kwok.yaml"),
		"--manage-all-nodes=true",
		"--node-ip=10.1.0.1",
		"--node-lease-duration-seconds=40",
	}
}

// userOf is who a part is to the API server.
func userOf(part string) string { return "system:" + part }

// karpenterEnv is Karpenter's configuration, all of which it takes from its environment.
func (c *Cluster) karpenterEnv() []string {
	return []string{
		"KUBECONFIG=" + c.path(partKarpenter+".kubeconfig"),
		"KUBERNETES_MIN_VERSION=1.19.0-0",
		"SYSTEM_NAMESPACE=kube-system",
		"KARPENTER_SERVICE=karpenter",
		"METRICS_PORT=" + strconv.Itoa(c.ports.karpenterMetrics),
		"HEALTH_PROBE_PORT=" + strconv.Itoa(c.ports.karpenterHealth),
		"DISABLE_LEADER_ELECTION=true",
		// Pods come all together here: waiting long for more of them only makes tests slow.
		"BATCH_IDLE_DURATION=500ms",
		"BATCH_MAX_DURATION=3s",
	}
}

// writeFiles puts everything that the parts read at their start into the cluster's folder.
func (c *Cluster) writeFiles() error {
	server, err := c.authority.server()
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"ca.crt":            c.authority.pem,
		"server.crt":        server.certificate,
		"server.key":        server.key,
		"audit-policy.yaml": auditPolicy,
		"kwok.yaml":         kwokStages,
	}
	for name, content := range files {
		if err = os.WriteFile(c.path(name), content, 0o600); err != nil {
			return fmt.Errorf("the cluster's folder cannot be filled: %w", err)
		}
	}
	if err = writeSigningKey(c.path("service-account.key")); err != nil {
		return fmt.Errorf("no key for the tokens of ServiceAccounts: %w", err)
	}
	// Each part is a user of its own, which is how the audit log tells them apart. Karpenter is given its rights later, and
	// is no member of a group that admission may exempt.
	for part, groups := range map[string][]string{
		partScheduler: {adminGroup}, partControllerManager: {adminGroup}, partKwok: {adminGroup}, partKarpenter: nil,
	} {
		if _, err = c.writeKubeconfig(part, userOf(part), groups); err != nil {
			return err
		}
	}
	c.kubeconfig, err = c.writeKubeconfig("admin", "admin", []string{adminGroup})
	return err
}
