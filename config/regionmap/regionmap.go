// Package regionmap reads the map of regions and providers: the settings of both sections, and the
// checks that need the resolved map.
package regionmap

import (
	"portico/arm"
	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
	"portico/config/yamltree"
	"portico/regions"
)

// mapReader builds a map from the declarations of regions and providers. It keeps the nodes for
// faults of the resolved map.
type mapReader struct {
	*yamltree.Report
	files       *files.Reader
	m           *regions.Map // while providers are read, it has only the regions
	declaration regions.Declaration
	regions     []*setting.Object // parallel to declaration.Regions
	providers   []providerNodes
}

type providerNodes struct {
	*setting.Object
	types []typeNodes // parallel to the provider's types in the declaration
}

type typeNodes struct {
	*setting.Object
	locations []locatedText
	skus      []skuNodes
}

// skuNodes are a SKU's references to other parts of the map.
type skuNodes struct {
	locations, versions, features []locatedText
}

// locatedText is a text with its position.
type locatedText struct {
	at   *yamltree.Node
	text string
}

// Rows returns the settings of the map. The map is stored in m after both sections were read.
func Rows(r *files.Reader, m **regions.Map) []*setting.Setting {
	b := &mapReader{Report: &r.Report, files: r, m: regions.New(regions.Declaration{})}
	return []*setting.Setting{
		b.regionRows().Then(func() {
			b.m = regions.New(b.declaration)
			b.checkRegions()
		}),
		b.providerRows().Then(func() {
			b.m = regions.New(b.declaration)
			b.checkMap()
			*m = b.m
		}),
	}
}

// textList returns the setting of a list of distinct texts. Case does not matter.
func textList(key string, want rule.Rule[string], seen *yamltree.Unique, all *[]string, doc string) *setting.Setting {
	return setting.List(key, want, doc, func(at *yamltree.Node, text string) {
		if seen.Add(at, arm.Fold(text), text) {
			*all = append(*all, text)
		}
	})
}

// locatedTextList returns the same as textList, but keeps the positions.
func locatedTextList(key string, want rule.Rule[string], seen *yamltree.Unique, all *[]locatedText, doc string) *setting.Setting {
	return setting.List(key, want, doc, func(at *yamltree.Node, text string) {
		if seen.Add(at, arm.Fold(text), text) {
			*all = append(*all, locatedText{at, text})
		}
	})
}

func plainTexts(all []locatedText) (texts []string) {
	for _, p := range all {
		texts = append(texts, p.text)
	}
	return texts
}
