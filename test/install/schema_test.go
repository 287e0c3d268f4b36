package install

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sigs.k8s.io/yaml"

	"portico/config"
	"portico/test/harness"
)

const root = "../.."

func TestSchemaTakesWhatIsRight(t *testing.T) {
	schema := configSchema(t)
	taken := 0
	for _, pattern := range []string{
		"configs/*.yaml", "configs/regions/*.yaml", "deploy/compose/portico.yaml",
		"config/testdata/good/*.yaml", "config/testdata/good/*/*.yaml", "config/testdata/base/*.yaml",
	} {
		for _, path := range files(t, pattern) {
			document, err := parseYAML(path)
			harness.OK(t, err)
			if err := schema.Validate(document); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			taken++
		}
	}
	if taken < 15 {
		t.Errorf("only %d files", taken)
	}
}

// TestSchemaRefusesWhatIsWrong holds the schema to each file that the program
// refuses. Those in beyondSchema are wrong in ways that the schema of one file
// leaves out: by another setting, another file or a list that has something
// twice, by names that are taken, or below what JSON can hold.
func TestSchemaRefusesWhatIsWrong(t *testing.T) {
	schema := configSchema(t)
	var missed []string
	for _, path := range files(t, "config/testdata/bad/*.yaml") {
		if _, err := config.Load(path); err == nil {
			t.Errorf("%s is no bad file", path)
		}
		document, err := parseYAML(path)
		if err == nil && schema.Validate(document) == nil {
			missed = append(missed, strings.TrimSuffix(filepath.Base(path), ".yaml"))
		}
	}
	if want := beyondSchema(); !slices.Equal(missed, want) {
		t.Errorf("the schema takes\n%s\nwant\n%s", strings.Join(missed, "\n"), strings.Join(want, "\n"))
	}
}

func configSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile(filepath.Join(root, "configs", "portico.schema.json"))
	harness.OK(t, err)
	return s
}

// parseYAML reads a file as an editor does; what is no YAML is an error.
func parseYAML(path string) (any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var document any
	err = yaml.UnmarshalStrict(text, &document)
	return document, err
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no files (%v)", pattern, err)
	}
	return paths
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	harness.OK(t, err)
	return text
}

func beyondSchema() []string {
	return []string{
		"admin_open", "admin_token_missing", "auth_certificates", "auth_issuers_open", "auth_no_tokens", "auth_owners_tenants", "auth_owners_unused",
		"auth_token_is_admins", "auth_token_twice",
		"auth_tokens_unused", "batch_bounds", "batch_memory", "caller_share", "caller_share_small", "client_certificate_subject", "durations_order", "endpoint_twice", "features",
		"health_path_words", "health_paths", "include_bad_pattern", "include_cycle", "include_given_twice",
		"include_missing", "include_self", "include_syntax", "include_twice", "limits_content_memory",
		"listen_open_without_auth", "listen_open_without_tls", "listen_same", "lists_memory", "lists_memory_alone", "lists_total_memory",
		"namespace_twice", "namespaces_owned", "namespaces_reserved", "provider_without_global", "region_display_name", "region_paired",
		"region_twice", "regions_empty", "regions_missing", "server_missing", "server_region", "sinks_check", "store_dsn",
		"store_dsn_postgres", "store_postgres_without_dsn", "template_subservice", "template_subservice_provider",
		"tls_empty", "tls_no_key", "tls_unreadable", "tracing_plain", "type_global_without_endpoint", "type_location_twice",
		"type_location_without_endpoint", "type_nested_extension", "type_nested_locations", "type_nested_orphan",
		"type_nested_routing", "type_path_words", "type_proxy_only_regions", "type_reserved", "type_twice",
		"type_without_endpoint", "upstream_tls", "yaml_tag", "yaml_two_documents",
	}
}
