package peers

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const reverseProxyRole = "reverse-proxy"

// StartReverseProxy runs Go's httputil.ReverseProxy with the usual tuning: idle
// connections for all calls, no compression, and a pool of buffers.
func StartReverseProxy(t testing.TB, o Options) Peer {
	t.Helper()
	args := []string{
		"-provider", o.Provider, "-workers", strconv.Itoa(o.Workers), "-own-path", o.OwnPath, "-own-answer", o.OwnAnswer,
		"-cert", o.Certificate.CertFile, "-key", o.Certificate.KeyFile,
	}
	addresses, pid := startRole(t, reverseProxyRole, args...)
	plain, secure, _ := strings.Cut(addresses, " ")
	return Peer{Name: ReverseProxy, URL: plain, SecureURL: secure, PID: pid}
}

func proxyReversely(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet(reverseProxyRole, flag.ContinueOnError)
	provider := flags.String("provider", "", "host:port of the provider")
	workers := flags.Int("workers", 1, "GOMAXPROCS")
	ownPath := flags.String("own-path", "", "what paths begin with that are answered here, by 404")
	ownAnswer := flags.String("own-answer", "", "the content of that 404")
	cert := flags.String("cert", "", "a certificate, to speak TLS as well")
	key := flags.String("key", "", "its key")
	if err := flags.Parse(args); err != nil {
		return err
	}
	runtime.GOMAXPROCS(*workers)
	handler := http.HandlerFunc(tunedProxy(*provider).ServeHTTP)
	if *ownPath != "" {
		proxied := handler
		handler = func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasPrefix(r.URL.Path, *ownPath) {
				proxied(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, *ownAnswer)
		}
	}
	plain, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	secure, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := http.Server{ReadHeaderTimeout: time.Minute, Handler: handler}
	ended := make(chan error, 2)
	go func() { ended <- server.Serve(plain) }()
	if *cert != "" {
		go func() { ended <- server.ServeTLS(secure, *cert, *key) }()
	}
	fmt.Printf("%s: http://%s https://%s\n", reverseProxyRole, plain.Addr(), secure.Addr())
	return errors.Join(<-ended, server.Close())
}

func tunedProxy(provider string) *httputil.ReverseProxy {
	target := &url.URL{Scheme: "http", Host: provider}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 4096, IdleConnTimeout: time.Hour, DisableCompression: true,
			ReadBufferSize: 8 << 10, WriteBufferSize: 8 << 10,
		},
		BufferPool: &buffers{},
	}
}

// buffers is a pool of the buffers that bodies are copied through.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if used, ok := b.pool.Get().(*[]byte); ok {
		return *used
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(used []byte) { b.pool.Put(&used) }
