package install

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"

	"portico/test/harness"
)

const chartFolder = root + "/deploy/chart"

// render returns the manifests that Helm makes of the chart and values.
func render(ctx context.Context, values map[string]any) ([][]byte, error) {
	chart, err := loader.Load(chartFolder)
	if err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: "front", Namespace: "portico", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	e := engine.Engine{Strict: true}
	texts, err := e.RenderWithContext(ctx, chart, all)
	if err != nil {
		return nil, err
	}
	var manifests [][]byte
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		for part := range strings.SplitSeq(texts[name], "\n---\n") {
			if strings.TrimSpace(part) != "" {
				manifests = append(manifests, []byte(part))
			}
		}
	}
	return manifests, nil
}

func values(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	harness.OK(t, err)
	v := map[string]any{}
	harness.OK(t, yaml.UnmarshalStrict(text, &v))
	return v
}

// valueSets are the tests' own values, and the chart's examples.
func valueSets(t *testing.T) (paths []string) {
	t.Helper()
	for _, pattern := range []string{"testdata/chart/sets/*.yaml", chartFolder + "/examples/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) < 3 {
			t.Fatalf("value sets %v (%v)", found, err)
		}
		paths = append(paths, found...)
	}
	return paths
}

// object is one manifest, read into the parts of Kubernetes' types that tests
// look at.
func object[T any](t *testing.T, manifests [][]byte, kind, nameSuffix string) *T {
	t.Helper()
	for _, m := range manifests {
		var head struct {
			Kind     string
			Metadata struct{ Name string }
		}
		harness.OK(t, yaml.Unmarshal(m, &head))
		if head.Kind == kind && strings.HasSuffix(head.Metadata.Name, nameSuffix) {
			v := new(T)
			if err := yaml.UnmarshalStrict(m, v); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			return v
		}
	}
	return nil
}

// rendered is what Helm makes of a set of values.
func rendered(t *testing.T, path string) [][]byte {
	t.Helper()
	manifests, err := render(t.Context(), values(t, path))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return manifests
}
