package regionmap

import (
	"fmt"
	"maps"
	"slices"

	"portico/arm"
	"portico/config/files"
	"portico/config/yamltree"
	"portico/internal/schema"
	"portico/regions"
)

// readShapes reads the shapes of bodies from a provider's OpenAPI documents.
func (b *mapReader) readShapes(p *provider) {
	if !b.files.Reads() {
		return
	}
	documents := schema.Library{}
	for _, named := range p.spec {
		path := files.RelativeTo(named.at.File, named.text)
		document, err := documents.Load(path)
		if err != nil {
			b.files.RecordFiles(path)
			b.Fault(named.at, "spec: "+err.Error(), "a readable OpenAPI document; paths are relative to the file that names them")
			continue
		}
		b.addShapes(p, documents, document, named)
	}
	b.files.RecordFiles(slices.Sorted(maps.Keys(documents))...)
}

// addShapes adds the shapes of one document.
func (b *mapReader) addShapes(p *provider, all schema.Library, document *schema.Document, named locatedText) {
	version, served := document.Version(), 0
	for i := range p.Types {
		t := &p.Types[i]
		if !slices.ContainsFunc(t.APIVersions, func(v string) bool { return arm.EqualFold(v, version) }) {
			continue
		}
		put := document.Put(p.Namespace + "/" + t.Name)
		if put == nil {
			continue
		}
		served++
		shape, err := shapeOf(all, put)
		switch {
		case err != nil:
			b.Fault(named.at, fmt.Sprintf("spec: %s does not define the bodies of %s/%s: PUT %s: %v", named.text, p.Namespace, t.Name, put.Path, err),
				"a document whose references can be resolved")
		case t.Shapes[arm.Fold(version)] != nil:
			b.Fault(named.at, fmt.Sprintf("spec: %s defines the bodies of %s/%s of api-version %s a second time", named.text, p.Namespace, t.Name, version),
				"one document for each type and api-version")
		default:
			if t.Shapes == nil {
				t.Shapes = map[string]*schema.Shape{}
			}
			t.Shapes[arm.Fold(version)] = shape
		}
	}
	if served == 0 {
		b.Fault(named.at, fmt.Sprintf("spec: %s, of version %s, has no PUT of a type of %s with this api-version", named.text,
			yamltree.Quote(version), p.Namespace),
			"a document whose info.version is an api-version of the types that it describes: "+yamltree.Choice(versionsOf(p.Types)))
	}
}

func shapeOf(all schema.Library, put *schema.Operation) (*schema.Shape, error) {
	body, err := all.Body(put)
	if err != nil {
		return nil, err
	}
	return all.Shape(body)
}

func versionsOf(types []regions.TypeDeclaration) (all []string) {
	for _, t := range types {
		for _, v := range t.APIVersions {
			if !slices.Contains(all, v) {
				all = append(all, v)
			}
		}
	}
	return all
}
