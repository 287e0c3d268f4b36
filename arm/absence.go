package arm

import (
	"encoding/json"
	jsonv2 "encoding/json/v2"
	"strings"
)

// otherThings lists things other than a resource that the code of a 404 may
// name, folded.
var otherThings = map[string]bool{
	"tenant": true, "managementgroup": true, "subscription": true, "resourcegroup": true,
	"provider": true, "resourceprovider": true, "namespace": true, "resourcenamespace": true, "registration": true,
	"type": true, "resourcetype": true, "apiversion": true, "location": true, "region": true,
	"route": true, "path": true, "url": true, "uri": true, "page": true, "httpresource": true,
	"operation": true, "operationresult": true, "operationstatus": true,
}

// absences lists the suffixes of codes that report an absence, folded.
var absences = [...]string{"notfound", "doesnotexist", "notexist", "notexists"}

// MaxFaultBody bounds a body that is read as a provider's error, in bytes:
// longer ones are something else.
const MaxFaultBody = 256 << 10

// firstFault makes decoding behave like json.Unmarshal, but stop at the first member of
// the wrong kind: an error for each of many costs many times the body.
var firstFault = jsonv2.JoinOptions(json.DefaultOptionsV1(), json.ReportErrorsWithLegacySemantics(false))

// ReportsAbsence reports whether the body of a provider's 404 proves that the
// resource with this ID does not exist: it must be ARM's error envelope, with
// a code about a resource. A code about the subscription, group, namespace or
// route proves nothing, nor does any other body. If the code names nothing at
// all (NotFound), message or target must name the resource.
func ReportsAbsence(body []byte, id string) bool {
	var envelope struct {
		Error struct {
			Code, Message, Target string
		}
	}
	if len(body) > MaxFaultBody || jsonv2.Unmarshal(body, &envelope, firstFault) != nil {
		return false
	}
	fault, name := envelope.Error, Fold(id[strings.LastIndexByte(id, '/')+1:])
	for _, end := range absences {
		thing, is := strings.CutSuffix(Fold(fault.Code), end)
		if !is {
			continue
		}
		if thing == "" {
			return strings.Contains(Fold(fault.Message), name) || strings.Contains(Fold(fault.Target), name)
		}
		return !otherThings[thing]
	}
	return false
}
