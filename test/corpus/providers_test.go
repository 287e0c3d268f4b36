package corpus

import (
	"testing"

	"portico/test/harness"
)

// A map has every type once, by how the templates use it, with its parents and all its
// api-versions; it has none of those that Portico serves itself.
func TestProviders(t *testing.T) {
	t.Parallel()
	got, err := Providers(map[string]string{"westus": "http://w", "global": "http://g"}, []byte(`{"resources": [
		{"type": "Fabrikam.Paint/walls", "apiVersion": "2023-01-01", "name": "w", "location": "westus", "resources": [{"type": "coats", "apiVersion": "2023-01-01", "name": "c"}]},
		{"type": "Fabrikam.Paint/walls/providers/marks", "apiVersion": "2020-01-01", "name": "w/Fabrikam.Notes/m"},
		{"type": "Fabrikam.Notes/signs", "apiVersion": "2020-01-01", "name": "s", "scope": "[resourceId('Fabrikam.Paint/walls', 'w')]"},
		{"type": "Fabrikam.Paint/colours", "apiVersion": "2022-01-01", "name": "z", "location": "global"},
		{"type": "Microsoft.Authorization/locks", "apiVersion": "2020-05-01", "name": "l"},
		{"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "m", "properties": {"template": {"resources": {
			"a": {"type": "Fabrikam.Paint/mixes", "apiVersion": "2021-01-01-preview", "name": "m"},
			"b": {"type": "Fabrikam.Paint/shops/shelves", "apiVersion": "2021-01-01", "name": "s/x", "existing": true}}}}}],
		"outputs": {"o": {"type": "string", "value": "[reference(resourceId('Fabrikam.Paint/walls', 'w'), '2024-06-01').x]"}}}`))
	harness.OK(t, err)
	const want = `  - namespace: Fabrikam.Notes
    registration: required
    endpoints: {global: ["http://g"], westus: ["http://w"]}
    resourceTypes:
      - {name: marks, kind: extension, apiVersions: ["2020-01-01"]}
      - {name: signs, kind: extension, apiVersions: ["2020-01-01"]}
  - namespace: Fabrikam.Paint
    registration: required
    endpoints: {global: ["http://g"], westus: ["http://w"]}
    resourceTypes:
      - {name: colours, kind: tracked, routing: global, apiVersions: ["2022-01-01"], capabilities: {tags: true}}
      - {name: mixes, kind: proxyOnly, routing: global, apiVersions: ["2021-01-01-preview"]}
      - {name: shops, kind: tracked, apiVersions: ["2021-01-01"], capabilities: {tags: true}}
      - {name: shops/shelves, kind: proxyOnly, apiVersions: ["2021-01-01"]}
      - {name: walls, kind: tracked, apiVersions: ["2024-06-01", "2023-01-01"], capabilities: {tags: true}}
      - {name: walls/coats, kind: proxyOnly, apiVersions: ["2023-01-01"]}
`
	if got != want {
		t.Errorf("%s", got)
	}
}
