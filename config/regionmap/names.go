package regionmap

import (
	"slices"
	"strings"

	"portico/arm"
	"portico/config/yamltree"
)

// reservedWords cannot be a segment of a type name (resource reference,
// Resource Provider and Type Names best-practices).
func reservedWords() []string {
	return []string{
		"deployments", "location", "region", "availability", "provider", "application", "resource",
		"graph", "policy", "migrate", "templates", "catalog", "gallery", "portal",
	}
}

// pathWords have a meaning of their own in a request's path, so that a type of
// that name could not be told from it.
func pathWords() []string {
	return []string{
		"providers", "subscriptions", "resourceGroups", "locations", "operations",
		"operationResults", "operationStatuses", "operationsStatus",
	}
}

// ownNamespaces are served by the gateway itself.
func ownNamespaces() []string {
	return []string{"Microsoft.Resources", "Microsoft.Authorization", "Microsoft.Features"}
}

func oneOfFold(words []string, s string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return arm.EqualFold(w, s) })
}

const namespaceForm = "ASCII letters, digits and single full stops between them, such as Contoso.Compute"

// checkNamespace reports what is wrong with a namespace.
func checkNamespace(r *yamltree.Report, at *yamltree.Node, namespace string) bool {
	switch {
	case !arm.ValidNamespace(namespace):
		r.Fault(at, yamltree.QuoteASCII(namespace)+" is no provider namespace", namespaceForm)
	case oneOfFold(ownNamespaces(), namespace):
		r.Fault(at, "namespace "+yamltree.Quote(namespace)+" is the gateway's own", "any but "+yamltree.Choice(ownNamespaces()))
	default:
		return true
	}
	return false
}

const typeForm = "segments of ASCII letters and digits, such as virtualMachines or virtualMachines/disks, without the namespace"

// maxTypeSegments bounds how deeply types nest.
const maxTypeSegments = 8

// checkTypeName reports what is wrong with a type name, and warns of one that
// does not follow the conventions.
func checkTypeName(r *yamltree.Report, at *yamltree.Node, name string) bool {
	segments := strings.Split(name, "/")
	if len(segments) > maxTypeSegments {
		r.Fault(at, "type "+yamltree.Quote(name)+" is nested too deeply", "at most 8 segments")
		return false
	}
	for _, s := range segments {
		switch {
		case !arm.ValidTypeName(s):
			r.Fault(at, yamltree.QuoteASCII(name)+" is no type name", typeForm)
			return false
		case oneOfFold(reservedWords(), s):
			r.Fault(at, "type "+yamltree.Quote(name)+" uses the reserved word "+yamltree.Quote(s), "any but "+yamltree.Choice(reservedWords()))
			return false
		case oneOfFold(pathWords(), s):
			r.Fault(at, "type "+yamltree.Quote(name)+" uses "+yamltree.Quote(s)+", which has a meaning of its own in paths",
				"any but "+yamltree.Choice(pathWords()))
			return false
		}
	}
	for _, s := range segments {
		if s[0] < 'a' || s[0] > 'z' || !strings.HasSuffix(s, "s") {
			r.Warn(at, "type "+yamltree.Quote(name)+" is not a lowerCamelCase plural", "names such as virtualMachines")
			break
		}
	}
	return true
}
