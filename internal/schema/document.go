package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// Library caches parsed documents by file name.
type Library map[string]*Document

// Document is an OpenAPI document, or a file with part of one.
type Document struct {
	file string
	root any
}

// Node is a JSON object in a document.
type Node struct {
	Doc   *Document
	Value map[string]any
	// pointer is its JSON pointer, "/definitions/Widget", if a reference led to it.
	pointer string
}

// Load parses a file, once.
func (l Library) Load(file string) (*Document, error) {
	file = filepath.Clean(file)
	if d, known := l[file]; known {
		return d, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := &Document{file: file}
	if trimmed := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))); bytes.HasPrefix(trimmed, []byte("{")) {
		err = json.Unmarshal(trimmed, &d.root)
	} else {
		d.root, err = fromYAML(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if _, ok := d.root.(map[string]any); !ok {
		return nil, fmt.Errorf("%s: not an OpenAPI document: it is no object", file)
	}
	l[file] = d
	return d, nil
}

// Version returns the document's info.version.
func (d *Document) Version() string {
	version, _ := ObjectAt(d.root, "info")["version"].(string)
	return version
}

// fromYAML parses YAML into the types that encoding/json uses.
func fromYAML(text []byte) (root any, err error) {
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	asJSON, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(asJSON, &root)
	return root, err
}

// maxReferences limits the length of a chain of references.
const maxReferences = 32

// errNoFile means that a reference's file does not exist.
var errNoFile = errors.New("there is no such file")

// Resolve follows references.
func (l Library) Resolve(n Node) (Node, error) {
	for range maxReferences {
		ref, ok := n.Value["$ref"].(string)
		if !ok {
			return n, nil
		}
		next, err := l.resolveRef(n.Doc, ref)
		if err != nil {
			return Node{}, fmt.Errorf("the reference %q: %w", ref, err)
		}
		n = next
	}
	return Node{}, fmt.Errorf("more than %d references lead to each other", maxReferences)
}

func (l Library) resolveRef(from *Document, ref string) (Node, error) {
	file, pointer, _ := strings.Cut(ref, "#")
	if strings.Contains(file, "://") {
		return Node{}, errors.New("only files are read")
	}
	doc := from
	if file != "" {
		name, err := url.PathUnescape(file)
		if err != nil {
			return Node{}, err
		}
		doc, err = l.Load(filepath.Join(filepath.Dir(from.file), filepath.FromSlash(name)))
		if errors.Is(err, os.ErrNotExist) {
			return Node{}, errNoFile
		}
		if err != nil {
			return Node{}, err
		}
	}
	found := doc.root
	for _, part := range strings.Split(pointer, "/")[1:] {
		name, err := url.PathUnescape(part)
		if err != nil {
			return Node{}, err
		}
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch v := found.(type) {
		case map[string]any:
			found = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return Node{}, errors.New("it leads nowhere")
			}
			found = v[i]
		default:
			found = nil
		}
	}
	value, ok := found.(map[string]any)
	if !ok {
		return Node{}, errors.New("it leads to no object")
	}
	return Node{doc, value, pointer}, nil
}

// ObjectAt returns the object that a path of names leads to, or nil.
func ObjectAt(v any, names ...string) map[string]any {
	for _, name := range names {
		o, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = o[name]
	}
	o, _ := v.(map[string]any)
	return o
}

// StringsOf returns the strings of an array.
func StringsOf(v any) []string {
	array, _ := v.([]any)
	var all []string
	for _, item := range array {
		if s, ok := item.(string); ok {
			all = append(all, s)
		}
	}
	return all
}
