package api

import (
	"encoding"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/arm"
)

// failure is the answer that every error has.
type failure struct {
	Error arm.Error `json:"error"`
}

// describer makes schemas of types. Those of structs have names.
type describer struct {
	t        *testing.T
	comments map[string]string // of types, and of members as Type.Member
	schemas  object
}

// answer is the schema of an answer: members that are never left out are required.
func (d *describer) answer(value any) object { return d.schema(reflect.TypeOf(value), false) }

// content is the schema of what a request carries: a member is required where its tag says
// so, or where nothing but requests has the type and it is never left out.
func (d *describer) content(value any) object {
	t := reflect.TypeOf(value)
	for field := range t.Fields() {
		if field.Tag.Get("content") != "" {
			return d.schema(t, true)
		}
	}
	return d.schema(t, false)
}

var (
	texts     = reflect.TypeFor[encoding.TextMarshaler]()
	anyText   = reflect.TypeFor[json.RawMessage]()
	moments   = reflect.TypeFor[time.Time]()
	described = reflect.TypeFor[interface{ Described() any }]()
)

func (d *describer) schema(t reflect.Type, asContent bool) object {
	switch {
	case t.Implements(described):
		return d.schema(reflect.TypeOf(reflect.Zero(t).Interface().(interface{ Described() any }).Described()), false)
	case t == moments:
		return object{"type": "string", "format": "date-time"}
	case t == anyText:
		return object{}
	case t.Implements(texts):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.schema(t.Elem(), asContent)
	case reflect.Struct:
		return d.named(t, asContent)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "format": "byte"} // Base64
		}
		return object{"type": "array", "items": d.schema(t.Elem(), false)}
	case reflect.Map:
		if t.Elem().Kind() == reflect.Interface {
			return object{"type": "object"}
		}
		return object{"type": "object", "additionalProperties": d.schema(t.Elem(), false)}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return object{"type": "integer", "format": "int64"}
	}
	d.t.Fatalf("%v has no schema", t)
	return nil
}

var notOfAName = regexp.MustCompile(`\W`)

// nameOf is the name of a schema. That of a list of jobs is JobPage.
func nameOf(t reflect.Type) string {
	name, of, generic := strings.Cut(t.Name(), "[")
	if generic {
		name = of[strings.LastIndexByte(of, '.')+1:] + name
	}
	name = notOfAName.ReplaceAllString(name, "")
	return strings.ToUpper(name[:1]) + name[1:]
}

func (d *describer) named(t reflect.Type, asContent bool) object {
	name := nameOf(t)
	if asContent {
		name += "Content"
	}
	reference := object{"$ref": "#/components/schemas/" + name}
	if _, known := d.schemas[name]; known {
		return reference
	}
	properties, required := object{}, []string{}
	schema := object{"type": "object", "properties": properties}
	d.schemas[name] = schema // it may have itself as a member
	typeName, _, _ := strings.Cut(t.Name(), "[")
	if said := d.comments[typeName]; said != "" {
		schema["description"] = said
	}
	for _, f := range reflect.VisibleFields(t) {
		member, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if member == "-" || f.Anonymous {
			continue
		}
		if member == "" {
			d.t.Errorf("%v.%s has no name", t, f.Name)
		}
		property := d.schema(f.Type, false)
		if said := d.comments[typeName+"."+f.Name]; said != "" {
			if property["$ref"] != nil { // nothing may stand beside a reference
				property = object{"allOf": []object{property}}
			}
			property["description"] = said
		}
		properties[member] = property
		if asContent && f.Tag.Get("content") == "required" || !asContent && options == "" {
			required = append(required, member)
		}
	}
	if slices.Sort(required); len(required) > 0 {
		schema["required"] = required
	}
	return reference
}

// readComments reads what is said of types and their members where they are defined.
func readComments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	comments := map[string]string{}
	for _, name := range append(files, "../../../events/cloud.go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range file.Decls {
			of, ok := declared.(*ast.GenDecl)
			if !ok || of.Tok != token.TYPE {
				continue
			}
			for _, spec := range of.Specs {
				readType(comments, spec.(*ast.TypeSpec), of.Doc)
			}
		}
	}
	return comments
}

func readType(comments map[string]string, spec *ast.TypeSpec, doc *ast.CommentGroup) {
	comments[spec.Name.Name] = plain(doc)
	members, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range members.Fields.List {
		for _, name := range f.Names {
			comments[spec.Name.Name+"."+name.Name] = strings.TrimSpace(plain(f.Doc) + " " + plain(f.Comment))
		}
	}
}

// plain is a comment on one line.
func plain(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
