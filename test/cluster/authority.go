// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// certificateLife is how long every certificate of a cluster holds: longer than any cluster stands.
const certificateLife = 7 * 24 * time.Hour

// authority is a cluster's own certificate authority. Whoever it signs for, the API server believes to be that user in
// those groups; new identities can be made while the API server runs.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

// identity is a certificate with its key, both PEM.
type identity struct {
	certificate, key []byte
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificateTemplate(pkix.Name{CommonName: "cluster"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("the cluster's certificate authority cannot be made: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("the cluster's certificate authority cannot be read back: %w", err)
	}
	return &authority{certificate: certificate, key: key, pem: pemOf("CERTIFICATE", der)}, nil
}

// user returns the identity of a user in groups.
func (a *authority) user(name string, groups []string) (identity, error) {
	template := certificateTemplate(pkix.Name{CommonName: name, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

// server returns the identity of a server on 127.0.0.1.
func (a *authority) server() (identity, error) {
	template := certificateTemplate(pkix.Name{CommonName: "kube-apiserver"})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.DNSNames = []string{"localhost", "kubernetes.default.svc"}
	return a.sign(template)
}

func (a *authority) sign(template *x509.Certificate) (identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return identity{}, fmt.Errorf("no certificate for %s: %w", template.Subject, err)
	}
	encoded, err := encodeKey(key)
	if err != nil {
		return identity{}, err
	}
	return identity{certificate: pemOf("CERTIFICATE", der), key: encoded}, nil
}

func certificateTemplate(subject pkix.Name) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // crypto/rand never fails on the systems we run on
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(certificateLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

// writeSigningKey writes the key with which the API server signs and checks the tokens of ServiceAccounts.
func writeSigningKey(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	encoded, err := encodeKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(path, encoded, 0o600)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("a private key cannot be encoded: %w", err)
	}
	return pemOf("EC PRIVATE KEY", der), nil
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
