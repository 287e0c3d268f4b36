package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"text/template"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"portico/arm"
	"portico/config"
	"portico/provider/contoso"
)

//go:embed demo.yaml
var demoConfig string

// The demo's subscription, and its tenant.
const (
	demoSubscription = "00000000-0000-0000-0000-000000000001"
	demoTenant       = "00000000-0000-0000-0000-0000000000aa"
)

// demoRegions are the regional endpoints of contoso that the demo runs.
var demoRegions = []string{"westus", "eastus", "northeurope", arm.GlobalLocation}

func demoCommand(stdout, stderr io.Writer) *cobra.Command {
	var d demo
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run a gateway with three regions of a reference provider, and print requests to try",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			log, err := newLog(config.LogAuto, "warn", stderr)
			if err != nil {
				return err
			}
			d.log, d.in, d.out = log, c.InOrStdin(), stdout
			return d.run(c.Context())
		},
	}
	c.Flags().StringVar(&d.listen, "listen", "127.0.0.1:8080", "address of the gateway")
	c.Flags().StringVar(&d.admin, "admin", "127.0.0.1:8081", "address of the admin listener")
	c.Flags().StringArrayVar(&d.providers, "provider", nil, "also use a provider of your own: URL, or REGION=URL for each of its regions")
	c.Flags().StringVar(&d.types, "types", "certify.yaml", "file that describes the types of that provider")
	c.Flags().StringVar(&d.data, "data", "portico-demo", "folder for the gateway's store and the provider's state")
	c.Flags().StringVar(&d.signIn, "sign-in", "", "serve over TLS, as az and Terraform require, and at this address a sign-in that accepts everyone")
	c.Flags().BoolVar(&d.tour, "tour", false, "go through the requests step by step: each is shown, and sent when you press Enter")
	return c
}

// demo is one process with everything in it.
type demo struct {
	listen, admin, data string
	signIn              string   // address of the sign-in; "" without TLS
	providers           []string // addresses of the user's own provider
	types               string   // the file that describes its types
	guest               *guest
	tour                bool
	log                 *zap.Logger
	in                  io.Reader
	out                 io.Writer
}

func (d *demo) run(ctx context.Context) (err error) {
	if d.guest, err = readGuest(d.providers, d.types); err != nil {
		return err
	}
	if err := os.MkdirAll(d.data, 0o700); err != nil {
		return err
	}
	public, admin, err := listen(ctx, &config.Config{Server: config.Server{Listen: d.listen, Admin: d.admin}})
	if err != nil {
		return err
	}
	endpoints := map[string]string{}
	var providers []*provider
	defer func() {
		for _, p := range providers {
			err = errors.Join(err, p.stop())
		}
	}()
	for _, region := range demoRegions {
		p, err := d.startProvider(ctx, region)
		if err != nil {
			return fmt.Errorf("%w\nIf another portico demo uses the folder %s, end it, or choose another one: --data FOLDER", err, d.data)
		}
		providers = append(providers, p)
		endpoints[region] = p.url
	}
	if d.signIn != "" {
		if err := d.serveSignIn(ctx); err != nil {
			return err
		}
	}
	cfg, err := d.configure(public.Addr(), admin.Addr(), endpoints)
	if err != nil {
		return err
	}
	s, err := newService(ctx, cfg, d.log, prometheus.NewRegistry())
	if err != nil {
		return err
	}
	steps := d.steps(cfg, endpoints["eastus"])
	d.explain(cfg, steps)
	if !d.tour {
		return s.run(ctx, public, admin)
	}
	ctx, cancel := context.WithCancel(ctx)
	walked := make(chan struct{})
	go func() {
		defer close(walked)
		d.walk(ctx, cfg, steps)
	}()
	err = s.run(ctx, public, admin)
	cancel()
	<-walked
	return err
}

// configure writes the configuration into the data folder, where it can be read and
// checked, and loads it.
func (d *demo) configure(public, admin net.Addr, endpoints map[string]string) (*config.Config, error) {
	folder, err := filepath.Abs(d.data)
	if err != nil {
		return nil, err
	}
	t, err := template.New("demo.yaml").Parse(demoConfig)
	if err != nil {
		return nil, err
	}
	further, err := d.guest.providers()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, map[string]any{
		"SignIn": d.signIn, "Listen": public.String(), "Admin": admin.String(),
		"Store": fmt.Sprintf("%q", filepath.Join(folder, "portico.db")), "Endpoints": endpoints,
		"Providers": further, "Subscription": demoSubscription, "Tenant": demoTenant, "FurtherSubscription": d.guest.subscription(),
	}); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "portico.yaml")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		return nil, err
	}
	return config.Load(path)
}

type provider struct {
	url     string
	contoso *contoso.Provider
	server  *http.Server
	ended   chan error
}

func (d *demo) startProvider(ctx context.Context, region string) (*provider, error) {
	c, err := contoso.New(contoso.Options{Region: region, StateFile: filepath.Join(d.data, "contoso-"+region+".journal"), Log: d.log})
	if err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	p := &provider{
		url: "http://" + l.Addr().String(), contoso: c, ended: make(chan error, 1),
		server: &http.Server{Handler: c, ReadHeaderTimeout: headerTime, ErrorLog: zap.NewStdLog(d.log)},
	}
	go func() { p.ended <- p.server.Serve(l) }()
	return p, nil
}

// providerStopTime bounds the end of requests at a provider.
const providerStopTime = 5 * time.Second

func (p *provider) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), providerStopTime)
	defer cancel()
	err := p.server.Shutdown(ctx)
	if err != nil {
		err = p.server.Close()
	}
	if ended := <-p.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return errors.Join(err, p.contoso.Close())
}
