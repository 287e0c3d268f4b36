//go:build apiserver

package install

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"portico/test/harness"
	"sigs.k8s.io/yaml"
)

// apiServer is a real API server of Kubernetes with an etcd, and no other part of a
// cluster: it takes, refuses, completes and keeps objects, and nothing runs what they
// describe.
type apiServer struct {
	url    string
	client *http.Client
}

const adminToken = "admin-of-the-test"

// startAPIServer runs the programs that KUBE_APISERVER_BIN names and Debian's etcd has.
func startAPIServer(t *testing.T) *apiServer {
	t.Helper()
	dir := t.TempDir()
	clients, peers := "http://"+harness.FreeAddress(t), "http://"+harness.FreeAddress(t)
	harness.Start(t, "etcd", dir, "etcd", "--data-dir", "etcd",
		"--listen-client-urls", clients, "--advertise-client-urls", clients,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "default="+peers)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	harness.OK(t, err)
	keyFile, tokenFile := filepath.Join(dir, "accounts.key"), filepath.Join(dir, "tokens.csv")
	write(t, keyFile, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	write(t, tokenFile, []byte(adminToken+",admin,admin,system:masters\n"))
	address := harness.FreeAddress(t)
	host, port, _ := strings.Cut(address, ":")
	harness.Start(t, "kube-apiserver", dir, os.Getenv("KUBE_APISERVER_BIN"),
		"--etcd-servers", clients, "--bind-address", host, "--secure-port", port, "--cert-dir", "certs",
		"--service-account-key-file", keyFile, "--service-account-signing-key-file", keyFile,
		"--service-account-issuer", "https://kubernetes.default.svc", "--token-auth-file", tokenFile,
		"--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/24")
	s := &apiServer{
		url: "https://" + address,
		client: &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // it made its certificate itself, on loopback
		}},
	}
	t.Cleanup(s.client.CloseIdleConnections)
	harness.Await(t, bound, "a ready API server", func() bool {
		status, _, err := s.call(t.Context(), http.MethodGet, "/readyz", nil)
		return err == nil && status == http.StatusOK
	})
	return s
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	harness.OK(t, os.WriteFile(path, content, 0o600))
}

// call makes a call as the cluster's administrator.
func (s *apiServer) call(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+adminToken)
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/apply-patch+yaml")
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }() // only read
	if warnings := resp.Header.Values("Warning"); len(warnings) > 0 {
		err = fmt.Errorf("it warns: %q", warnings)
	}
	answer, readErr := io.ReadAll(resp.Body)
	if readErr != nil {
		err = readErr
	}
	return resp.StatusCode, answer, err
}

// collections are where the chart's kinds lie. Those of the Prometheus operator and
// of the Gateway API are not an API server's own.
var collections = map[string]string{
	"v1 Pod":                                 "/api/v1/namespaces/%s/pods",
	"v1 ConfigMap":                           "/api/v1/namespaces/%s/configmaps",
	"v1 Secret":                              "/api/v1/namespaces/%s/secrets",
	"v1 Service":                             "/api/v1/namespaces/%s/services",
	"v1 ServiceAccount":                      "/api/v1/namespaces/%s/serviceaccounts",
	"apps/v1 Deployment":                     "/apis/apps/v1/namespaces/%s/deployments",
	"policy/v1 PodDisruptionBudget":          "/apis/policy/v1/namespaces/%s/poddisruptionbudgets",
	"networking.k8s.io/v1 NetworkPolicy":     "/apis/networking.k8s.io/v1/namespaces/%s/networkpolicies",
	"networking.k8s.io/v1 Ingress":           "/apis/networking.k8s.io/v1/namespaces/%s/ingresses",
	"autoscaling/v2 HorizontalPodAutoscaler": "/apis/autoscaling/v2/namespaces/%s/horizontalpodautoscalers",
}

// apply has the server make or change an object as Helm does, with every member that it
// does not know refused. It returns the object's generation.
func (s *apiServer) apply(t *testing.T, namespace string, manifest []byte) (generation int64) {
	t.Helper()
	var object map[string]any
	harness.OK(t, yaml.Unmarshal(manifest, &object))
	kind := word(object["apiVersion"]) + " " + word(object["kind"])
	if strings.HasPrefix(kind, "monitoring.coreos.com/") || strings.HasPrefix(kind, "gateway.networking.k8s.io/") {
		return 0
	}
	collection, known := collections[kind]
	if !known {
		t.Fatalf("the test does not know where %s lies", kind)
	}
	metadata, _ := object["metadata"].(map[string]any)
	metadata["namespace"] = namespace
	body, err := json.Marshal(object)
	harness.OK(t, err)
	path := fmt.Sprintf(collection, namespace) + "/" + word(metadata["name"]) + "?fieldManager=helm&fieldValidation=Strict"
	status, answer, err := s.call(t.Context(), http.MethodPatch, path, body)
	if err != nil || status != http.StatusOK && status != http.StatusCreated {
		t.Errorf("%s %s: %d %v\n%s", kind, word(metadata["name"]), status, err, answer)
	}
	var kept struct{ Metadata struct{ Generation int64 } }
	if err := json.Unmarshal(answer, &kept); err != nil {
		t.Errorf("%s: %v in %s", kind, err, answer)
	}
	return kept.Metadata.Generation
}

func (s *apiServer) makeNamespace(t *testing.T, name string) {
	t.Helper()
	// Its pods may do nothing that the strictest of Kubernetes' standards forbids.
	body := `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + name + `","labels":{"pod-security.kubernetes.io/enforce":"restricted","pod-security.kubernetes.io/warn":"restricted"}}}`
	if status, answer, err := s.call(t.Context(), http.MethodPost, "/api/v1/namespaces", []byte(body)); err != nil || status != http.StatusCreated {
		t.Fatalf("the namespace %s: %d %v\n%s", name, status, err, answer)
	}
}

// A real API server takes what the chart makes, whole and without a warning, in a namespace
// that holds pods to the restricted standard; the same once more changes nothing; and a
// release goes over from any of the value sets to any other, since nothing that cannot
// change is made of values.
func TestChartOnAnAPIServer(t *testing.T) {
	s := startAPIServer(t)
	sets := valueSets(t)
	for i, path := range sets {
		namespace := fmt.Sprintf("install-%d", i)
		s.makeNamespace(t, namespace)
		for _, m := range rendered(t, path) {
			first := s.apply(t, namespace, m)
			if again := s.apply(t, namespace, m); again != first {
				t.Errorf("%s: applied twice, the generation goes from %d to %d:\n%s", path, first, again, m)
			}
		}
		s.startsPod(t, namespace)
	}
	for i, from := range sets {
		for j, to := range sets {
			namespace := fmt.Sprintf("upgrade-%d-%d", i, j)
			s.makeNamespace(t, namespace)
			for _, path := range []string{from, to} {
				for _, m := range rendered(t, path) {
					if !bytes.Contains(m, []byte("helm.sh/hook: test")) { // made anew for each test
						s.apply(t, namespace, m)
					}
				}
			}
		}
	}
}

// startsPod makes the pod that the namespace's deployment asks for, as a cluster's
// controllers would: this alone holds it to the standard.
func (s *apiServer) startsPod(t *testing.T, namespace string) {
	t.Helper()
	_, answer, err := s.call(t.Context(), http.MethodGet, "/apis/apps/v1/namespaces/"+namespace+"/deployments", nil)
	harness.OK(t, err)
	var found struct {
		Items []struct {
			Spec struct{ Template map[string]any }
		}
	}
	if err := json.Unmarshal(answer, &found); err != nil || len(found.Items) != 1 {
		t.Fatalf("the deployments of %s: %v\n%s", namespace, err, answer)
	}
	pod := found.Items[0].Spec.Template
	pod["apiVersion"], pod["kind"] = "v1", "Pod"
	metadata, _ := pod["metadata"].(map[string]any)
	metadata["name"] = "front"
	body, err := json.Marshal(pod)
	harness.OK(t, err)
	status, answer, err := s.call(t.Context(), http.MethodPost, "/api/v1/namespaces/"+namespace+"/pods?fieldValidation=Strict", body)
	if err != nil || status != http.StatusCreated {
		t.Errorf("a pod of %s: %d %v\n%s", namespace, status, err, answer)
	}
}

// What the tests above would not notice if the server took anything.
func TestAPIServerRefuses(t *testing.T) {
	s := startAPIServer(t)
	s.makeNamespace(t, "strict")
	for what, call := range map[string]struct{ path, body string }{
		"an unknown member": {"/api/v1/namespaces/strict/configmaps?fieldValidation=Strict", `{"metadata":{"name":"a"},"datas":{}}`},
		"a privileged pod":  {"/api/v1/namespaces/strict/pods", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"a","securityContext":{"privileged":true}}]}}`},
	} {
		if status, answer, _ := s.call(t.Context(), http.MethodPost, call.path, []byte(call.body)); status < 400 || status > 499 {
			t.Errorf("%s: %d\n%s", what, status, answer)
		}
	}
}
