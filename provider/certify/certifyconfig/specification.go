package certifyconfig

import (
	"portico/config/files"
	"portico/provider/certify/sample"
)

// addSpecified sets the bodies of types without one from the specifications.
func (r *reader) addSpecified(all []*described) {
	for i, name := range r.documents {
		var without []string
		for _, d := range all {
			if d.lacksBody() {
				without = append(without, d.full())
			}
		}
		bodies, err := sample.Bodies([]string{files.RelativeTo(r.places[i].File, name)}, without)
		if err != nil {
			r.Fault(r.places[i], "specifications: "+err.Error(), "an OpenAPI document, and a sample for each type that it does not fully define")
			continue
		}
		for _, d := range all {
			if s, there := bodies[d.full()]; there {
				d.bodies(s.Create, s.Update)
			}
		}
	}
}
