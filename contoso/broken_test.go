package contoso

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// otherGroup is the id of a group beside that of the trial.
func (x trial) otherGroup() string { return x.sub + "/resourceGroups/Other" }

// at is the id that a resource of the trial's group has in another group.
func (x trial) at(group, id string) string {
	return group + strings.TrimPrefix(id, x.sub+"/resourceGroups/Rg")
}

// absent reports whether a resource is not there.
func (x trial) absent(id string) bool { return x.ask("GET", id+version, "").status == 404 }

// move asks for a move; among the ids may be headers.
func (x trial) move(to string, ids ...string) told {
	var headers []string
	named := slices.DeleteFunc(ids, func(s string) bool {
		if !strings.HasPrefix(s, "/") {
			headers = append(headers, s)
		}
		return !strings.HasPrefix(s, "/")
	})
	body := strings.Replace(moveBody(named...), toGroup, to, 1)
	return x.ask("POST", x.sub+"/resourceGroups/Rg/moveResources"+version, body, headers...)
}

// like is another site with the same deliberate breaks.
func (x trial) like(o Options) *site {
	o.Region, o.Breaks = "westus", slices.Collect(maps.Keys(x.breaks))
	return newSiteWith(x.t, o)
}

// cluster makes a cluster of one machine and then one more, and gives the two calls that
// made machines, and what is shown of the cluster.
func (x trial) cluster() (made []string, shown string) {
	d := &door{}
	server := httptest.NewServer(d)
	defer server.Close()
	s := x.like(Options{FrontDoor: &FrontDoor{URL: server.URL, Subscription: "internal"}})
	shown = s.do(201, "PUT", cluster+version, `{"location":"westus","properties":{"workers":1}}`).body
	s.do(200, "PATCH", cluster+version, `{"properties":{"workers":2}}`)
	for _, call := range d.heard() {
		if strings.HasPrefix(call, "PUT ") && !strings.HasPrefix(call, "PUT clusters-westus") {
			made = append(made, call)
		}
	}
	if len(made) != 2 {
		x.t.Fatalf("%q", made)
	}
	return made, shown
}

// guarded writes to a provider that demands a certificate, with one of no authority or
// with none, and gives the status and whether it was done.
func (x trial) guarded(shows bool) (status int, done bool) {
	s := x.like(Options{Clients: x509.NewCertPool()})
	r := httptest.NewRequestWithContext(x.t.Context(), "PUT", vm+version, strings.NewReader(westVM))
	if shows {
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{selfSigned(x.t)}}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, len(s.state.resources) > 0
}

func selfSigned(t *testing.T) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// letteredVM is a machine whose subscription's id has letters.
func (x trial) letteredVM() string {
	return strings.Replace(x.vm, x.sub, "/subscriptions/ab"+x.sub[len("/subscriptions/ab"):], 1)
}

// sometimes tries on some machines what depends on the order in which requests arrive.
func (x trial) sometimes(try func(id string) bool) bool {
	for i := range 5 {
		if try(x.vm + fmt.Sprint(i)) {
			return true
		}
	}
	return false
}

// atOnce makes requests for a machine at the same time and gives their statuses in the
// order of the methods.
func (x trial) atOnce(id string, methods ...string) string {
	statuses := make([]string, len(methods))
	var done sync.WaitGroup
	for i, method := range methods {
		done.Go(func() {
			body := ""
			if method == http.MethodPut {
				body = westVM
			}
			a, err := x.send(method, id+version, body)
			if err != nil {
				x.t.Error(err)
			}
			statuses[i] = fmt.Sprint(a.status)
		})
	}
	done.Wait()
	return strings.Join(statuses, " ")
}

// readOften reads a resource more often than is good, and gives the last answer.
func (x trial) readOften() told {
	x.put(x.vm)
	for range enough { // by no connection: there are many
		x.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(x.t.Context(), "GET", x.vm+version, http.NoBody))
	}
	return x.ask("GET", x.vm+version, "")
}

// shouted is the machine's id with the group and the name in another casing.
func (x trial) shouted() string {
	return strings.NewReplacer("/Rg/", "/RG/", "/Vm1", "/VM1").Replace(x.vm)
}
