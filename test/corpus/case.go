package corpus

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

//go:embed templates/*.json refused/*.json
var files embed.FS

// Case is a template with what becomes of it.
type Case struct {
	Name       string // the file's, without its suffix
	Template   []byte
	Parameters []byte // a parameter file; nil without one
	Expectation
}

// Expectation is what the metadata of a template say.
type Expectation struct {
	Shows string // the feature, in a sentence
	// Scope is "subscription" if the template is deployed to one, at westus. Others are
	// deployed to a group of the template's name. Beside that there are the groups
	// NAME.other and, in the second subscription, NAME.far.
	Scope string
	// Before is another case that makes what this one expects to exist, in NAME.other.
	Before string
	// Outputs are the values of all outputs, null of secure ones.
	Outputs map[string]any
	// Changes are those that what-if announces at first, by the end of the ID, where they
	// are not Create; Late are those resources of which it can say nothing at any time.
	Changes map[string]string
	Late    []string
	// Once: nothing is sent again. Kept are resources that are not even sent at first.
	Once bool
	Kept []string
	// Refusal is the sentence by which a template is refused.
	Refusal string
}

// Cases returns the templates that are deployed, or in the folder refused, those that are not.
func Cases(folder string) ([]Case, error) {
	entries, err := files.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var cases []Case
	for _, e := range entries {
		name, isTemplate := strings.CutSuffix(e.Name(), ".json")
		if !isTemplate || strings.HasSuffix(name, ".parameters") {
			continue
		}
		c := Case{Name: name}
		if c.Template, err = files.ReadFile(path.Join(folder, e.Name())); err != nil {
			return nil, err
		}
		if parameters, err := files.ReadFile(path.Join(folder, name+".parameters.json")); err == nil {
			c.Parameters = parameters
		}
		var read struct{ Metadata Expectation }
		if err := json.Unmarshal(c.Template, &read); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		c.Expectation = read.Metadata
		cases = append(cases, c)
	}
	return cases, nil
}
