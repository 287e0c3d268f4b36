package regionmap

import (
	"slices"
	"strings"

	"portico/arm"
	"portico/config/yamltree"
)

// reservedWords must not be a segment of a namespace or a type name, in singular or plural
// (resource reference, Resource Provider and Type Names best-practices).
func reservedWords() []string {
	return []string{
		"deployments", "location", "region", "availability", "provider", "application", "resource",
		"graph", "policy", "migrate", "templates", "catalog", "gallery", "portal",
	}
}

// isReserved reports whether a segment is a reserved word, in singular or plural.
func isReserved(segment string) bool {
	return slices.ContainsFunc(reservedWords(), func(w string) bool { return plural(w) == plural(segment) })
}

// plural returns the plural of a word, which may already be plural.
func plural(word string) string {
	word = arm.Fold(word)
	if stem, y := strings.CutSuffix(word, "y"); y {
		return stem + "ies"
	}
	return strings.TrimSuffix(word, "s") + "s"
}

// pathWords have a meaning in the paths of requests, so that types of these names would be
// ambiguous.
func pathWords() []string {
	return []string{
		"providers", "subscriptions", "resourceGroups", "locations", "operations",
		"operationResults", "operationStatuses", "operationsStatus",
	}
}

// ownNamespaces returns the namespaces that the gateway itself serves.
func ownNamespaces() []string {
	return []string{"Microsoft.Resources", "Microsoft.Authorization", "Microsoft.Features"}
}

func oneOfFold(words []string, s string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return arm.EqualFold(w, s) })
}

const namespaceForm = "ASCII letters, digits and single full stops between them, such as Contoso.Compute"

// CheckNamespace reports an invalid namespace.
func CheckNamespace(r *yamltree.Report, at *yamltree.Node, namespace string) bool {
	switch {
	case !arm.ValidNamespace(namespace):
		r.Fault(at, yamltree.QuoteASCII(namespace)+" is not a valid provider namespace", namespaceForm)
	case oneOfFold(ownNamespaces(), namespace):
		r.Fault(at, "namespace "+yamltree.Quote(namespace)+" belongs to the gateway", "any but "+yamltree.Choice(ownNamespaces()))
	case oneOfFold(pathWords(), namespace):
		r.Fault(at, "namespace "+yamltree.Quote(namespace)+" is reserved in paths", "any but "+yamltree.Choice(pathWords()))
	default:
		return checkReserved(r, at, "namespace", namespace, strings.Split(namespace, "."))
	}
	return false
}

// checkReserved reports a name with a reserved word as a segment.
func checkReserved(r *yamltree.Report, at *yamltree.Node, kind, name string, segments []string) bool {
	for _, s := range segments {
		if isReserved(s) {
			r.Fault(at, kind+" "+yamltree.Quote(name)+" uses the reserved word "+yamltree.Quote(s),
				"any but "+yamltree.Choice(reservedWords())+", in singular or plural")
			return false
		}
	}
	return true
}

const typeForm = "segments of ASCII letters and digits, such as virtualMachines or virtualMachines/disks, without the namespace"

// maxTypeSegments limits the nesting of types.
const maxTypeSegments = 8

// CheckTypeName reports an invalid type name, and warns of a name that does not follow the
// conventions.
func CheckTypeName(r *yamltree.Report, at *yamltree.Node, name string) bool {
	segments := strings.Split(name, "/")
	if len(segments) > maxTypeSegments {
		r.Fault(at, "type "+yamltree.Quote(name)+" is nested too deeply", "at most 8 segments")
		return false
	}
	for _, s := range segments {
		switch {
		case !arm.ValidTypeName(s):
			r.Fault(at, yamltree.QuoteASCII(name)+" is not a valid type name", typeForm)
			return false
		case oneOfFold(pathWords(), s):
			r.Fault(at, "type "+yamltree.Quote(name)+" uses "+yamltree.Quote(s)+", which is reserved in paths",
				"any but "+yamltree.Choice(pathWords()))
			return false
		}
	}
	if !checkReserved(r, at, "type", name, segments) {
		return false
	}
	for _, s := range segments {
		if s[0] < 'a' || s[0] > 'z' || !strings.HasSuffix(s, "s") {
			r.Warn(at, "type "+yamltree.Quote(name)+" is not a lowerCamelCase plural", "names such as virtualMachines")
			break
		}
	}
	return true
}
