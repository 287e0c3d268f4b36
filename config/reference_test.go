package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"portico/config/files"
	"portico/config/setting"
)

// TestReference holds the committed reference and schema to what the rows say.
func TestReference(t *testing.T) {
	page, schema := references(t)
	golden(t, "../configs/reference.md", page)
	golden(t, "../configs/portico.schema.json", schema)
}

func references(t *testing.T) (page, schema string) {
	t.Helper()
	var p, s bytes.Buffer
	must(t, WriteReference(&p))
	must(t, WriteSchema(&s))
	return p.String(), s.String()
}

// TestReferenceDefaults compares what the reference shows with Defaults.
func TestReferenceDefaults(t *testing.T) {
	page, _ := references(t)
	for path, want := range map[string]string{
		"server.drain.delay": "5s", "index.tombstones": "24h", "operations.retryAfterMax": "10m", "upstream.callTimeout": "1m",
		"limits.requestBody": "4MiB", "index.cacheEntries": "262144", "auth.mode": "none", "lists.onRegionFailure": "fail",
		"server.listen": "127.0.0.1:8080", "subscriptions[].covered": "false",
	} {
		if facts := factsOf(page, path); !slices.Contains(facts, "default `"+want+"`") {
			t.Errorf("%s: got %q", path, facts)
		}
	}
}

// factsOf is what the reference says of a setting before its sentence.
func factsOf(page, path string) []string {
	_, rest, found := strings.Cut(page, "\n**`"+path+"`** — ")
	line, _, _ := strings.Cut(rest, ".  \n")
	if !found {
		return nil
	}
	return strings.Split(line, "; ")
}

// TestEveryFieldHasItsRow guards against a field that no row fills, and against
// rows that fill the same one: defaults and files would agree on the mistake.
func TestEveryFieldHasItsRow(t *testing.T) {
	c := Defaults()
	filled := make(map[any]string)
	setting.Each(c.rows(&files.Reader{}), func(path string, at any) {
		if other, twice := filled[at]; twice {
			t.Errorf("%s and %s fill the same field", path, other)
		}
		filled[at] = path
	})
	var look func(name string, v reflect.Value)
	look = func(name string, v reflect.Value) {
		switch v.Kind() { //nolint:exhaustive // the others are scalars
		case reflect.Struct:
			for i := range v.NumField() {
				look(name+"."+v.Type().Field(i).Name, v.Field(i))
			}
		case reflect.Slice, reflect.Map: // filled item by item
		default:
			byWord := name == ".Server.TLS.Terminated" || name == ".Server.Compression.Off"
			if name != ".tree" && filled[v.Addr().Interface()] == "" && name != ".Map" && !byWord {
				t.Errorf("no row fills %s", name)
			}
		}
	}
	c.Sources = Sources{}
	look("", reflect.ValueOf(&c).Elem())
	if len(filled) < 80 {
		t.Errorf("only %d rows", len(filled))
	}
}

// TestEverySettingIsKnownEverywhere changes one setting at a time: what a
// running gateway makes of it, the reference, the schema and the keys that a
// fault suggests must agree.
func TestEverySettingIsKnownEverywhere(t *testing.T) {
	page, schema := references(t)
	old, restarts := Defaults(), 0
	setting.Each(old.rows(&files.Reader{}), func(path string, _ any) {
		facts := factsOf(page, path)
		if facts == nil {
			t.Errorf("%s is not in the reference", path)
		}
		if !inSchema(t, schema, path) {
			t.Errorf("%s is not in the schema", path)
		}
		if keys := suggested(t, path); !slices.Contains(keys, path[strings.LastIndexByte(path, '.')+1:]) {
			t.Errorf("%s is not among the keys %q", path, keys)
		}
		for _, elsewhere := range []string{"server.publicURL", "server.tls.", "server.adminToken.", "log.oneIn."} {
			if strings.HasPrefix(path, elsewhere) {
				return // its value lies behind a pointer, in a map, or is judged with others
			}
		}
		next := Defaults()
		change(next.at(path))
		effective, restart := MergeForReload(&old, &next)
		if needed := slices.Contains(facts, "needs a restart"); needed != (len(restart) == 1 && strings.HasPrefix(path, restart[0])) || !needed && len(restart) > 0 {
			t.Errorf("%s: a restart for %q, in the reference %q", path, restart, facts)
		} else if was, is := reflect.ValueOf(old.at(path)).Elem(), reflect.ValueOf(effective.at(path)).Elem(); was.Equal(is) != needed {
			t.Errorf("%s has become %v, was %v", path, is, was)
		}
		restarts += len(restart)
	})
	if restarts < 30 {
		t.Errorf("only %d settings need a restart", restarts)
	}
}

// at returns where the setting of a path is.
func (c *Config) at(path string) (found any) {
	setting.Each(c.rows(&files.Reader{}), func(p string, at any) {
		if p == path {
			found = at
		}
	})
	return found
}

func change(at any) {
	switch v := reflect.ValueOf(at).Elem(); v.Kind() { //nolint:exhaustive // no setting is of another kind
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Float64:
		v.SetFloat(v.Float() / 2)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Uint8:
		v.SetUint(v.Uint() + 1)
	default:
		v.SetInt(v.Int() + 1)
	}
}

func inSchema(t *testing.T, schema, path string) bool {
	t.Helper()
	var node map[string]any
	must(t, json.Unmarshal([]byte(schema), &node))
	for key := range strings.SplitSeq(path, ".") {
		if forms, ok := node["oneOf"].([]any); ok { // a word, or a mapping
			node, _ = forms[1].(map[string]any)
		}
		properties, _ := node["properties"].(map[string]any)
		node, _ = properties[key].(map[string]any)
	}
	return node != nil
}

// suggested are the keys that are allowed in place of an unknown one beside a
// setting.
func suggested(t *testing.T, path string) []string {
	t.Helper()
	keys := strings.Split(path, ".")
	keys[len(keys)-1] = "wibble"
	text := strings.Join(keys, ": {") + ": 1" + strings.Repeat("}", len(keys)-1)
	_, err := parse("x.yaml", text)
	var faults Faults
	if !errors.As(err, &faults) {
		t.Fatalf("%s: %v", text, err)
	}
	for _, f := range faults {
		if strings.HasPrefix(f.What, `unknown key "wibble"`) {
			return strings.Split(f.Allowed, ", ")
		}
	}
	return nil
}
