// Package regionmap reads the map of regions and providers: the rows of both
// sections, and the checks that need the resolved map.
package regionmap

import (
	"portico/arm"
	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
	"portico/regions"
)

// reader turns the declarations of regions and providers into a map, and keeps
// what the checks of the resolved map point to.
type reader struct {
	*yamltree.Report
	files       *files.Reader
	m           *regions.Map // while providers are read: the regions alone
	declaration regions.Declaration
	regions     []*setting.Object // of those in the declaration, in its order
	providers   []providerNodes
}

type providerNodes struct {
	*setting.Object
	types []typeNodes // of those types that are in the declaration, in its order
}

type typeNodes struct {
	*setting.Object
	locations []placed
	skus      []skuNodes
}

// skuNodes are what a SKU says of other parts of the map.
type skuNodes struct {
	locations, versions, features []placed
}

// placed is a text and where it stands.
type placed struct {
	at   *yamltree.Node
	text string
}

// Rows are the sections of the map, which goes to m once both were read.
func Rows(r *files.Reader, m **regions.Map) []*setting.Setting {
	b := &reader{Report: &r.Report, files: r, m: regions.New(regions.Declaration{})}
	return []*setting.Setting{
		b.regionRows().Then(func() {
			b.m = regions.New(b.declaration)
			b.checkRegions()
		}),
		b.providerRows().Then(func() {
			b.m = regions.New(b.declaration)
			b.check()
			*m = b.m
		}),
	}
}

// texts is a list of texts, each once but for case.
func texts(key string, want rule.Rule[string], seen *yamltree.Unique, all *[]string, doc string) *setting.Setting {
	return setting.List(key, want, doc, func(at *yamltree.Node, text string) {
		if seen.Add(at, arm.Fold(text), text) {
			*all = append(*all, text)
		}
	})
}

// placedTexts is texts with their places.
func placedTexts(key string, want rule.Rule[string], seen *yamltree.Unique, all *[]placed, doc string) *setting.Setting {
	return setting.List(key, want, doc, func(at *yamltree.Node, text string) {
		if seen.Add(at, arm.Fold(text), text) {
			*all = append(*all, placed{at, text})
		}
	})
}

func textsOf(all []placed) (texts []string) {
	for _, p := range all {
		texts = append(texts, p.text)
	}
	return texts
}
