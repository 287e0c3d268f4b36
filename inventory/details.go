package inventory

import (
	"encoding/json"
	"errors"
)

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
// that is no such JSON says nothing: no state, and nil. A member that is not of
// its kind, such as a tag that is a number, takes the details away, but not the
// state: what that says is whether the resource is still being worked on.
func ReadDetails(text []byte) (provisioningState string, _ *Details) {
	var resource struct {
		Details
		Properties struct {
			ProvisioningState string `json:"provisioningState"`
		} `json:"properties"`
	}
	err := json.Unmarshal(text, &resource)
	if errors.As(err, new(*json.UnmarshalTypeError)) { // the rest has been read
		return resource.Properties.ProvisioningState, nil
	}
	if err != nil {
		return "", nil
	}
	return resource.Properties.ProvisioningState, &resource.Details
}
