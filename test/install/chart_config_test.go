package install

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"

	"portico/config"
	"portico/test/harness"
)

// podFiles is where the pods have what the program reads.
const podFiles = "/etc/portico/"

// TestChartConfig has the program's own loader read the configuration that a
// release has, from files laid as the pod's mounts lay them.
func TestChartConfig(t *testing.T) {
	for _, path := range valueSets(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			all := rendered(t, path)
			pod := object[apps.Deployment](t, all, "Deployment", "").Spec.Template.Spec
			c, err := config.Load(layPod(t, all, pod))
			harness.OK(t, err)
			if want := values(t, path)["publicURL"]; c.Server.PublicURL.String() != want || c.Server.Region != "westus" {
				t.Errorf("%s in %s", c.Server.PublicURL, c.Server.Region)
			}
			if c.Auth.Mode == config.AuthNone || len(c.Auth.Tokens) != 1 || len(c.Server.AdminTokens) != 1 {
				t.Errorf("who may call: %+v", c.Auth)
			}
			if c.Store.Driver != config.Postgres || !strings.HasPrefix(c.Store.DSN, "postgres://") {
				t.Errorf("the store is %s", c.Store.Driver)
			}
			grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second
			if drain := c.Server.Drain; grace <= drain.Delay+drain.Limit {
				t.Errorf("it is killed after %v, its drain takes %v and %v", grace, drain.Delay, drain.Limit)
			}
			listens := map[string]string{"public": c.Server.Listen, "admin": c.Server.Admin}
			for _, p := range pod.Containers[0].Ports {
				if !strings.HasSuffix(listens[p.Name], ":"+strconv.Itoa(int(p.ContainerPort))) {
					t.Errorf("port %s is %d, where %q is listened to", p.Name, p.ContainerPort, listens[p.Name])
				}
			}
		})
	}
}

// TestChartKeepsNumbers guards against values that come through as floats.
func TestChartKeepsNumbers(t *testing.T) {
	all := rendered(t, "testdata/chart/sets/full.yaml")
	c, err := config.Load(layPod(t, all, object[apps.Deployment](t, all, "Deployment", "").Spec.Template.Spec))
	harness.OK(t, err)
	if c.Index.CacheEntries != 2000000 || c.Limits.AnswerBody != 16<<20 || c.Store.Connections != 32 || c.Server.Drain.Delay != 20*time.Second {
		t.Errorf("%+v %+v %+v %+v", c.Index, c.Limits, c.Store, c.Server.Drain)
	}
	if c.Upstream.TLS.CA == "" || c.Upstream.TLS.Cert == "" || c.Server.TLS.Cert == "" || c.Upstream.CallTimeout != 30*time.Second {
		t.Errorf("%+v %+v", c.Upstream, c.Server.TLS)
	}
}

// TestChartKeepsSecrets looks for them everywhere but in Secrets.
func TestChartKeepsSecrets(t *testing.T) {
	secret := regexp.MustCompile(`hunter2|d8c3f5915cfd|734b06ab642d`)
	held := 0
	for _, m := range rendered(t, "testdata/chart/sets/least.yaml") {
		switch {
		case strings.Contains(string(m), "kind: Secret\n"):
			held += len(secret.FindAll(m, -1))
		case secret.Match(m):
			t.Errorf("a secret in\n%s", m)
		}
	}
	if held != 3 {
		t.Errorf("the Secret holds %d", held)
	}
}

// layPod writes what a pod's volumes hold into a folder, with what the cluster
// has besides a release: the Secrets that it names. It returns the file that
// the program is told to read. Each path of the configuration must lie in a
// mount.
func layPod(t *testing.T, all [][]byte, pod core.PodSpec) (configFile string) {
	t.Helper()
	folder := t.TempDir() + "/"
	place := func(text string) string { return strings.ReplaceAll(text, podFiles, folder) }
	mounts := map[string]string{}
	for _, m := range pod.Containers[0].VolumeMounts {
		if !m.ReadOnly {
			t.Errorf("%s can be written to", m.MountPath)
		}
		mounts[m.Name] = place(m.MountPath)
	}
	for _, v := range pod.Volumes {
		if mounts[v.Name] == "" {
			t.Errorf("volume %s is mounted nowhere", v.Name)
			continue
		}
		files := map[string]string{}
		if v.ConfigMap != nil {
			m := object[core.ConfigMap](t, all, "ConfigMap", v.ConfigMap.Name)
			for name, text := range m.Data {
				files[name] = place(text)
			}
		} else if s := object[core.Secret](t, all, "Secret", v.Secret.SecretName); s != nil {
			files = s.StringData
		} else {
			files = existingSecret(t, v.Secret.SecretName)
		}
		for name, text := range files {
			harness.OK(t, os.MkdirAll(mounts[v.Name], 0o700))
			harness.OK(t, os.WriteFile(filepath.Join(mounts[v.Name], name), []byte(text), 0o600))
		}
	}
	args := pod.Containers[0].Args
	if len(args) < 3 || args[0] != "serve" || args[1] != "--config" {
		t.Fatalf("the program is called with %q", args)
	}
	return place(args[2])
}

// existingSecret is what a Secret holds that a release only names.
func existingSecret(t *testing.T, name string) map[string]string {
	t.Helper()
	pem := func(name string) string { return string(read(t, "config/testdata/files/"+name+".pem")) }
	switch name {
	case "portico-secret":
		text, err := os.ReadFile("testdata/chart/secret.yaml")
		harness.OK(t, err)
		return map[string]string{"secret.yaml": string(text)}
	case "portico-tls":
		return map[string]string{"tls.crt": pem("cert"), "tls.key": pem("key")}
	case "portico-upstream", "portico-compute":
		return map[string]string{"ca.crt": pem("ca"), "tls.crt": pem("cert"), "tls.key": pem("key")}
	}
	t.Fatalf("no Secret %s", name)
	return nil
}
