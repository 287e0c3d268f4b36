package answers

import (
	"cmp"
	"strings"

	"portico/arm"
)

// Detail is one resource that could not be deleted or moved, in the form of
// an ARM error's detail with all members.
type Detail struct {
	Code           *string              `json:"code"`
	Target         string               `json:"target"`
	Message        string               `json:"message"`
	Details        []arm.Error          `json:"details"`
	AdditionalInfo []arm.AdditionalInfo `json:"additionalInfo"`
}

// DetailBytes bounds the details of one error together.
const DetailBytes = 4 << 20

// NewDetail returns the detail of a resource whose provider answered text:
// with the provider's own code and message if text has them, else with the
// text itself as the message. It takes at most about bound bytes.
func NewDetail(id, text string, bound int) Detail {
	d := Detail{Target: id, Message: text}
	if fault := arm.ReadError([]byte(text)); fault != nil {
		if code := string(fault.Code); code != "" {
			d.Code = &code
		}
		d.Message = cmp.Or(fault.Message, text)
		if len(text) <= bound {
			d.Details, d.AdditionalInfo = fault.Details, fault.AdditionalInfo
		}
	}
	d.Message = Cut(d.Message, bound)
	return d
}

// Cut shortens a text to a number of bytes, without breaking a character.
func Cut(text string, bound int) string {
	if len(text) <= bound {
		return text
	}
	return strings.ToValidUTF8(text[:bound], "")
}
