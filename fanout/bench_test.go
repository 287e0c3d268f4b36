package fanout

import (
	"fmt"
	"strings"
	"testing"

	"portico/arm"
)

// What it costs to scan a page of a MiB, also for who may read a tenth of it, and to merge
// eight of them.
func BenchmarkPages(b *testing.B) {
	var pages []Page
	var size int64
	for region := range 8 {
		var text strings.Builder
		text.WriteString(`{"value":[`)
		for i := 0; text.Len() < 1<<20; i++ {
			if i > 0 {
				text.WriteByte(',')
			}
			fmt.Fprintf(&text, `{"id":"/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg-%d/providers/Contoso.Compute/virtualMachines/vm-%d-%06d","name":"vm-%06d","type":"Contoso.Compute/virtualMachines","location":"westus","tags":{"env":"prod"},"properties":{"vmSize":"Standard_D2s_v3","disks":[{"lun":0,"diskSizeGB":128},{"lun":1,"diskSizeGB":256}],"provisioningState":"Succeeded"}}`, i%10, region, i, i)
		}
		text.WriteString(`]}`)
		page, err := ParsePage([]byte(text.String()))
		must(b, err)
		pages = append(pages, page)
		size += int64(text.Len())
	}
	kept := &buffers{}
	scan := func(name string, look func(*Page)) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(pages[0].Text)))
			b.ReportAllocs()
			for b.Loop() {
				page, err := parsePage(pages[0].Text, kept.elementsOf(pages[0].Text))
				must(b, err)
				look(&page)
				kept.keepElements(page.Elements)
			}
		})
	}
	var list arm.Path
	must(b, list.Parse("/subscriptions/00000000-0000-0000-0000-000000000001/providers/Contoso.Compute/virtualMachines"))
	const mine = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg-3/"
	tenth := visibility{func(id string) bool { return len(id) > len(mine) && arm.EqualFold(id[:len(mine)], mine) }, &list}
	scan("scan", func(*Page) {})
	scan("scan and show a tenth", func(page *Page) { tenth.hide(page) })
	scan("scan and show all", func(page *Page) {
		if page.HideForeign(&list) != len(page.Elements) {
			b.Fatal("something is hidden")
		}
	})
	b.Run("merge", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			m := &MergedPage{buffers: kept}
			m.build(pages)
		}
	})
}
