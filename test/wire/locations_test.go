package wire

import (
	"fmt"
	"testing"
)

// A location matches without case and white space; a new resource is created in the
// location of its body, and stays there.
func testLocations(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "locations")
	at := g + "/providers/Contoso.Compute/virtualMachines/"
	create := func(name, location string) message {
		return message{method: "PUT", target: at + name + q, body: `{"location":"` + location + `","properties":{}}`}
	}
	var rows []row
	for i, location := range []string{"West US", "westus", "West us", "WESTUS", " west us ", "W e s t U s", `west\tus`, "West\u00a0US"} {
		rows = append(rows, row{fmt.Sprintf("create in %q", location), create("l"+string(rune('a'+i)), location), want{status: 201, reaches: "westus"}})
	}
	notOffered := func(location, kind, regions string) want {
		return want{status: 400, code: "LocationNotAvailableForResourceType",
			text: "The provided location '" + location + "' is not available for resource type '" + kind + "'. List of available regions for the resource type is '" + regions + "'."}
	}
	for _, location := range []string{"east-us", "nowhere", "centralus", "global", "westus2", "westus,eastus", "*", "../eastus", "westus/"} {
		rows = append(rows, row{"not offered: " + location, create("none", location), notOffered(location, "Contoso.Compute/virtualMachines", "westus,eastus,northeurope")})
	}
	required := want{status: 400, code: "LocationRequired", text: "The location property is required for this definition."}
	rows = append(rows,
		row{"not offered by the type", message{method: "PUT", target: g + "/providers/Contoso.Raw/locals/n" + q, body: located("eastus")},
			notOffered("eastus", "Contoso.Raw/locals", "westus")},
		row{"missing", message{method: "PUT", target: at + "none" + q, body: `{"properties":{}}`}, required},
		row{"only below properties", message{method: "PUT", target: at + "none" + q, body: `{"properties":{"location":"westus"}}`}, required},
		row{"null", message{method: "PUT", target: at + "none" + q, body: `{"location":null}`}, required},
		row{"empty", create("none", ""), required},
		row{"white space", create("none", "  "), required},
		row{"a global type", message{method: "PUT", target: g + "/providers/Contoso.Insight/profiles/p" + q, body: located("global")}, want{status: 201, reaches: "global"}},
		row{"a global type, in capitals", message{method: "PUT", target: g + "/providers/Contoso.Insight/profiles/p2" + q, body: located("Global")}, want{status: 201, reaches: "global"}},
		row{"a global type in a region", message{method: "PUT", target: g + "/providers/Contoso.Insight/profiles/p3" + q, body: located("westus")},
			notOffered("westus", "Contoso.Insight/profiles", "global")},

		row{"put where it is", create("la", "westus"), want{status: 200, reaches: "westus"}},
		row{"put where it is, written otherwise", create("la", "West US"), want{status: 200, reaches: "westus"}},
		row{"put elsewhere", create("la", "eastus"), want{status: 409, code: "InvalidResourceLocation",
			text: "The resource 'la' already exists in location 'westus' in resource group 'locations'. A resource with the same name cannot be created in location 'eastus'. Please select a new resource name."}},
		row{"put nowhere", create("la", "nowhere"), notOffered("nowhere", "Contoso.Compute/virtualMachines", "westus,eastus,northeurope")},

		row{"nested, without one", message{method: "PUT", target: at + "la/disks/a" + q, body: `{"properties":{}}`}, want{status: 201, reaches: "westus"}},
		row{"nested, the parent's", message{method: "PUT", target: at + "la/disks/b" + q, body: located("West US")}, want{status: 201, reaches: "westus"}},
		row{"nested, another", message{method: "PUT", target: at + "la/disks/c" + q, body: located("eastus")},
			notOffered("eastus", "Contoso.Compute/virtualMachines/disks", "westus")},
		row{"nested, an existing one elsewhere", message{method: "PUT", target: at + "la/disks/a" + q, body: located("eastus")},
			notOffered("eastus", "Contoso.Compute/virtualMachines/disks", "westus")},
		row{"nested below nothing", message{method: "PUT", target: at + "absent/disks/a" + q, body: `{"properties":{}}`},
			want{status: 404, code: "ParentResourceNotFound", text: "Can not perform requested operation on nested resource. Parent resource 'absent' not found.", about: at + "absent"}},
		row{"nested proxy-only", message{method: "PUT", target: at + "la/runCommands/r" + q, body: `{"properties":{}}`}, want{status: 201, reaches: "westus"}},

		row{"a group in no region", message{method: "PUT", target: S + "/resourceGroups/locations-new" + q, body: located("nowhere")},
			want{status: 400, code: "LocationNotAvailableForResourceGroup", about: "location",
				text: "The provided location 'nowhere' is not available for resource group. List of available regions is 'westus,eastus,northeurope'."}},
		row{"a group without location", message{method: "PUT", target: S + "/resourceGroups/locations-new" + q, body: `{"tags":{}}`}, required},
		row{"a group elsewhere", message{method: "PUT", target: g + q, body: located("eastus")}, want{status: 409, code: "InvalidResourceGroupLocation",
			text: "Invalid resource group location 'eastus'. The Resource group already exists in location 'westus'."}},
		row{"a group, written otherwise", message{method: "PUT", target: g + q, body: `{"location":"West US"}`}, want{status: 200}},
		row{"a group is created by none of these", message{target: S + "/resourceGroups/locations-new" + q}, want{status: 404, code: "ResourceGroupNotFound"}},
		row{"a resource is created by none of these", message{target: at + "none" + q}, want{status: 404, code: "ResourceNotFound"}},
	)
	w.table(t, rows)
}
