// Command contoso serves one regional endpoint of the reference resource provider.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"portico/internal/pemfile"
	"portico/internal/version"
	"portico/provider/contoso"
)

// drainTime bounds the requests under way after a signal.
const drainTime = 5 * time.Second

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "contoso:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return command(os.Stdout, os.Stderr).ExecuteContext(ctx)
}

type flags struct {
	region, listen, state, level string
	frontDoor, internal, token   string
	cert, key, clientCA          string
	pageSize                     int
	anyType                      bool
	breaks, habits, types        []string
}

func command(stdout, stderr io.Writer) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:           "contoso --region REGION",
		Short:         "Serve one regional endpoint of the reference resource provider",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version.Current().String(),
		RunE: func(c *cobra.Command, _ []string) error {
			return serve(c.Context(), f, stdout, stderr)
		},
	}
	c.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	c.Flags().StringVar(&f.region, "region", "", `region to serve; "global" serves the global types`)
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:0", "address to listen on")
	c.Flags().StringVar(&f.state, "state", "", "file for the state; empty: the state is only in memory")
	c.Flags().IntVar(&f.pageSize, "page-size", 50, "maximum number of resources on a page of a list")
	c.Flags().StringVar(&f.level, "log-level", "warn", "lowest level to log: debug, info, warn, error")
	c.Flags().StringSliceVar(&f.breaks, "break", nil, "rules of the contract to break, by name; an unknown name lists all")
	c.Flags().StringSliceVar(&f.habits, "habit", nil, "unusual but legal forms of properties and links, by name; an unknown name lists all")
	c.Flags().StringSliceVar(&f.types, "type", nil, "further resource types to serve, each as Namespace/type@api-version")
	c.Flags().BoolVar(&f.anyType, "any-type", false, "serve all other resource types too, with any body and under any api-version")
	c.Flags().StringVar(&f.frontDoor, "front-door", "", "URL of the front door, which clusters create their machines through")
	c.Flags().StringVar(&f.internal, "internal-subscription", "", "the provider's own subscription there")
	c.Flags().StringVar(&f.token, "front-door-token", "", "file with the bearer token for the front door")
	c.Flags().StringVar(&f.cert, "tls-cert", "", "PEM file of the TLS certificate; empty: plain HTTP")
	c.Flags().StringVar(&f.key, "tls-key", "", "PEM file of its key")
	c.Flags().StringVar(&f.clientCA, "client-ca", "", "PEM file of authorities; requests need a client certificate of one of them; empty: none is needed")
	c.MarkFlagsRequiredTogether("front-door", "internal-subscription")
	c.MarkFlagsRequiredTogether("tls-cert", "tls-key")
	_ = c.MarkFlagRequired("region") // fails only for an undefined flag
	return c
}

// serve serves until ctx ends, then lets requests under way end.
func serve(ctx context.Context, f flags, stdout, stderr io.Writer) (err error) {
	log, err := logger(f.level, stderr)
	if err != nil {
		return err
	}
	door, err := f.door()
	if err != nil {
		return err
	}
	secured, clients, err := f.tls()
	if err != nil {
		return err
	}
	p, err := contoso.New(contoso.Options{
		Region: f.region, StateFile: f.state, PageSize: f.pageSize, Breaks: f.breaks, Habits: f.habits, Types: f.types, AnyType: f.anyType,
		FrontDoor: door, Clients: clients, Log: log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, ErrorLog: zap.NewStdLog(log), TLSConfig: secured}
	ended := make(chan error, 1)
	scheme := "http"
	if secured != nil {
		scheme = "https"
		go func() { ended <- server.ServeTLS(listener, "", "") }()
	} else {
		go func() { ended <- server.Serve(listener) }()
	}
	fmt.Fprintf(stdout, "contoso: serving %s on %s://%s\n", f.region, scheme, listener.Addr())
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if server.Shutdown(drain) != nil {
		return server.Close()
	}
	return nil
}

// tls returns the listener's TLS settings, nil without TLS, and the authorities of its
// clients, nil if no certificate is required.
func (f flags) tls() (*tls.Config, *x509.CertPool, error) {
	if f.cert == "" {
		if f.clientCA != "" {
			return nil, nil, errors.New("--client-ca needs --tls-cert and --tls-key")
		}
		return nil, nil, nil
	}
	pair, err := pemfile.Pair(f.cert, f.key)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.cert, err)
	}
	secured := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*pair}}
	if f.clientCA == "" {
		return secured, nil, nil
	}
	clients, err := pemfile.Pool(f.clientCA)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.clientCA, err)
	}
	secured.ClientAuth = tls.RequestClientCert // checked for each request, so that it can be answered
	return secured, clients, nil
}

// door returns the access to other providers through a front door, nil if none is
// configured.
func (f flags) door() (*contoso.FrontDoor, error) {
	if f.frontDoor == "" {
		return nil, nil
	}
	door := &contoso.FrontDoor{URL: strings.TrimSuffix(f.frontDoor, "/"), Subscription: f.internal}
	if f.token != "" {
		text, err := os.ReadFile(f.token)
		if err != nil {
			return nil, err
		}
		door.Token = strings.TrimSpace(string(text))
	}
	return door, nil
}

func logger(level string, to io.Writer) (*zap.Logger, error) {
	l, err := zapcore.ParseLevel(level)
	if err != nil {
		return nil, err
	}
	config := zap.NewProductionEncoderConfig()
	config.EncodeTime = zapcore.ISO8601TimeEncoder
	return zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(config), zapcore.Lock(zapcore.AddSync(to)), l)), nil
}
