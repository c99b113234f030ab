// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Proxy stands on 127.0.0.1 between a controller and the API server, to which it shows the identity it was made with. It
// counts the writes that succeed, and can have the controller killed at one of them.
type Proxy struct {
	listener net.Listener
	server   *http.Server

	mu     sync.Mutex
	writes []Write
	// fatal is how many writes from now the controller dies of; 0 if of none.
	fatal int
	kill  func()
	shut  bool
}

// errKilled is the answer that a controller does not live to see.
var errKilled = errors.New("the controller was killed before this answer")

// NewProxy begins to serve; Close ends it.
func NewProxy(upstream *rest.Config) (*Proxy, error) {
	target, err := url.Parse(upstream.Host)
	if err != nil {
		return nil, fmt.Errorf("the API server's address %q cannot be read: %w", upstream.Host, err)
	}
	transport, err := rest.TransportFor(upstream)
	if err != nil {
		return nil, fmt.Errorf("no way to the API server: %w", err)
	}
	p := &Proxy{}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("no free port on 127.0.0.1: %w", err)
	}
	forward := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      transport,
		FlushInterval:  -1, // a watch's events go on at once
		ModifyResponse: p.answered,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = &http.Server{Handler: p.gate(forward)}
	go func() { _ = p.server.Serve(p.listener) }()
	return p, nil
}

// Kubeconfig writes a kubeconfig that leads to the proxy.
func (p *Proxy) Kubeconfig(path string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["proxy"] = &clientcmdapi.Cluster{Server: "http://" + p.listener.Addr().String()}
	config.AuthInfos["nobody"] = &clientcmdapi.AuthInfo{}
	config.Contexts["proxy"] = &clientcmdapi.Context{Cluster: "proxy", AuthInfo: "nobody"}
	config.CurrentContext = "proxy"
	return clientcmd.WriteToFile(*config, path)
}

// Close ends the proxy and every connection through it.
func (p *Proxy) Close() { _ = p.server.Close() }

// Writes are those that have succeeded so far and count.
func (p *Proxy) Writes() []Write {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.writes)
}

// KillAtWrite calls kill when the nth write from now has succeeded. The controller never learns that it did, and nothing
// that it sends meanwhile goes on. kill returns when the process is dead; then the proxy serves its successor.
func (p *Proxy) KillAtWrite(n int, kill func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fatal, p.kill = n, kill
}

// gate lets nothing through while the controller dies.
func (p *Proxy) gate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		shut := p.shut
		p.mu.Unlock()
		if shut {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
}

// answered sees every answer before the controller does.
func (p *Proxy) answered(response *http.Response) error {
	write, changes := writeOf(response.Request)
	if !changes || !write.Counts() || response.StatusCode >= http.StatusMultipleChoices {
		return nil
	}
	kill := p.count(write)
	if kill == nil {
		return nil
	}
	kill()
	p.mu.Lock()
	p.shut = false
	p.mu.Unlock()
	return errKilled
}

// count notes the write, and returns how to kill the controller if it is the one to die of.
func (p *Proxy) count(write Write) (kill func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes = append(p.writes, write)
	if p.fatal == 0 {
		return nil
	}
	if p.fatal--; p.fatal > 0 {
		return nil
	}
	p.shut = true
	return p.kill
}
