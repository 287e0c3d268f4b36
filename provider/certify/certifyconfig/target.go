package certifyconfig

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"portico/arm"
	"portico/internal/pemfile"
	"portico/provider/certify/contract"
)

// Target returns the provider that the suite judges. Through a front door it
// first asks the front door for the regions of the types.
func (c *Config) Target(ctx context.Context) (contract.Target, error) {
	transport, err := c.transport()
	if err != nil {
		return contract.Target{}, err
	}
	target := contract.Target{
		Description: c.Description, Workers: c.Parallel, Claimed: c.Profiles, Disruptive: c.Disruptive, Group: c.ResourceGroup,
		Limits: contract.Limits{Call: c.Limits.Call, Wait: c.Limits.Wait, Pause: c.Limits.Pause, Scene: c.Limits.Case},
	}
	if c.Through() {
		target.Adapter, err = c.door(ctx, &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		})
		if err != nil {
			return contract.Target{}, err
		}
	} else {
		target.Adapter = contract.Straight(c.Endpoints)
		target.Adapter.Subscription = c.Subscription
		target.Adapter.InTenant(c.Tenant)
		if c.Sibling != "" {
			target.Adapter.Sibling = c.Sibling
		}
	}
	target.Adapter.Client.Transport = transport
	return target, nil
}

// transport returns the transport for the provider or the front door. It
// ignores proxies of the environment.
func (c *Config) transport() (*http.Transport, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.TLS.CA != "" {
		pool, err := pemfile.Pool(c.TLS.CA)
		if err != nil {
			return nil, fmt.Errorf("tls.ca: %s: %w", c.TLS.CA, err)
		}
		settings.RootCAs = pool
	}
	if c.TLS.Cert != "" {
		pair, err := pemfile.Pair(c.TLS.Cert, c.TLS.Key)
		if err != nil {
			return nil, fmt.Errorf("tls.cert and tls.key: %w", err)
		}
		// Shown whatever authorities the provider names, as a front door does.
		settings.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil }
	}
	return &http.Transport{TLSClientConfig: settings, MaxIdleConnsPerHost: mostParallel, ForceAttemptHTTP2: true, DisableCompression: true}, nil
}

// door returns the adapter to a front door.
func (c *Config) door(ctx context.Context, client *http.Client) (*contract.Adapter, error) {
	regions, err := c.regions(ctx, client)
	if err != nil {
		return nil, err
	}
	sibling := c.Sibling
	if sibling == "" {
		sibling = uuid.NewString()
	}
	return contract.ThroughDoor(contract.Door{
		URL: c.Portico.URL, Regions: regions, HasGlobal: true, Subscription: c.Subscription, Sibling: sibling,
		Owner: c.Portico.Owner, Colleague: c.Portico.Colleague, Stranger: c.Portico.Stranger,
	}), nil
}

// knownType is a type as a front door shows it.
type knownType struct {
	ResourceType string   `json:"resourceType"`
	Locations    []string `json:"locations"`
}

// regions returns the front door's regions that have all described types,
// except global ones.
func (c *Config) regions(ctx context.Context, client *http.Client) ([]string, error) {
	names, err := c.displayNames(ctx, client)
	if err != nil {
		return nil, err
	}
	var common []string
	first := true
	for _, p := range c.Description.Providers {
		var known struct {
			ResourceTypes []knownType `json:"resourceTypes"`
		}
		if err := c.readResource(ctx, client, "/providers/"+p.Namespace+"?api-version=2021-04-01", &known); err != nil {
			return nil, err
		}
		for _, t := range p.ResourceTypes {
			i := slices.IndexFunc(known.ResourceTypes, func(k knownType) bool { return arm.EqualFold(k.ResourceType, t.Name) })
			if i < 0 {
				return nil, fmt.Errorf("the front door does not know type %s", t.FullName())
			}
			if t.Routing == contract.Global {
				continue
			}
			here := locations(known.ResourceTypes[i], names)
			if first {
				common, first = here, false
			}
			common = slices.DeleteFunc(common, func(region string) bool { return !slices.Contains(here, region) })
		}
	}
	if len(common) == 0 {
		return nil, fmt.Errorf("the front door has no region that offers all types of %s", strings.Join(namespaces(c.Description), ", "))
	}
	return common, nil
}

// locations returns the names of a type's regions.
func locations(t knownType, names map[string]string) []string {
	all := make([]string, len(t.Locations))
	for i, location := range t.Locations {
		all[i] = arm.Location(cmp.Or(names[location], location))
	}
	return all
}

func namespaces(d *contract.Description) []string {
	var names []string
	for _, p := range d.Providers {
		names = append(names, p.Namespace)
	}
	return names
}

// displayNames maps the display names of the front door's regions to their names.
func (c *Config) displayNames(ctx context.Context, client *http.Client) (map[string]string, error) {
	var list struct {
		Value []struct {
			Name        string `json:"name"`
			DisplayName string `json:"displayName"`
		} `json:"value"`
	}
	if err := c.readResource(ctx, client, "/locations?api-version=2022-12-01", &list); err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, l := range list.Value {
		names[l.DisplayName] = l.Name
	}
	return names, nil
}

// maxAnswer bounds the front door's answers to readResource.
const maxAnswer = 8 << 20

// readResource reads one of the front door's own resources below the subscription.
func (c *Config) readResource(ctx context.Context, client *http.Client, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, c.Limits.Call)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Portico.URL+"/subscriptions/"+c.Subscription+path, nil)
	if err != nil {
		return err
	}
	token := c.Portico.Owner.Raw
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("call the front door: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // only read
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read an answer of the front door: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		if token != "" {
			body = bytes.ReplaceAll(body, []byte(token), []byte("(removed)"))
		}
		return fmt.Errorf("GET %s: the front door answers %d: %.300q", r.URL, resp.StatusCode, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("GET %s: the front door's answer is not valid JSON: %w", r.URL, err)
	}
	return nil
}
