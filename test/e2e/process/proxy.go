// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
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
	aim    int // how often KillAtWrite was called
	// fatal is how many writes the controller has left to live; 0 if nothing is to kill it.
	fatal int
	toll  []Write // counted towards fatal
	kill  func(toll []Write)
	shut  bool
}

// aimKey is the key of a request's context for the aim under which it was sent.
type aimKey struct{}

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

// KillAtWrite calls kill when the nth of the writes that are sent from now on has succeeded, and tells it which they
// were. The controller never learns that the last one did, and nothing that it sends meanwhile goes on. kill returns when
// the process is dead; then the proxy serves its successor.
func (p *Proxy) KillAtWrite(n int, kill func(toll []Write)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.aim++
	p.fatal, p.toll, p.kill = n, nil, kill
}

// gate lets nothing through while the controller dies.
func (p *Proxy) gate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		shut, aim := p.shut, p.aim
		p.mu.Unlock()
		if shut {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), aimKey{}, aim)))
	})
}

// answered sees every answer before the controller does.
func (p *Proxy) answered(response *http.Response) error {
	write, changes := writeOf(response.Request)
	if !changes || !write.Counts() || response.StatusCode >= http.StatusMultipleChoices {
		return nil
	}
	aim, _ := response.Request.Context().Value(aimKey{}).(int)
	if !p.isFatal(write, aim) {
		return nil
	}
	p.kill(p.toll)
	p.mu.Lock()
	p.shut = false
	p.mu.Unlock()
	return errKilled
}

// isFatal notes the write, sent under an aim, and tells whether the controller is to die of it. The gate is shut then, and
// toll and kill are left alone until it opens.
func (p *Proxy) isFatal(write Write, aim int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes = append(p.writes, write)
	if p.fatal == 0 || aim != p.aim {
		return false
	}
	p.toll = append(p.toll, write)
	p.fatal--
	p.shut = p.fatal == 0
	return p.shut
}
