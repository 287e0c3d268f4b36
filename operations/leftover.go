package operations

import (
	"encoding/json"
	"strings"

	"portico/arm"
)

// leftoverOf is a resource of which its provider said text: the provider's own code
// and message, where text has them, else the text itself as the message. It takes
// no more than about bound bytes.
func leftoverOf(id, text string, bound int) leftover {
	l := leftover{Target: id, Message: text}
	code, message := errorIn(text)
	if code != "" {
		l.Code = &code
	}
	if message != "" {
		l.Message = message
	}
	if len(l.Message) > bound {
		l.Message = strings.ToValidUTF8(l.Message[:bound], "")
	}
	if len(text) <= bound {
		l.Details, l.AdditionalInfo = moreIn(text)
	}
	return l
}

// errorIn reads code and message of an error, in ARM's envelope or without one, as
// far as its text goes: the end of a long one is not kept.
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
		switch said, _ := value.(string); name {
		case "code":
			code = said
		case "message":
			message = said
		}
	}
	return code, message
}

// moreIn are the details of an error and its supplements, as far as they have ARM's
// form.
func moreIn(text string) ([]arm.Error, []arm.AdditionalInfo) {
	var told struct {
		Error          json.RawMessage
		Details        json.RawMessage
		AdditionalInfo json.RawMessage
	}
	if json.Unmarshal([]byte(text), &told) != nil {
		return nil, nil
	}
	if told.Error != nil {
		envelope := told.Error
		told.Details, told.AdditionalInfo = nil, nil
		if json.Unmarshal(envelope, &told) != nil {
			return nil, nil
		}
	}
	var details []arm.Error
	if json.Unmarshal(told.Details, &details) != nil || len(details) == 0 {
		details = nil
	}
	var info []arm.AdditionalInfo
	if json.Unmarshal(told.AdditionalInfo, &info) != nil || len(info) == 0 {
		info = nil
	}
	return details, info
}
