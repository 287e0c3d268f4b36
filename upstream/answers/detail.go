package answers

import (
	"encoding/json"
	"strings"

	"portico/arm"
)

// Detail is one resource that could not be deleted, or moved. Its form is that of an
// ARM error's detail with nothing left out.
type Detail struct {
	Code           *string              `json:"code"`
	Target         string               `json:"target"`
	Message        string               `json:"message"`
	Details        []arm.Error          `json:"details"`
	AdditionalInfo []arm.AdditionalInfo `json:"additionalInfo"`
}

// DetailBytes bounds what the details of one error take together.
const DetailBytes = 4 << 20

// NewDetail is the detail of a resource whose provider answered text: the provider's
// own code and message, where text has them, else the text itself as the message. It
// takes no more than about bound bytes.
func NewDetail(id, text string, bound int) Detail {
	d := Detail{Target: id, Message: text}
	code, message := errorIn(text)
	if code != "" {
		d.Code = &code
	}
	if message != "" {
		d.Message = message
	}
	if d.Message = Cut(d.Message, bound); len(text) <= bound {
		d.Details, d.AdditionalInfo = moreIn(text)
	}
	return d
}

// Cut shortens a text to a number of bytes, without breaking a character.
func Cut(text string, bound int) string {
	if len(text) <= bound {
		return text
	}
	return strings.ToValidUTF8(text[:bound], "")
}

// errorIn reads code and message of an error, in ARM's envelope or without one. The
// text may end anywhere: the end of a long one was not kept.
func errorIn(text string) (code, message string) {
	d := json.NewDecoder(strings.NewReader(text))
	if opening, err := d.Token(); err != nil || opening != json.Delim('{') {
		return "", ""
	}
	for enveloped := false; d.More(); {
		key, err := d.Token()
		name, _ := key.(string)
		switch name = strings.ToLower(name); {
		case err != nil:
			return code, message
		case name == "error" && !enveloped:
			if opening, err := d.Token(); err != nil || opening != json.Delim('{') {
				return code, message
			}
			code, message, enveloped = "", "", true
			continue
		}
		var value any
		if d.Decode(&value) != nil {
			return code, message
		}
		switch text, _ := value.(string); name {
		case "code":
			code = text
		case "message":
			message = text
		}
	}
	return code, message
}

// moreIn reads the details and the additional info of an error, if they have ARM's
// form.
func moreIn(text string) ([]arm.Error, []arm.AdditionalInfo) {
	var sent struct {
		Error          json.RawMessage
		Details        json.RawMessage
		AdditionalInfo json.RawMessage
	}
	if json.Unmarshal([]byte(text), &sent) != nil {
		return nil, nil
	}
	if sent.Error != nil {
		envelope := sent.Error
		sent.Details, sent.AdditionalInfo = nil, nil
		if json.Unmarshal(envelope, &sent) != nil {
			return nil, nil
		}
	}
	var details []arm.Error
	if json.Unmarshal(sent.Details, &details) != nil || len(details) == 0 {
		details = nil
	}
	var info []arm.AdditionalInfo
	if json.Unmarshal(sent.AdditionalInfo, &info) != nil || len(info) == 0 {
		info = nil
	}
	return details, info
}
