// Command regionmap prints the providers of a region map that serve all types of templates,
// at one endpoint of every region: go run ./test/corpus/regionmap --at URL --regions
// westus,eastus FILE….
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"portico/test/corpus"
)

func main() {
	url := flag.String("at", "http://127.0.0.1:8100", "the URL of a provider that takes any type, such as contoso --any-type")
	regions := flag.String("regions", "westus", "regions that it serves beside the global endpoint, separated by commas")
	flag.Parse()
	endpoints := map[string]string{"global": *url}
	for region := range strings.SplitSeq(*regions, ",") {
		endpoints[region] = *url
	}
	var templates [][]byte
	for _, file := range flag.Args() {
		text, err := os.ReadFile(file)
		if err != nil {
			fail(err)
		}
		templates = append(templates, text)
	}
	providers, err := corpus.Providers(endpoints, templates...)
	if err != nil {
		fail(err)
	}
	fmt.Print("providers:\n" + providers)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "regionmap:", err)
	os.Exit(1)
}
