package arm

import (
	"slices"
	"strings"
)

// Trademarked words. The first ones may not be the name of a resource; the others may
// not even be part of it.
var (
	reservedNames = []string{
		"access", "azure", "bing", "bizspark", "biztalk", "cortana", "directx", "dotnet", "dynamics", "excel",
		"exchange", "forefront", "groove", "hololens", "hyperv", "kinect", "lync", "msdn", "o365", "office",
		"office365", "onedrive", "onenote", "outlook", "powerpoint", "sharepoint", "skype", "visio", "visualstudio",
	}
	reservedParts = []string{"login", "microsoft", "windows", "xbox"}
)

// ReservedName reports whether a resource name is a reserved word, or contains one that
// may not be part of a name, in any casing.
func ReservedName(name string) bool {
	folded := Fold(name)
	return slices.Contains(reservedNames, folded) ||
		slices.ContainsFunc(reservedParts, func(part string) bool { return strings.Contains(folded, part) })
}
