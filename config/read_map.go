package config

import (
	"portico/regions"
)

// mapReader turns the declarations of regions and providers into a Map, and
// keeps the nodes that the checks of the resolved Map point to.
type mapReader struct {
	r         *report
	m         *regions.Map // while providers are read: the regions alone
	d         regions.Declaration
	regions   []object // of those in the declaration, in its order
	providers []providerNodes
}

type providerNodes struct {
	object
	namespace *node
	types     []typeNodes // of those types that are in the declaration, in its order
}

type typeNodes struct {
	object
	name      *node
	locations []locationNode
	skus      []skuNodes
}

type locationNode struct {
	at       *node
	location string // normalised
}

func readMap(root object) *regions.Map {
	b := &mapReader{r: root.r}
	b.readRegions(root)
	b.m = regions.New(b.d)
	b.checkRegions()
	b.readProviders(root)
	b.m = regions.New(b.d)
	b.check()
	return b.m
}
