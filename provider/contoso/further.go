package contoso

import (
	"fmt"
	"slices"
	"strings"
)

// furtherTypes reads Options.Types.
func furtherTypes(named []string) (further catalog, versions []string, err error) {
	for _, text := range named {
		name, version, ok := strings.Cut(text, "@")
		namespace, path, below := strings.Cut(name, "/")
		if !ok || !below || namespace == "" || path == "" || version == "" {
			return nil, nil, fmt.Errorf("%q is not a resource type with an api-version, such as Namespace/type@2024-01-01", text)
		}
		t := &resourceType{namespace: namespace, path: path}
		if t.nested() {
			t.kind = proxyOnly
		}
		further = append(further, t)
		if !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
	}
	return further, versions, nil
}
