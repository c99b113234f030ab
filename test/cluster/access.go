// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// adminGroup may do everything; Kubernetes binds it by itself.
const adminGroup = "system:masters"

// Kubeconfig returns the path of a kubeconfig that may do everything. Its user is "admin".
func (c *Cluster) Kubeconfig() string { return c.kubeconfig }

// RESTConfig returns a configuration that may do everything, for clients of this process. Client-side throttling is off.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.restConfig) }

// KubeconfigFor writes a kubeconfig for user in groups and returns its path. RBAC alone says what that user may do.
//
// For a user "system:serviceaccount:NAMESPACE:NAME" the two groups of ServiceAccounts are added, as the API server would
// for a token; the ServiceAccount itself need not exist.
func (c *Cluster) KubeconfigFor(user string, groups []string) (path string, err error) {
	if namespace, _, ok := strings.Cut(strings.TrimPrefix(user, "system:serviceaccount:"), ":"); ok && strings.HasPrefix(user, "system:serviceaccount:") {
		groups = append(slices.Clone(groups), "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	}
	sum := sha256.Sum256([]byte(user + "\x00" + strings.Join(groups, "\x00")))
	name := strings.Map(fileRune, user) + "-" + hex.EncodeToString(sum[:4])
	return c.writeKubeconfig(name, user, groups)
}

// fileRune keeps what is harmless in the name of a file.
func fileRune(r rune) rune {
	if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.", r) {
		return r
	}
	return '_'
}

// writeKubeconfig writes name.kubeconfig with a fresh certificate for user in groups.
func (c *Cluster) writeKubeconfig(name, user string, groups []string) (path string, err error) {
	who, err := c.authority.user(user, groups)
	if err != nil {
		return "", err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: c.server, CertificateAuthorityData: c.authority.pem}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: who.certificate, ClientKeyData: who.key}
	config.Contexts["cluster"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: user}
	config.CurrentContext = "cluster"

	encoded, err := clientcmd.Write(*config)
	if err != nil {
		return "", fmt.Errorf("the kubeconfig of %s cannot be encoded: %w", user, err)
	}
	// Written beside and moved into place: another process may be reading the file of the same identity.
	path = filepath.Join(c.dir, name+".kubeconfig")
	partial, err := os.CreateTemp(c.dir, name+".*.partial")
	if err != nil {
		return "", fmt.Errorf("the kubeconfig of %s cannot be written: %w", user, err)
	}
	_, err = partial.Write(encoded)
	if closeErr := partial.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(partial.Name(), path)
	}
	if err != nil {
		return "", fmt.Errorf("the kubeconfig of %s cannot be written: %w", user, err)
	}
	return path, nil
}

// loadRESTConfig reads a kubeconfig for use by this process, without client-side throttling.
func loadRESTConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig just written cannot be read: %w", err)
	}
	config.QPS = -1
	config.UserAgent = "cluster"
	return config, nil
}
