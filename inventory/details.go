package inventory

import "encoding/json"

// ReadObservation reads what the JSON of a resource that was found says of it.
func ReadObservation(text []byte) Observation {
	var resource struct {
		ID string `json:"id"`
	}
	o := Observation{Found: true}
	if json.Unmarshal(text, &resource) == nil {
		o.ID = resource.ID
	}
	o.ProvisioningState, o.Details = ReadDetails(text)
	return o
}

// ReadDetails reads from a resource's JSON what the index keeps of it. Text
// that is no such JSON says nothing: no state, and nil.
func ReadDetails(text []byte) (provisioningState string, _ *Details) {
	var resource struct {
		Details
		Properties struct {
			ProvisioningState string `json:"provisioningState"`
		} `json:"properties"`
	}
	if json.Unmarshal(text, &resource) != nil {
		return "", nil
	}
	return resource.Properties.ProvisioningState, &resource.Details
}
