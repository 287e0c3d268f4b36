package template_test

import (
	"fmt"
	"runtime"
	"testing"

	"portico/template"
	"portico/template/document"
)

// bulk is a template of a loop of n resources.
func bulk(n int) string {
	return fmt.Sprintf(`{"$schema":"https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#","contentVersion":"1.0.0.0",
"parameters":{"prefix":{"type":"string","defaultValue":"vm"},"tags":{"type":"object","defaultValue":{"team":"a","cost":"b"}}},
"variables":{"sizes":["Small","Large"],"suffix":"[uniqueString(resourceGroup().id)]"},
"resources":[{"type":"Microsoft.Network/virtualNetworks","apiVersion":"2024-01-01","name":"net","location":"[resourceGroup().location]"},
{"type":"Microsoft.Compute/virtualMachines","apiVersion":"2024-07-01","name":"[format('{0}-{1}-{2}', parameters('prefix'), variables('suffix'), copyIndex(1))]",
"copy":{"name":"vms","count":%d},"location":"[resourceGroup().location]","dependsOn":["net"],
"tags":"[union(parameters('tags'), createObject('index', string(copyIndex())))]",
"properties":{"hardwareProfile":{"vmSize":"[variables('sizes')[mod(copyIndex(), length(variables('sizes')))]]"},
"storageProfile":{"copy":[{"name":"dataDisks","count":4,"input":{"lun":"[copyIndex('dataDisks')]","name":"[concat('disk', copyIndex(), '-', copyIndex('dataDisks'))]","createOption":"Empty","diskSizeGB":128}}]},
"osProfile":{"computerName":"[take(concat(parameters('prefix'), copyIndex()), 15)]","adminUsername":"azureuser"},
"networkProfile":{"subnet":"[reference('net').subnets[0].id]"}}}],
"outputs":{"names":{"type":"array","copy":{"count":%d,"input":"[concat(parameters('prefix'), copyIndex())]"}}}}`, n-1, n-1)
}

func BenchmarkExpand(b *testing.B) {
	text := []byte(bulk(800))
	b.ReportAllocs()
	for b.Loop() {
		d, faults := document.Read(text, document.Relaxed, template.Code)
		if len(faults) > 0 {
			b.Fatal(faults[0])
		}
		plan, faults, _ := template.Expand(b.Context(), input(d.Root))
		if len(faults) > 0 || len(plan.Resources) != 800 {
			b.Fatal(faults)
		}
	}
}

// Memory that a large template takes is bounded, whatever the machine does at that time.
func TestTemplateOf800ResourcesFitsIntoMemory(t *testing.T) {
	text := []byte(bulk(800))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, _ := document.Read(text, document.Relaxed, template.Code)
	plan, faults, _ := template.Expand(t.Context(), input(d.Root))
	runtime.ReadMemStats(&after)
	if len(faults) > 0 || len(plan.Resources) != 800 {
		t.Fatal(faults)
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 64<<20 {
		t.Errorf("the template took %d MiB in all", spent>>20)
	}
}
